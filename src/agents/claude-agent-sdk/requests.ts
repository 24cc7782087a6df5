import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { timestampOf } from '../base/event-machine.ts'
import { anthropicUsage, combineUsage, minus, NO_USAGE, plus, type UsageCounts } from '../base/usage.ts'
import { responseMessage } from '../claude-code/requests.ts'
import type { LoosePayload } from '../host-event.ts'
import type { SdkAttempt, SdkLoop } from './session.ts'

/** Returns true for a message that the SDK writes itself, for example the answer to a command or an error. */
export function isSynthetic(data: unknown): boolean {
  return peek(peek(data, 'message'), 'model') === '<synthetic>'
}

/** Handles an assistant message: one content block of an answer. The blocks of one answer share its id. */
export function handleAssistantMessage(loop: SdkLoop, at: number, data: unknown): void {
  if (isSynthetic(data)) {
    handleSyntheticMessage(loop, at, data)
    return
  }
  const message = peek(data, 'message')
  const endAt = Math.min(at, timestampOf(data) ?? at)
  const attempt = bindAttempt(loop, endAt, message)
  if (attempt === undefined) return
  const blocks = elementsOf(peek(message, 'content'))
  attempt.endAt = Math.max(attempt.endAt ?? attempt.startAt, endAt)
  attempt.content.push(...blocks)
  attempt.stopReason = textOf(peek(message, 'stop_reason')) ?? attempt.stopReason
  const tokens = anthropicUsage(peek(message, 'usage'))
  if (tokens !== undefined && !attempt.isExact) loop.countTokens(attempt, larger(tokens, attempt.tokens))
  for (const block of blocks) {
    const id = peek(block, 'type') === 'tool_use' ? idOf(peek(block, 'id')) : undefined
    if (id === undefined) continue
    const call = loop.session.callOf(loop, id, loop.lastAt)
    call.requestId ??= attempt.id
    call.describe(peek(block, 'name'), peek(block, 'input'))
  }
}

/**
 * Finds or begins the attempt that a message answers. If the application reads slowly, hooks overtake messages, so a tool that ran
 * first may have begun the attempt. Returns undefined for a late part of an emitted answer.
 */
function bindAttempt(loop: SdkLoop, at: number, message: unknown, sentAt?: number): SdkAttempt | undefined {
  const id = idOf(peek(message, 'id'))
  if (id !== undefined && loop.emittedIds.has(id)) return undefined
  const model = textOf(peek(message, 'model'))
  const { calls } = loop.session
  const blocks = elementsOf(peek(message, 'content'))
  const asked = new Set(blocks.map(block => calls.get(idOf(peek(block, 'id')) ?? '')?.requestId))
  const waiting = loop.attempts.filter(({ endAt }) => endAt === undefined)
  const attempt =
    loop.attempts.find(({ messageId }) => messageId !== undefined && messageId === id) ??
    waiting.find(open => asked.has(open.id)) ??
    waiting[0] ??
    loop.beginAttempt(at, model, sentAt)
  loop.requests.failures = 0
  attempt.messageId ??= id
  attempt.model = model ?? attempt.model
  attempt.endAt ??= attempt.startAt
  for (const earlier of loop.attempts.slice(0, loop.attempts.indexOf(attempt)))
    if (earlier.endAt !== undefined) endAttempt(loop, earlier)
  return attempt
}

/** Handles a synthetic message. Only an error of the last attempt is recorded. */
function handleSyntheticMessage(loop: SdkLoop, at: number, data: unknown): void {
  const error = textOf(peek(data, 'error'))
  const waiting = loop.attempts.find(({ endAt }) => endAt === undefined)
  if (error === undefined || (waiting === undefined && loop.askedAt === undefined)) return
  const [block] = elementsOf(peek(peek(data, 'message'), 'content'), 1)
  loop.failure = error
  failAttempt(loop, waiting ?? loop.beginAttempt(at), at, {
    status_code: numberOf(peek(data, 'api_error_status')),
    retryable: false,
    reason: error,
    error: { type: error, message: textOf(peek(block, 'text')) },
  })
}

/** Handles `api_retry`: an attempt failed, and the next one follows after a delay. */
export function handleRetry(loop: SdkLoop, at: number, data: unknown): void {
  const { askedAt } = loop
  const waiting = loop.attempts.find(({ endAt }) => endAt === undefined)
  const isOvertaken =
    waiting !== undefined && [...loop.session.calls.values()].some(call => call.requestId === waiting.id)
  // An answer without a later event was cut off. A running tool of the pending attempt proves that an earlier one failed.
  const cut = askedAt === undefined ? loop.attempts.at(-1) : undefined
  if (isOvertaken) loop.askedAt = waiting.startAt
  const attempt = (isOvertaken ? undefined : (waiting ?? cut)) ?? loop.beginAttempt(at)
  const error = textOf(peek(data, 'error'))
  failAttempt(loop, attempt, at, {
    status_code: numberOf(peek(data, 'error_status')),
    max_retries: numberOf(peek(data, 'max_retries')),
    retryable: true,
    reason: error,
    error: { type: error },
  })
  loop.requests.failures = isOvertaken ? 0 : (attempt.retry ?? 0) + 1
  loop.askedAt = isOvertaken ? askedAt : at + Math.max(0, numberOf(peek(data, 'retry_delay_ms')) ?? 0)
}

export function larger(one: UsageCounts, other: UsageCounts | undefined): UsageCounts {
  return combineUsage(one, other ?? NO_USAGE, Math.max)
}

function failAttempt(loop: SdkLoop, attempt: SdkAttempt, at: number, facts: LoosePayload<'api_request_error'>): void {
  loop.attempts = loop.attempts.filter(other => other !== attempt)
  loop.countTokens(attempt, undefined)
  loop.requests.failures = 0
  const payload = { ...facts, model: attempt.model, provider: loop.provider }
  attempt.emitFailure(Math.max(at, attempt.startAt), payload, 'inferred')
}

function endAttempt(loop: SdkLoop, attempt: SdkAttempt): void {
  const { messageId, model, content } = attempt
  loop.attempts = loop.attempts.filter(other => other !== attempt)
  if (messageId !== undefined) loop.emittedIds.set(messageId, true)
  const calls = content.filter(block => peek(block, 'type') === 'tool_use')
  const payload = {
    model,
    provider: loop.provider,
    finish_reason: attempt.stopReason ?? (calls.length > 0 ? 'tool_use' : undefined),
    response_model: messageId === undefined ? undefined : model,
    response_id: messageId,
    usage: attempt.tokens,
    assistant_tool_call_count: calls.length,
    response: { message: responseMessage(content, calls) },
  }
  attempt.emitAnswer(attempt.endAt ?? loop.lastAt, payload, attempt.isTimed && attempt.isExact ? undefined : 'inferred')
}

/**
 * Ends all attempts. Tokens of the loop that no message reported are added to the last one.
 *
 * @param result the message with the usage of the turn
 * @param isCut the end may have cut off a request without any events
 */
export function endAttempts(loop: SdkLoop, at: number, result: unknown, isCut: boolean): void {
  if (isCut && loop.askedAt !== undefined && loop.askedAt < at) {
    const cut = loop.beginAttempt(at)
    cut.endAt = at
    cut.stopReason = 'aborted'
  }
  const last = loop.attempts.at(-1)
  const total = anthropicUsage(peek(result, 'usage'))
  if (last !== undefined && total !== undefined && !last.isExact) {
    const missing = larger(combineUsage(total, loop.counted, minus), NO_USAGE)
    const tokens = combineUsage(last.tokens ?? NO_USAGE, missing, plus)
    loop.countTokens(last, tokens.total_tokens === 0 ? undefined : tokens)
  }
  if (last !== undefined) last.stopReason ??= textOf(peek(result, 'stop_reason'))
  for (const attempt of loop.attempts) endAttempt(loop, attempt)
}

/**
 * Handles events of the model's stream, which require `includePartialMessages`. They contain the times of the request and the
 * first chunk, and the final usage.
 */
export function handleStreamEvent(loop: SdkLoop, at: number, data: unknown): void {
  const event = peek(data, 'event')
  const type = peek(event, 'type')
  const id = idOf(peek(data, 'api_message_id'))
  if (type === 'message_start') startStream(loop, at, data, peek(event, 'message'))
  const isStreamed = ({ firstChunkAt }: SdkAttempt): boolean => firstChunkAt !== undefined
  const attempt = loop.attempts.findLast(open => (id === undefined ? isStreamed(open) : open.messageId === id))
  if (attempt === undefined) return
  if (type === 'message_delta') {
    attempt.stopReason = textOf(peek(peek(event, 'delta'), 'stop_reason')) ?? attempt.stopReason
    const tokens = anthropicUsage(peek(event, 'usage'))
    if (tokens === undefined) return
    loop.countTokens(attempt, larger(tokens, attempt.tokens))
    attempt.isExact = true
  } else if (type === 'message_stop') {
    attempt.endAt = at
    if (attempt.isExact) endAttempt(loop, attempt)
  }
}

function startStream(loop: SdkLoop, at: number, data: unknown, message: unknown): void {
  const id = idOf(peek(message, 'id'))
  if (id === undefined || loop.attempts.some(({ messageId }) => messageId === id)) return
  const untilFirstChunk = numberOf(peek(data, 'ttft_ms'))
  const sentAt = untilFirstChunk === undefined ? undefined : at - Math.max(0, untilFirstChunk)
  const attempt = bindAttempt(loop, at, message, sentAt)
  if (attempt === undefined) return
  attempt.firstChunkAt = at
  attempt.endAt = at
  loop.countTokens(attempt, anthropicUsage(peek(message, 'usage')) ?? attempt.tokens)
}

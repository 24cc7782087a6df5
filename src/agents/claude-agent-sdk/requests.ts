import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { timestampOf } from '../base/event-machine.ts'
import { anthropicUsage, combineUsage, minus, NO_USAGE, plus, type UsageCounts } from '../base/usage.ts'
import { responseMessage } from '../claude-code/requests.ts'
import type { LoosePayload } from '../host-event.ts'
import { PROVIDER, type SdkAttempt, type SdkLoop } from './session.ts'

export const SYNTHETIC = '<synthetic>'
const BLOCKS_LIMIT = 1000
const EMITTED_IDS_LIMIT = 8

/** Handles an assistant message: one content block of an answer. The blocks of one answer share its id. */
export function handleAssistantMessage(loop: SdkLoop, at: number, data: unknown): void {
  const message = peek(data, 'message')
  const id = idOf(peek(message, 'id'))
  if (id !== undefined && loop.emittedIds.includes(id)) return
  const blocks = elementsOf(peek(message, 'content'), BLOCKS_LIMIT)
  const model = textOf(peek(message, 'model'))
  const endAt = Math.min(at, timestampOf(data) ?? at)
  const attempt = bindAttempt(loop, endAt, id, model, blocks)
  attempt.endAt = Math.max(attempt.endAt ?? attempt.startAt, endAt)
  attempt.content.push(...blocks)
  attempt.stopReason = textOf(peek(message, 'stop_reason')) ?? attempt.stopReason
  const tokens = anthropicUsage(peek(message, 'usage'))
  if (tokens !== undefined && !attempt.isExact) attempt.tokens = larger(tokens, attempt.tokens)
  for (const block of blocks) noteCall(loop, attempt, block)
}

function noteCall(loop: SdkLoop, attempt: SdkAttempt, block: unknown): void {
  const id = peek(block, 'type') === 'tool_use' ? idOf(peek(block, 'id')) : undefined
  if (id === undefined) return
  const call = loop.session.callOf(loop, id, loop.lastAt)
  call.requestId ??= attempt.id
  call.name ??= textOf(peek(block, 'name'))
  call.args ??= peek(block, 'input')
}

/**
 * Finds the attempt that a message answers. If the application reads slowly, hooks overtake messages, so a tool that ran first
 * may have opened the attempt.
 */
function bindAttempt(
  loop: SdkLoop,
  at: number,
  id: string | undefined,
  model: string | undefined,
  blocks: readonly unknown[],
): SdkAttempt {
  const last = loop.attempts.at(-1)
  if (last !== undefined && isAnswered(last) && (id === undefined ? loop.askedAt === undefined : last.messageId === id))
    return last
  const found =
    (id === undefined ? undefined : loop.attempts.find(attempt => attempt.messageId === id)) ??
    askedBy(loop, blocks) ??
    loop.attempts.find(attempt => !isAnswered(attempt)) ??
    loop.beginAttempt(at, { model })
  loop.requests.failures = 0
  found.messageId ??= id
  found.model = model ?? found.model
  found.endAt ??= found.startAt
  for (const earlier of loop.attempts.slice(0, loop.attempts.indexOf(found)))
    if (isAnswered(earlier)) endAttempt(loop, earlier)
  return found
}

function isAnswered(attempt: SdkAttempt): boolean {
  return attempt.endAt !== undefined
}

function askedBy(loop: SdkLoop, blocks: readonly unknown[]): SdkAttempt | undefined {
  for (const block of blocks) {
    const request = loop.session.calls.get(idOf(peek(block, 'id')) ?? '')?.requestId
    const attempt = request === undefined ? undefined : loop.attempts.find(open => open.id === request)
    if (attempt !== undefined && !isAnswered(attempt)) return attempt
  }
  return undefined
}

/** Handles a synthetic message. Only an error of the last attempt is recorded. */
export function handleSyntheticMessage(loop: SdkLoop, at: number, data: unknown): void {
  const error = textOf(peek(data, 'error'))
  if (error === undefined) return
  const waiting = loop.attempts.find(attempt => !isAnswered(attempt))
  if (waiting === undefined && loop.askedAt === undefined) return
  const attempt = waiting ?? loop.beginAttempt(at)
  const [block] = elementsOf(peek(peek(data, 'message'), 'content'), 1)
  loop.failure = error
  failAttempt(loop, attempt, at, {
    status_code: numberOf(peek(data, 'api_error_status')),
    retryable: false,
    reason: error,
    error: { type: error, message: textOf(peek(block, 'text')) },
  })
}

/** Handles `api_retry`: an attempt failed, and the next one follows after a delay. */
export function handleRetry(loop: SdkLoop, at: number, data: unknown): void {
  const { askedAt } = loop
  const waiting = loop.attempts.find(open => !isAnswered(open))
  const isOvertaken =
    waiting !== undefined && [...loop.session.calls.values()].some(call => call.requestId === waiting.id)
  // An answer without a later event was cut off.
  const cut = askedAt === undefined ? loop.attempts.at(-1) : undefined
  // A tool of the pending attempt is running, so an earlier attempt failed.
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
  remove(loop, attempt)
  loop.requests.failures = 0
  const payload = { ...facts, model: attempt.model, provider: PROVIDER }
  attempt.emitFailure(Math.max(at, attempt.startAt), payload, 'inferred')
}

function endAttempt(loop: SdkLoop, attempt: SdkAttempt): void {
  remove(loop, attempt)
  const { messageId, model, content } = attempt
  if (messageId !== undefined) {
    if (loop.emittedIds.length >= EMITTED_IDS_LIMIT) loop.emittedIds.shift()
    loop.emittedIds.push(messageId)
  }
  countTokens(loop, attempt)
  const calls = content.filter(block => peek(block, 'type') === 'tool_use')
  const payload = {
    model,
    provider: PROVIDER,
    finish_reason: attempt.stopReason ?? (calls.length > 0 ? 'tool_use' : undefined),
    response_model: messageId === undefined ? undefined : model,
    response_id: messageId,
    usage: attempt.tokens,
    assistant_tool_call_count: calls.length,
    response: { message: responseMessage(content, calls) },
  }
  attempt.emitAnswer(attempt.endAt ?? loop.lastAt, payload, attempt.isTimed && attempt.isExact ? undefined : 'inferred')
}

/** Counts an attempt's tokens once, even if they are corrected later. */
export function countTokens(loop: SdkLoop, attempt: SdkAttempt): void {
  const added = combineUsage(attempt.tokens ?? NO_USAGE, attempt.counted, minus)
  attempt.counted = attempt.tokens ?? NO_USAGE
  loop.reported = combineUsage(loop.reported, added, plus)
  loop.session.counted = combineUsage(loop.session.counted, added, plus)
}

interface SdkLoopEnd {
  readonly at: number
  readonly stopReason?: string | undefined
  readonly total?: UsageCounts | undefined
  /** The end may have cut off a request without any events. */
  readonly isCut?: boolean
}

/** Ends all attempts. Tokens of the loop that no message reported are added to the last one. */
export function endAttempts(loop: SdkLoop, { at, stopReason, total, isCut }: SdkLoopEnd): void {
  if (isCut === true && loop.askedAt !== undefined && loop.askedAt < at) {
    const cut = loop.beginAttempt(at)
    cut.endAt = at
    cut.stopReason = 'aborted'
  }
  const last = loop.attempts.at(-1)
  for (const attempt of loop.attempts) countTokens(loop, attempt)
  if (last !== undefined && total !== undefined && !last.isExact) {
    const missing = larger(combineUsage(total, loop.reported, minus), NO_USAGE)
    const tokens = combineUsage(last.tokens ?? NO_USAGE, missing, plus)
    last.tokens = tokens.total_tokens === 0 ? undefined : tokens
  }
  if (last !== undefined) last.stopReason ??= stopReason
  for (const attempt of [...loop.attempts]) endAttempt(loop, attempt)
}

function remove(loop: SdkLoop, attempt: SdkAttempt): void {
  const index = loop.attempts.indexOf(attempt)
  if (index >= 0) loop.attempts.splice(index, 1)
}

/**
 * Handles events of the model's stream, which require `includePartialMessages`. They contain the times of the request and the
 * first chunk, and the final usage.
 */
export function handleStreamEvent(loop: SdkLoop, at: number, data: unknown): void {
  const event = peek(data, 'event')
  const type = peek(event, 'type')
  if (type === 'message_start') startStream(loop, at, data, peek(event, 'message'))
  else if (type === 'message_delta') updateStream(streamedAttempt(loop, data), event)
  else if (type === 'message_stop') endStream(loop, at, streamedAttempt(loop, data))
}

function startStream(loop: SdkLoop, at: number, data: unknown, message: unknown): void {
  const id = idOf(peek(message, 'id'))
  if (id === undefined || loop.emittedIds.includes(id) || loop.attempts.some(attempt => attempt.messageId === id))
    return
  const model = textOf(peek(message, 'model'))
  const untilFirstChunk = numberOf(peek(data, 'ttft_ms'))
  const sentAt = untilFirstChunk === undefined ? undefined : at - Math.max(0, untilFirstChunk)
  const waiting = loop.attempts.find(open => open.endAt === undefined && open.messageId === undefined)
  const attempt = waiting ?? loop.beginAttempt(at, { model, sentAt })
  loop.requests.failures = 0
  attempt.messageId = id
  attempt.model = model ?? attempt.model
  attempt.firstChunkAt = at
  attempt.endAt = at
  attempt.tokens = anthropicUsage(peek(message, 'usage')) ?? attempt.tokens
}

function streamedAttempt(loop: SdkLoop, data: unknown): SdkAttempt | undefined {
  const id = idOf(peek(data, 'api_message_id'))
  return loop.attempts.findLast(open => (id === undefined ? open.firstChunkAt !== undefined : open.messageId === id))
}

function updateStream(attempt: SdkAttempt | undefined, event: unknown): void {
  if (attempt === undefined) return
  attempt.stopReason = textOf(peek(peek(event, 'delta'), 'stop_reason')) ?? attempt.stopReason
  const tokens = anthropicUsage(peek(event, 'usage'))
  if (tokens === undefined) return
  attempt.tokens = larger(tokens, attempt.tokens)
  attempt.isExact = true
}

function endStream(loop: SdkLoop, at: number, attempt: SdkAttempt | undefined): void {
  if (attempt === undefined) return
  attempt.endAt = at
  if (attempt.isExact) endAttempt(loop, attempt)
}

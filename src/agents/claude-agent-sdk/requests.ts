import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { tokensOf } from '../base/anthropic-usage.ts'
import { combineUsage, minus, NO_USAGE, plus, type TokenUsage } from '../base/usage.ts'
import type { LoosePayload } from '../host-event.ts'
import { Attempt, type Loop } from './session.ts'
import { larger } from './usage.ts'

export const PROVIDER = 'anthropic'
export const PLATFORM = 'claude-agent-sdk'
/** The model name in messages written by the SDK itself. */
export const SYNTHETIC = '<synthetic>'
const BLOCKS_LIMIT = 1000
const TOLD_LIMIT = 8

/** Emits the start of the loop at the first sign of the model, which the prompt's hook does not contain. */
export function tellPrompt(loop: Loop, seen?: string | undefined): void {
  loop.model ??= seen
  if (loop.prompt === undefined) return
  const { at, text } = loop.prompt
  loop.prompt = undefined
  const facts = { user_message: text, model: loop.usedModel, provider: PROVIDER, platform: PLATFORM }
  loop.emit('pre_llm_call', at, facts)
}

/** Begins an attempt. If its start is unknown, it is the last event after which the SDK sends a request. */
export function beginAttempt(
  loop: Loop,
  at: number,
  { model, sentAt }: { model?: string | undefined; sentAt?: number | undefined } = {},
): Attempt {
  tellPrompt(loop, model)
  const since = loop.askedAt ?? at
  const startAt = Math.min(at, Math.max(since, sentAt ?? since))
  const attempt = new Attempt(loop, startAt, loop.requests.nextNumbers(), sentAt !== undefined)
  attempt.model = model ?? loop.usedModel
  loop.askedAt = undefined
  loop.open.push(attempt)
  attempt.emitStart({ model: attempt.model, provider: PROVIDER }, attempt.isTimed ? undefined : 'inferred')
  return attempt
}

/** Handles an assistant message: one content block of an answer. The blocks of one answer share its id. */
export function assistantMessage(loop: Loop, at: number, data: unknown): void {
  const message = peek(data, 'message')
  const id = idOf(peek(message, 'id'))
  if (id !== undefined && loop.told.includes(id)) return
  const blocks = elementsOf(peek(message, 'content'), BLOCKS_LIMIT)
  const model = textOf(peek(message, 'model'))
  const saidAt = Date.parse(textOf(peek(data, 'timestamp')) ?? '')
  const endAt = saidAt <= at ? saidAt : at
  const attempt = bindAttempt(loop, endAt, { id, model, blocks })
  attempt.endAt = Math.max(attempt.endAt ?? attempt.startAt, endAt)
  attempt.content.push(...blocks)
  attempt.stopReason = textOf(peek(message, 'stop_reason')) ?? attempt.stopReason
  const tokens = tokensOf(peek(message, 'usage'))
  if (tokens !== undefined && !attempt.isExact) attempt.tokens = larger(tokens, attempt.tokens)
  for (const block of blocks) noteCall(loop, attempt, block)
}

/** Creates the tool call when it is requested, even if it never runs. */
function noteCall(loop: Loop, attempt: Attempt, block: unknown): void {
  const id = peek(block, 'type') === 'tool_use' ? idOf(peek(block, 'id')) : undefined
  if (id === undefined) return
  const call = loop.session.callOf(loop, id)
  call.requestId ??= attempt.id
  call.name ??= textOf(peek(block, 'name'))
  call.args ??= peek(block, 'input')
}

interface Answer {
  readonly id: string | undefined
  readonly model: string | undefined
  readonly blocks: readonly unknown[]
}

/**
 * Finds the attempt that a message answers. If the application reads slowly, hooks overtake messages, so a tool that ran first
 * may have opened the attempt.
 */
function bindAttempt(loop: Loop, at: number, { id, model, blocks }: Answer): Attempt {
  const last = loop.open.at(-1)
  if (last !== undefined && isAnswered(last) && (id === undefined ? loop.askedAt === undefined : last.messageId === id))
    return last
  const found =
    (id === undefined ? undefined : loop.open.find(attempt => attempt.messageId === id)) ??
    askedBy(loop, blocks) ??
    loop.open.find(attempt => !isAnswered(attempt)) ??
    beginAttempt(loop, at, { model })
  loop.requests.failures = 0
  found.messageId ??= id
  found.model = model ?? found.model
  found.endAt ??= found.startAt
  for (const earlier of loop.open.slice(0, loop.open.indexOf(found))) if (isAnswered(earlier)) endAttempt(loop, earlier)
  return found
}

function isAnswered(attempt: Attempt): boolean {
  return attempt.endAt !== undefined
}

function askedBy(loop: Loop, blocks: readonly unknown[]): Attempt | undefined {
  for (const block of blocks) {
    const request = loop.session.call(idOf(peek(block, 'id')))?.requestId
    const attempt = request === undefined ? undefined : loop.open.find(open => open.id === request)
    if (attempt !== undefined && !isAnswered(attempt)) return attempt
  }
  return undefined
}

/** Handles a synthetic message. Only an error of the last attempt is recorded. */
export function syntheticMessage(loop: Loop, at: number, data: unknown): void {
  const error = textOf(peek(data, 'error'))
  if (error === undefined) return
  const waiting = loop.open.find(attempt => !isAnswered(attempt))
  if (waiting === undefined && loop.askedAt === undefined) return
  const attempt = waiting ?? beginAttempt(loop, at)
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
export function retried(loop: Loop, at: number, data: unknown): void {
  const { askedAt } = loop
  const waiting = loop.open.find(open => !isAnswered(open))
  const isOvertaken = waiting !== undefined && [...loop.calls].some(call => call.requestId === waiting.id)
  // An answer without a later event was cut off.
  const cut = askedAt === undefined ? loop.open.at(-1) : undefined
  // A tool of the pending attempt is running, so an earlier attempt failed.
  if (isOvertaken) loop.askedAt = waiting.startAt
  const attempt = (isOvertaken ? undefined : (waiting ?? cut)) ?? beginAttempt(loop, at)
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

function failAttempt(loop: Loop, attempt: Attempt, at: number, facts: LoosePayload<'api_request_error'>): void {
  remove(loop, attempt)
  loop.requests.failures = 0
  const payload = { ...facts, model: attempt.model, provider: PROVIDER }
  attempt.emitFailure(Math.max(at, attempt.startAt), payload, 'inferred')
}

export function endAttempt(loop: Loop, attempt: Attempt): void {
  remove(loop, attempt)
  const { messageId, model, content } = attempt
  if (messageId !== undefined) {
    if (loop.told.length >= TOLD_LIMIT) loop.told.shift()
    loop.told.push(messageId)
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

function responseMessage(content: readonly unknown[], calls: readonly unknown[]): object {
  const tool_calls = calls.map(block => ({
    id: peek(block, 'id'),
    name: peek(block, 'name'),
    arguments: peek(block, 'input'),
  }))
  return { role: 'assistant', content: content.filter(block => peek(block, 'type') === 'text'), tool_calls }
}

/** Counts an attempt's tokens once, even if they are corrected later. */
export function countTokens(loop: Loop, attempt: Attempt): void {
  const added = combineUsage(attempt.tokens ?? NO_USAGE, attempt.counted, minus)
  attempt.counted = attempt.tokens ?? NO_USAGE
  loop.reported = combineUsage(loop.reported, added, plus)
  loop.session.counted = combineUsage(loop.session.counted, added, plus)
}

/** Finds the attempt of a tool whose message was not read yet. */
export function attemptOfTool(loop: Loop, at: number): Attempt | undefined {
  return loop.askedAt === undefined ? loop.open.at(-1) : beginAttempt(loop, at)
}

export interface LoopEnd {
  readonly at: number
  /** The stop reason of the result, which applies to the last answer. */
  readonly stopReason?: string | undefined
  /** All tokens of the loop, if the host reports them. */
  readonly total?: TokenUsage | undefined
  /** The end may have cut off a request without any events. */
  readonly isCut?: boolean
}

/** Ends all attempts. Tokens of the loop that no message reported are added to the last one. */
export function endAttempts(loop: Loop, { at, stopReason, total, isCut }: LoopEnd): void {
  if (isCut === true && loop.askedAt !== undefined && loop.askedAt < at) {
    const cut = beginAttempt(loop, at)
    cut.endAt = at
    cut.stopReason = 'aborted'
  }
  const last = loop.open.at(-1)
  for (const attempt of loop.open) countTokens(loop, attempt)
  if (last !== undefined && total !== undefined && !last.isExact) {
    const missing = larger(combineUsage(total, loop.reported, minus), NO_USAGE)
    const tokens = combineUsage(last.tokens ?? NO_USAGE, missing, plus)
    last.tokens = tokens.total_tokens === 0 ? undefined : tokens
  }
  if (last !== undefined) last.stopReason ??= stopReason
  for (const attempt of [...loop.open]) endAttempt(loop, attempt)
}

function remove(loop: Loop, attempt: Attempt): void {
  const index = loop.open.indexOf(attempt)
  if (index >= 0) loop.open.splice(index, 1)
}

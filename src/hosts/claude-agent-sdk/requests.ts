import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { hookRecord } from '../host-event.ts'
import { type Attempt, type Loop, newCall, type Out, type Session } from './session.ts'
import { larger, minus, NO_TOKENS, plus, type Tokens, tokensOf, usagePayload } from './usage.ts'

export const PROVIDER = 'anthropic'
export const PLATFORM = 'claude-agent-sdk'
/** The SDK's own words in place of a model's. */
export const SYNTHETIC = '<synthetic>'
const BLOCKS_LIMIT = 1000
const TOLD_LIMIT = 8

/** The loop's start is told with the first sign of the model: the prompt's own hook does not know it. */
export function tellPrompt(out: Out, loop: Loop, seen?: string | undefined): void {
  loop.model ??= seen
  if (loop.prompt === undefined) return
  const { at, text } = loop.prompt
  loop.prompt = undefined
  const payload = {
    session_id: loop.sessionId,
    turn_id: loop.turnId,
    user_message: text,
    model: modelOf(loop),
    provider: PROVIDER,
    platform: PLATFORM,
  }
  out.push(hookRecord('pre_llm_call', at, payload))
}

export function modelOf(loop: Loop): string | undefined {
  return loop.model ?? loop.assumedModel
}

/** Begins an attempt: where nothing says when it was sent, at the last event that makes the SDK send one. */
export function beginAttempt(
  out: Out,
  loop: Loop,
  at: number,
  how: { model?: string | undefined; sentAt?: number } = {},
): Attempt {
  tellPrompt(out, loop, how.model)
  if (loop.retry === 0) loop.requests += 1
  const since = loop.askedAt ?? at
  const attempt: Attempt = {
    id: `${loop.turnId}:${loop.requests}`,
    retry: loop.retry,
    startAt: Math.min(at, Math.max(since, how.sentAt ?? since)),
    messageId: undefined,
    model: how.model ?? modelOf(loop),
    content: [],
    tokens: undefined,
    counted: NO_TOKENS,
    isExact: false,
    isTimed: how.sentAt !== undefined,
    firstChunkAt: undefined,
    stopReason: undefined,
    endAt: undefined,
  }
  loop.askedAt = undefined
  loop.open.push(attempt)
  const facts = {
    session_id: loop.sessionId,
    turn_id: loop.turnId,
    api_request_id: attempt.id,
    retry_count: attempt.retry,
    model: attempt.model,
    provider: PROVIDER,
    api_call_count: loop.requests,
  }
  out.push(hookRecord('pre_api_request', attempt.startAt, facts, attempt.isTimed ? undefined : 'inferred'))
  return attempt
}

/** An assistant message: one content block of an answer. Several share the id of one answer. */
export function assistantMessage(out: Out, session: Session, loop: Loop, at: number, data: unknown): void {
  const message = peek(data, 'message')
  const id = idOf(peek(message, 'id'))
  if (id !== undefined && loop.told.includes(id)) return
  const blocks = elementsOf(peek(message, 'content'), BLOCKS_LIMIT)
  const model = textOf(peek(message, 'model'))
  const saidAt = Date.parse(textOf(peek(data, 'timestamp')) ?? '')
  const endAt = saidAt <= at ? saidAt : at
  const attempt = bindAttempt(out, session, loop, endAt, { id, model, blocks })
  attempt.endAt = Math.max(attempt.endAt ?? attempt.startAt, endAt)
  attempt.content.push(...blocks)
  attempt.stopReason = textOf(peek(message, 'stop_reason')) ?? attempt.stopReason
  const tokens = tokensOf(peek(message, 'usage'))
  if (tokens !== undefined && !attempt.isExact) attempt.tokens = larger(tokens, attempt.tokens ?? NO_TOKENS)
  for (const block of blocks) noteCall(session, loop, attempt, block)
}

/** A tool call is known from here on, whether or not it will ever run. */
function noteCall(session: Session, loop: Loop, attempt: Attempt, block: unknown): void {
  const id = peek(block, 'type') === 'tool_use' ? idOf(peek(block, 'id')) : undefined
  if (id === undefined) return
  const call = session.calls.get(id) ?? newCall(session, loop, id)
  call.requestId ??= attempt.id
  call.name ??= textOf(peek(block, 'name'))
  call.input ??= peek(block, 'input')
}

interface Answer {
  readonly id: string | undefined
  readonly model: string | undefined
  readonly blocks: readonly unknown[]
}

/**
 * The attempt that a message answers. Hooks overtake messages when the application reads slowly, so an attempt may have
 * been opened by a tool that ran before its message is seen.
 */
function bindAttempt(out: Out, session: Session, loop: Loop, at: number, answer: Answer): Attempt {
  const { id, model, blocks } = answer
  const last = loop.open.at(-1)
  if (last !== undefined && isAnswered(last) && (id === undefined ? loop.askedAt === undefined : last.messageId === id))
    return last
  const found =
    (id === undefined ? undefined : loop.open.find(attempt => attempt.messageId === id)) ??
    askedBy(session, loop, blocks) ??
    loop.open.find(attempt => !isAnswered(attempt)) ??
    beginAttempt(out, loop, at, { model })
  loop.retry = 0
  found.messageId ??= id
  found.model = model ?? found.model
  found.endAt ??= found.startAt
  for (const earlier of loop.open.slice(0, loop.open.indexOf(found))) {
    if (isAnswered(earlier)) endAttempt(out, session, loop, earlier)
  }
  return found
}

function isAnswered(attempt: Attempt): boolean {
  return attempt.endAt !== undefined
}

function askedBy(session: Session, loop: Loop, blocks: readonly unknown[]): Attempt | undefined {
  for (const block of blocks) {
    const request = session.calls.get(idOf(peek(block, 'id')) ?? '')?.requestId
    const attempt = request === undefined ? undefined : loop.open.find(open => open.id === request)
    if (attempt !== undefined && !isAnswered(attempt)) return attempt
  }
  return undefined
}

/** What the SDK writes itself: only an error of the last attempt is news. */
export function syntheticMessage(out: Out, loop: Loop, at: number, data: unknown): void {
  const error = textOf(peek(data, 'error'))
  if (error === undefined) return
  const waiting = loop.open.find(attempt => !isAnswered(attempt))
  if (waiting === undefined && loop.askedAt === undefined) return
  const attempt = waiting ?? beginAttempt(out, loop, at)
  const [block] = elementsOf(peek(peek(data, 'message'), 'content'), 1)
  loop.failure = error
  failAttempt(out, loop, attempt, at, {
    status_code: numberOf(peek(data, 'api_error_status')),
    retryable: false,
    reason: error,
    error: { type: error, message: textOf(peek(block, 'text')) },
  })
}

/** `api_retry`: an attempt failed, and the SDK says when the next one will be sent. */
export function retried(out: Out, loop: Loop, at: number, data: unknown): void {
  const { askedAt } = loop
  const waiting = loop.open.find(open => !isAnswered(open))
  const isOvertaken = waiting !== undefined && [...loop.calls].some(call => call.requestId === waiting.id)
  // An answer that nothing has followed was cut off.
  const cut = askedAt === undefined ? loop.open.at(-1) : undefined
  // A tool runs for it already, so it was another one, before it, that failed.
  if (isOvertaken) loop.askedAt = waiting.startAt
  const attempt = (isOvertaken ? undefined : (waiting ?? cut)) ?? beginAttempt(out, loop, at)
  const error = textOf(peek(data, 'error'))
  failAttempt(out, loop, attempt, at, {
    status_code: numberOf(peek(data, 'error_status')),
    max_retries: numberOf(peek(data, 'max_retries')),
    retryable: true,
    reason: error,
    error: { type: error },
  })
  loop.retry = isOvertaken ? 0 : attempt.retry + 1
  loop.askedAt = isOvertaken ? askedAt : at + Math.max(0, numberOf(peek(data, 'retry_delay_ms')) ?? 0)
}

function failAttempt(out: Out, loop: Loop, attempt: Attempt, at: number, facts: object): void {
  remove(loop, attempt)
  loop.retry = 0
  const payload = {
    session_id: loop.sessionId,
    turn_id: loop.turnId,
    api_request_id: attempt.id,
    retry_count: attempt.retry,
    model: attempt.model,
    provider: PROVIDER,
    ...facts,
  }
  out.push(hookRecord('api_request_error', Math.max(at, attempt.startAt), payload, 'inferred'))
}

/** Everything is known of it. */
export function endAttempt(out: Out, session: Session, loop: Loop, attempt: Attempt): void {
  remove(loop, attempt)
  if (attempt.messageId !== undefined) {
    if (loop.told.length >= TOLD_LIMIT) loop.told.shift()
    loop.told.push(attempt.messageId)
  }
  countTokens(session, loop, attempt)
  const calls = attempt.content.filter(block => peek(block, 'type') === 'tool_use')
  const payload = {
    session_id: loop.sessionId,
    turn_id: loop.turnId,
    api_request_id: attempt.id,
    retry_count: attempt.retry,
    model: attempt.model,
    provider: PROVIDER,
    finish_reason: attempt.stopReason ?? (calls.length > 0 ? 'tool_use' : undefined),
    response_model: attempt.messageId === undefined ? undefined : attempt.model,
    response_id: attempt.messageId,
    first_chunk_at: attempt.firstChunkAt === undefined ? undefined : attempt.firstChunkAt / 1000,
    usage: attempt.tokens && usagePayload(attempt.tokens),
    assistant_tool_call_count: calls.length,
    response: { message: responseMessage(attempt, calls) },
  }
  const isCertain = attempt.isTimed && attempt.isExact
  out.push(hookRecord('post_api_request', attempt.endAt ?? loop.lastAt, payload, isCertain ? undefined : 'inferred'))
}

function responseMessage(attempt: Attempt, calls: readonly unknown[]): object {
  const tool_calls = calls.map(block => ({
    id: peek(block, 'id'),
    name: peek(block, 'name'),
    arguments: peek(block, 'input'),
  }))
  return { role: 'assistant', content: attempt.content.filter(block => peek(block, 'type') === 'text'), tool_calls }
}

/** What is told of an attempt is counted once, however often it is corrected. */
export function countTokens(session: Session, loop: Loop, attempt: Attempt): void {
  const added = minus(attempt.tokens ?? NO_TOKENS, attempt.counted)
  attempt.counted = attempt.tokens ?? NO_TOKENS
  loop.reported = plus(loop.reported, added)
  session.counted = plus(session.counted, added)
}

/** The attempt that a tool belongs to whose message was not seen yet. */
export function attemptOfTool(out: Out, loop: Loop, at: number): Attempt | undefined {
  return loop.askedAt === undefined ? loop.open.at(-1) : beginAttempt(out, loop, at)
}

export interface LoopEnd {
  readonly at: number
  /** Of the result: it belongs to the last answer. */
  readonly stopReason?: string | undefined
  /** All tokens of the loop, where the host says them. */
  readonly total?: Tokens | undefined
  /** A request that nothing was seen of was under way. */
  readonly isCut?: boolean
}

/** Tells all attempts; what the loop used beyond what its messages said goes to the last one. */
export function endAttempts(out: Out, session: Session, loop: Loop, end: LoopEnd): void {
  if (end.isCut === true && loop.askedAt !== undefined && loop.askedAt < end.at) {
    const cut = beginAttempt(out, loop, end.at)
    cut.endAt = end.at
    cut.stopReason = 'aborted'
  }
  const last = loop.open.at(-1)
  for (const attempt of loop.open) countTokens(session, loop, attempt)
  if (last !== undefined && end.total !== undefined && !last.isExact) {
    const missing = larger(minus(end.total, loop.reported), NO_TOKENS)
    last.tokens = plus(last.tokens ?? NO_TOKENS, missing)
    if (last.tokens.input + last.tokens.output === 0) last.tokens = undefined
  }
  if (last !== undefined) last.stopReason ??= end.stopReason
  for (const attempt of [...loop.open]) endAttempt(out, session, loop, attempt)
}

function remove(loop: Loop, attempt: Attempt): void {
  const index = loop.open.indexOf(attempt)
  if (index >= 0) loop.open.splice(index, 1)
}

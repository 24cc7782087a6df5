import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { ModelRequest } from '../base/requests.ts'
import { type TokenUsage, usageOf } from '../base/usage.ts'
import { jsonIn } from '../event-json.ts'
import type { Failure, Loop } from './recorded-session.ts'

const CALLS_LIMIT = 1000
/** Requests of a conversation, as opposed to auxiliary calls. */
const OF_CONVERSATION = /^conversation-/

/** Handles `session.usage_record`: a request has been answered. */
export function answered(loop: Loop, at: number, data: unknown): void {
  const usage = peek(data, 'usage')
  settleRequest(loop)
  const startAt = Math.min(at, Math.max(loop.startAt, at - (numberOf(peek(usage, 'duration')) ?? 0)))
  const task = taskOf(usage)
  const model = textOf(peek(usage, 'model'))
  if (task === undefined) loop.model = model ?? loop.model
  const request =
    task === undefined
      ? loop.requests.nextRequest(startAt)
      : new ModelRequest(loop, startAt, { id: `${loop.turnId}:${task}:${startAt}`, task })
  if (task === undefined) loop.requests.failures = 0
  loop.hasGivenUp = false
  const wait = numberOf(peek(usage, 'timeToFirstTokenMs'))
  request.firstChunkAt = wait === undefined ? undefined : startAt + wait
  request.emitStart({ model, provider: providerOf(usage) })
  loop.open = { request, at, usage }
  loop.askedAt = at
  if (task !== undefined) settleRequest(loop)
}

function taskOf(usage: unknown): string | undefined {
  const type = textOf(peek(usage, 'interactionType'))
  return type === undefined || OF_CONVERSATION.test(type) ? undefined : type
}

/** `other` stands for a custom provider of the user. */
function providerOf(usage: unknown): string | undefined {
  const provider = textOf(peek(usage, 'modelProvider'))
  return provider === 'other' ? undefined : provider
}

/** Handles `assistant.message`: the text of the answer, and its tool calls. */
export function spoken(loop: Loop, at: number, data: unknown): void {
  const { open } = loop
  const text = textOf(peek(data, 'content'))
  if (text !== undefined && text !== '') loop.answer = text
  const calls = elementsOf(peek(data, 'toolRequests'), CALLS_LIMIT)
  const isOfOpen = open !== undefined && idOf(peek(data, 'apiCallId')) === idOf(peek(open.usage, 'apiCallId'))
  for (const call of calls) {
    const id = idOf(peek(call, 'toolCallId'))
    if (id === undefined) continue
    const asked = loop.callOf(id, at)
    asked.name ??= textOf(peek(call, 'name'))
    asked.args ??= peek(call, 'arguments')
    if (isOfOpen) asked.requestId = open.request.id
  }
  if (isOfOpen) tellAnswer(loop, { role: 'assistant', content: text, tool_calls: calls }, calls.length)
}

function tellAnswer(loop: Loop, message?: object, callCount?: number): void {
  const { open } = loop
  loop.open = undefined
  if (open === undefined) return
  const { request, at, usage } = open
  request.emitAnswer(at, {
    model: textOf(peek(usage, 'model')),
    provider: providerOf(usage),
    response_id: idOf(peek(usage, 'apiCallId')),
    finish_reason: peek(usage, 'finishReason'),
    usage: tokensOf(usage),
    assistant_tool_call_count: callCount,
    response: message === undefined ? undefined : { message },
  })
}

/** The input count includes the cache, and the output count includes reasoning. */
function tokensOf(usage: unknown): TokenUsage | undefined {
  return usageOf({
    input: peek(usage, 'inputTokens'),
    output: peek(usage, 'outputTokens'),
    cacheRead: peek(usage, 'cacheReadTokens'),
    cacheWrite: peek(usage, 'cacheWriteTokens'),
    reasoning: peek(usage, 'reasoningTokens'),
  })
}

/** Handles `ErrorOccurred`, a failed attempt. Only the file has its status, and shows whether it was the last. */
export function attemptFailed(loop: Loop, at: number, data: unknown): void {
  if (peek(data, 'error_context') !== 'model_call') return
  // The file was read first: this is the attempt that ended the turn.
  const last = loop.hasGivenUp ? loop.failure : undefined
  if (last === undefined) settleRequest(loop)
  const error = peek(data, 'error')
  const message = textOf(peek(error, 'message'))
  const type = typeIn(message) ?? textOf(peek(error, 'name')) ?? last?.type
  loop.failure = { at, type, message, status: last?.status }
}

/** Parses a provider's error message, which is JSON: `{"message":"slow down","type":"rate_limit_error",…}`. */
function typeIn(message: string | undefined): string | undefined {
  return message?.startsWith('{') ? textOf(peek(jsonIn(message), 'type')) : undefined
}

/** Handles `session.error`: the turn failed with its last attempt. */
export function gaveUp(loop: Loop, at: number, data: unknown): void {
  const { failure } = loop
  loop.hasGivenUp = true
  loop.failure = {
    at: failure?.at ?? at,
    type: failure?.type ?? textOf(peek(data, 'errorType')),
    message: failure?.message ?? peek(data, 'message'),
    status: numberOf(peek(data, 'statusCode')),
  }
}

/** Emits the last answer or failed attempt with the known facts. */
export function settleRequest(loop: Loop): void {
  tellAnswer(loop)
  const { failure } = loop
  loop.failure = undefined
  if (failure !== undefined) tellFailure(loop, failure)
}

function tellFailure(loop: Loop, { at, type, message, status }: Failure): void {
  const request = loop.requests.nextRequest(Math.min(at, loop.askedAt))
  loop.requests.failures += 1
  loop.askedAt = at
  request.emitStart({ model: loop.model }, 'inferred')
  request.emitFailure(at, {
    model: loop.model,
    status_code: status,
    retryable: !loop.hasGivenUp,
    reason: type,
    error: { type, message },
  })
}

/** Handles `session.compaction_start`. */
export function compactionStarted(loop: Loop, at: number, data: unknown): void {
  settleRequest(loop)
  const id = `${loop.turnId}:compression:${idOf(peek(data, 'compactionAttemptId')) ?? at}`
  loop.compaction = new ModelRequest(loop, at, { id, task: 'compression' })
  loop.compaction.emitStart({ model: textOf(peek(data, 'model')) })
}

/** Handles `session.compaction_complete`. */
export function compactionEnded(loop: Loop, at: number, data: unknown): void {
  const { compaction } = loop
  loop.compaction = undefined
  const used = peek(data, 'compactionTokensUsed')
  if (peek(data, 'success') === false) compaction?.emitFailure(at, { error: { message: peek(data, 'error') } })
  else compaction?.emitAnswer(at, { model: textOf(peek(used, 'model')), usage: tokensOf(used) })
}

import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { ModelRequest } from '../base/requests.ts'
import { readUsage } from '../base/usage.ts'
import { jsonIn } from '../event-json.ts'
import type { CopilotLoop, FailedAttempt } from './recorded-session.ts'

const CALLS_LIMIT = 1000
/** The input count includes the cache, and the output count includes reasoning. */
const COUNTS = {
  input: 'inputTokens',
  output: 'outputTokens',
  cacheRead: 'cacheReadTokens',
  cacheWrite: 'cacheWriteTokens',
  reasoning: 'reasoningTokens',
}
const CONVERSATION_TYPE = /^conversation-/

export function handleUsageRecord(loop: CopilotLoop, at: number, data: unknown): void {
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
  loop.openAnswer = { request, at, usage }
  loop.askedAt = at
  if (task !== undefined) settleRequest(loop)
}

function taskOf(usage: unknown): string | undefined {
  const type = textOf(peek(usage, 'interactionType'))
  return type === undefined || CONVERSATION_TYPE.test(type) ? undefined : type
}

/** `other` stands for a custom provider of the user. */
function providerOf(usage: unknown): string | undefined {
  const provider = textOf(peek(usage, 'modelProvider'))
  return provider === 'other' ? undefined : provider
}

export function handleMessage(loop: CopilotLoop, at: number, data: unknown): void {
  const { openAnswer } = loop
  const text = textOf(peek(data, 'content'))
  if (text !== undefined && text !== '') loop.answer = text
  const calls = elementsOf(peek(data, 'toolRequests'), CALLS_LIMIT)
  const isOfOpen =
    openAnswer !== undefined && idOf(peek(data, 'apiCallId')) === idOf(peek(openAnswer.usage, 'apiCallId'))
  for (const call of calls) {
    const id = idOf(peek(call, 'toolCallId'))
    if (id === undefined) continue
    const asked = loop.callOf(id, at)
    asked.name ??= textOf(peek(call, 'name'))
    asked.args ??= peek(call, 'arguments')
    if (isOfOpen) asked.requestId = openAnswer.request.id
  }
  if (isOfOpen) emitOpenAnswer(loop, { role: 'assistant', content: text, tool_calls: calls }, calls.length)
}

function emitOpenAnswer(loop: CopilotLoop, message?: object, callCount?: number): void {
  const { openAnswer } = loop
  loop.openAnswer = undefined
  if (openAnswer === undefined) return
  const { request, at, usage } = openAnswer
  request.emitAnswer(at, {
    model: textOf(peek(usage, 'model')),
    provider: providerOf(usage),
    response_id: idOf(peek(usage, 'apiCallId')),
    finish_reason: peek(usage, 'finishReason'),
    usage: readUsage(usage, COUNTS),
    assistant_tool_call_count: callCount,
    response: message === undefined ? undefined : { message },
  })
}

/** Handles `ErrorOccurred`, a failed attempt. Only the file has its status, and shows whether it was the last. */
export function handleFailedAttempt(loop: CopilotLoop, at: number, data: unknown): void {
  if (peek(data, 'error_context') !== 'model_call') return
  // The file was read first: this is the attempt that ended the turn.
  const last = loop.hasGivenUp ? loop.failedAttempt : undefined
  if (last === undefined) settleRequest(loop)
  const error = peek(data, 'error')
  const message = textOf(peek(error, 'message'))
  const type = typeIn(message) ?? textOf(peek(error, 'name')) ?? last?.type
  loop.failedAttempt = { at, type, message, status: last?.status }
}

/** Parses a provider's error message, which is JSON: `{"message":"slow down","type":"rate_limit_error",…}`. */
function typeIn(message: string | undefined): string | undefined {
  return message?.startsWith('{') ? textOf(peek(jsonIn(message), 'type')) : undefined
}

export function handleSessionError(loop: CopilotLoop, at: number, data: unknown): void {
  const { failedAttempt } = loop
  loop.hasGivenUp = true
  loop.failedAttempt = {
    at: failedAttempt?.at ?? at,
    type: failedAttempt?.type ?? textOf(peek(data, 'errorType')),
    message: failedAttempt?.message ?? peek(data, 'message'),
    status: numberOf(peek(data, 'statusCode')),
  }
}

export function settleRequest(loop: CopilotLoop): void {
  emitOpenAnswer(loop)
  const { failedAttempt } = loop
  loop.failedAttempt = undefined
  if (failedAttempt !== undefined) emitFailedAttempt(loop, failedAttempt)
}

function emitFailedAttempt(loop: CopilotLoop, { at, type, message, status }: FailedAttempt): void {
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

export function handleCompactionStart(loop: CopilotLoop, at: number, data: unknown): void {
  settleRequest(loop)
  const id = `${loop.turnId}:compression:${idOf(peek(data, 'compactionAttemptId')) ?? at}`
  loop.compaction = new ModelRequest(loop, at, { id, task: 'compression' })
  loop.compaction.emitStart({ model: textOf(peek(data, 'model')) })
}

export function handleCompactionEnd(loop: CopilotLoop, at: number, data: unknown): void {
  const { compaction } = loop
  loop.compaction = undefined
  const used = peek(data, 'compactionTokensUsed')
  if (peek(data, 'success') === false) compaction?.emitFailure(at, { error: { message: peek(data, 'error') } })
  else compaction?.emitAnswer(at, { model: textOf(peek(used, 'model')), usage: readUsage(used, COUNTS) })
}

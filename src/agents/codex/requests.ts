import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { ModelRequest } from '../base/requests.ts'
import { readUsage } from '../base/usage.ts'
import { jsonIn } from '../event-json.ts'
import type { CodexLoop } from './session.ts'

const CALLS_LIMIT = 1000
const COUNTS = {
  input: 'input_tokens',
  output: 'output_tokens',
  cacheRead: 'cached_input_tokens',
  cacheWrite: 'cache_write_input_tokens',
  reasoning: 'reasoning_output_tokens',
}

function openRequest(loop: CodexLoop, startAt: number, data: unknown): ModelRequest {
  const { session } = loop
  loop.model = textOf(peek(data, 'model')) ?? loop.model
  session.provider = textOf(peek(data, 'provider')) ?? session.provider
  const { compaction } = loop
  if (compaction === undefined) loop.emitPrompt()
  if (loop.pendingRequest !== undefined) return loop.pendingRequest
  const request = compaction === undefined ? loop.requests.nextRequest(startAt) : compressionRequest(loop, startAt)
  request.emitStart({ model: loop.model, provider: session.provider })
  loop.pendingRequest = request
  return request
}

function compressionRequest(loop: CodexLoop, startAt: number): ModelRequest {
  return new ModelRequest(loop, startAt, { id: `${loop.turnId}:compression:${startAt}`, task: 'compression' })
}

/** Clamps the start: a request is sent after its turn began and before its answer. */
function sentAt(loop: CodexLoop, data: unknown, endAt: number): number {
  const floor = loop.compaction?.at ?? loop.prompt?.at ?? loop.startAt
  return Math.min(endAt, Math.max(floor, numberOf(peek(data, 'started_at')) ?? endAt))
}

export function handleCall(loop: CodexLoop, data: unknown): void {
  const id = idOf(peek(data, 'call_id'))
  const at = numberOf(peek(data, 'at'))
  if (id === undefined || at === undefined || !loop.session.isNew(`${loop.turnId} call ${id}`)) return
  const request = openRequest(loop, sentAt(loop, data, at), data)
  const call = loop.callOf(id, at)
  call.requestId = request.id
  call.name ??= textOf(peek(data, 'name'))
  const args = peek(data, 'arguments')
  call.args ??= typeof args === 'string' ? jsonIn(args, args) : args
}

export function handleAnswer(loop: CodexLoop, data: unknown): void {
  const { session } = loop
  const at = numberOf(peek(data, 'ended_at'))
  const id = idOf(peek(data, 'response_id'))
  if (at === undefined || !session.isNew(`${loop.turnId} answer ${id ?? at}`)) return
  const request = openRequest(loop, sentAt(loop, data, at), data)
  loop.pendingRequest = undefined
  loop.lastAt = Math.max(loop.lastAt, at)
  const calls = elementsOf(peek(data, 'calls'), CALLS_LIMIT)
  const { model } = loop
  const message = { role: 'assistant', content: peek(data, 'text'), tool_calls: calls }
  request.emitAnswer(at, {
    model,
    provider: session.provider,
    response_id: id,
    usage: readUsage(peek(data, 'usage'), COUNTS),
    assistant_tool_call_count: calls.length,
    response: { message },
  })
}

export function handleFailure(loop: CodexLoop, data: unknown): void {
  const at = numberOf(peek(data, 'at'))
  if (at === undefined || !loop.session.isNew(`${loop.turnId} failure ${at}`)) return
  const request = openRequest(loop, sentAt(loop, data, at), data)
  loop.pendingRequest = undefined
  loop.lastAt = Math.max(loop.lastAt, at)
  request.emitFailure(at, {
    model: loop.model,
    provider: loop.session.provider,
    status_code: numberOf(peek(data, 'status')),
    retryable: false,
    reason: textOf(peek(peek(data, 'error'), 'type')),
    error: peek(data, 'error'),
  })
}

/** Ends the pending request when the turn ends: its answer was cut off, or is written too late. */
export function settleRequest(loop: CodexLoop, at: number): void {
  const { pendingRequest, model, session } = loop
  loop.pendingRequest = undefined
  pendingRequest?.emitAnswer(Math.max(at, pendingRequest.startAt), { model, provider: session.provider }, 'inferred')
}

import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { type ModelRequest, sentAt } from '../base/requests.ts'
import type { ClaudeLoop } from './session.ts'

function openRequest(loop: ClaudeLoop, startAt: number, data: unknown): ModelRequest {
  const model = textOf(peek(data, 'model'))
  const { dialect } = loop.session
  if (dialect.provider === undefined) loop.session.provider = textOf(peek(data, 'provider')) ?? loop.provider
  loop.emitPrompt(model)
  if (loop.open !== undefined) return loop.open
  const request = loop.requests.nextRequest(startAt)
  for (const call of loop.calls) if (call.startAt <= startAt) call.sentOnAt ??= startAt
  const isGuessed = peek(data, 'start_is_guessed') === true
  request.emitStart({ model: model ?? loop.model, provider: loop.provider }, isGuessed ? 'inferred' : undefined)
  loop.open = request
  return request
}

export function handleRequest(loop: ClaudeLoop, _at: number, data: unknown): void {
  const at = numberOf(peek(data, 'started_at')) ?? loop.answeredAt
  // An answered request: the file is being read again.
  if (loop.hasEnded || at < loop.answeredAt) return
  const { startAt } = openRequest(loop, Math.max(loop.startAt, at), data)
  loop.lastAt = Math.max(loop.lastAt, startAt)
}

export function handleResponse(loop: ClaudeLoop, endAt: number, data: unknown): void {
  const { session } = loop
  const id = idOf(peek(data, 'message_id'))
  // An answer of an earlier turn, or of a child's earlier work: the file is being read again.
  if (id === undefined || endAt < loop.startAt || !session.isNew(id)) return
  const model = textOf(peek(data, 'model'))
  if (loop.agentId === undefined) session.model = model ?? session.model
  const request = openRequest(loop, sentAt(data, loop.startAt, endAt), data)
  const content = elementsOf(peek(data, 'content'))
  const calls = content.filter(block => peek(block, 'type') === 'tool_use')
  for (const block of calls) {
    const callId = idOf(peek(block, 'id'))
    if (callId === undefined || session.calls.has(callId)) continue
    const [name, args] = [textOf(peek(block, 'name')), peek(block, 'input')]
    session.requestedCalls.set(callId, { name, args, requestId: request.id, startAt: endAt })
  }
  loop.requests.failures = 0
  closeRequest(loop, endAt)
  const facts = {
    model,
    provider: loop.provider,
    response_model: model,
    response_id: id,
    finish_reason: textOf(peek(data, 'stop_reason')),
    usage: session.dialect.usageOf(peek(data, 'usage')),
    service_tier: textOf(peek(peek(data, 'usage'), 'service_tier')),
    assistant_tool_call_count: calls.length,
    response: { message: responseMessage(content, calls) },
  }
  request.emitAnswer(endAt, facts, peek(data, 'start_is_guessed') === true ? 'inferred' : undefined)
}

function closeRequest(loop: ClaudeLoop, at: number): void {
  loop.open = undefined
  loop.answeredAt = Math.max(loop.answeredAt, at)
  loop.lastAt = Math.max(loop.lastAt, at)
}

export function responseMessage(content: readonly unknown[], calls: readonly unknown[]): object {
  const tool_calls = calls.map(one => ({ id: peek(one, 'id'), name: peek(one, 'name'), arguments: peek(one, 'input') }))
  return { role: 'assistant', content: content.filter(block => peek(block, 'type') === 'text'), tool_calls }
}

export function handleFailure(loop: ClaudeLoop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'line_id'))
  if (id === undefined || at < loop.startAt || !loop.session.isNew(id)) return
  const request = openRequest(loop, sentAt(data, loop.startAt, at), data)
  const error = textOf(peek(data, 'error')) ?? 'unknown'
  const isRetried = peek(data, 'retry_in_ms') !== undefined
  closeRequest(loop, at)
  request.emitFailure(at, {
    model: loop.model,
    provider: loop.provider,
    status_code: numberOf(peek(data, 'status')),
    max_retries: numberOf(peek(data, 'max_retries')),
    retryable: isRetried,
    reason: error,
    error: { type: error, message: textOf(peek(data, 'message')) },
  })
  loop.requests.failures = isRetried ? (request.retry ?? 0) + 1 : 0
}

/** Ends the pending request when the loop ends: its answer was cut off, or is written too late. */
export function endOpenRequest(loop: ClaudeLoop, at: number, isCut: boolean): void {
  const { open, model } = loop
  if (open === undefined) return
  closeRequest(loop, at)
  open.emitAnswer(at, { model, provider: loop.provider, finish_reason: isCut ? 'aborted' : undefined }, 'inferred')
}

import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { plainText } from '../base/messages.ts'
import type { ModelRequest } from '../base/requests.ts'
import { type UsageCounts, usageOf } from '../base/usage.ts'
import { type GeminiLoop, PROVIDER } from './session.ts'

function startRequest(loop: GeminiLoop, at: number, model?: string): ModelRequest {
  loop.emitPrompt(model)
  // Input sent before the loop began does not belong to it.
  const startAt = Math.min(at, Math.max(loop.startAt, loop.sentAt ?? at))
  const isGuessed = loop.sentAt === undefined
  loop.sentAt = undefined
  loop.lastAt = Math.max(loop.lastAt, at)
  const request = loop.requests.nextRequest(startAt)
  request.emitStart({ model: loop.model, provider: PROVIDER }, isGuessed ? 'inferred' : undefined)
  return request
}

export function handleAnswer(loop: GeminiLoop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'id'))
  if (id === undefined || !loop.session.isNew(id)) return
  const model = textOf(peek(data, 'model'))
  if (loop.sessionId === loop.session.id) loop.session.model = model
  const request = startRequest(loop, at, model)
  loop.requestIdByAnswer.set(id, request.id)
  const text = plainText(peek(data, 'content'))
  loop.answer = text ?? loop.answer
  request.emitAnswer(at, {
    model,
    provider: PROVIDER,
    usage: tokensOf(peek(data, 'tokens')),
    response: { message: { role: 'assistant', content: text } },
  })
}

/** The input count includes the cache. Thoughts, and input from the provider's tools, are counted separately. */
function tokensOf(tokens: unknown): UsageCounts | undefined {
  const [input, ofTools] = [peek(tokens, 'input'), peek(tokens, 'tool')]
  return usageOf(
    {
      input: Number(input ?? 0) + Number(ofTools ?? 0),
      output: peek(tokens, 'output'),
      cacheRead: peek(tokens, 'cached'),
      reasoning: peek(tokens, 'thoughts'),
    },
    { reasoningIsOutside: true },
  )
}

export function emitFailedRequest(loop: GeminiLoop, at: number, message: string | undefined): void {
  const status = /"code":\s?(\d{3})\b/.exec(message?.slice(0, 2000) ?? '')?.[1]
  const type = /"status":\s?"([A-Z_]{3,40})"/.exec(message?.slice(0, 2000) ?? '')?.[1] ?? 'provider_error'
  startRequest(loop, at).emitFailure(at, {
    model: loop.model,
    provider: PROVIDER,
    status_code: status === undefined ? undefined : Number(status),
    retryable: false,
    reason: type,
    error: { type, message },
  })
}

export function endUnansweredRequest(loop: GeminiLoop, at: number): void {
  if (loop.sentAt === undefined) return
  startRequest(loop, at).emitAnswer(at, { model: loop.model, provider: PROVIDER, finish_reason: 'aborted' }, 'inferred')
}

/** Starts a request without an end, because its result is unknown. The trace shows it as incomplete. */
export function startUnansweredRequest(loop: GeminiLoop, at: number): void {
  if (loop.sentAt !== undefined) startRequest(loop, at)
}

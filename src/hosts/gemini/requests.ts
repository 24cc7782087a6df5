import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { plainText } from '../base/messages.ts'
import type { ModelRequest } from '../base/requests.ts'
import { type Usage, usageOf } from '../base/usage.ts'
import { type Loop, PROVIDER } from './session.ts'

function begin(loop: Loop, at: number, model?: string): ModelRequest {
  loop.tellPrompt(model)
  // Something that was sent before the loop began was not sent for it.
  const startAt = Math.min(at, Math.max(loop.startAt, loop.sentAt ?? at))
  const isGuessed = loop.sentAt === undefined
  loop.sentAt = undefined
  loop.lastAt = Math.max(loop.lastAt, at)
  const request = loop.requests.next(startAt)
  request.tellStart({ model: loop.model, provider: PROVIDER }, isGuessed ? 'inferred' : undefined)
  return request
}

/** `session:answer`. */
export function answered(loop: Loop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'id'))
  if (id === undefined || !loop.session.isNew(id)) return
  const model = textOf(peek(data, 'model'))
  if (loop.sessionId === loop.session.id) loop.session.model = model
  const request = begin(loop, at, model)
  loop.requestOf.set(id, request.id)
  const text = plainText(peek(data, 'content'))
  loop.answer = text ?? loop.answer
  request.tellAnswer(at, {
    model,
    provider: PROVIDER,
    usage: tokensOf(peek(data, 'tokens')),
    response: { message: { role: 'assistant', content: text } },
  })
}

/** The cache is a part of the input; thoughts and what tools of the provider's have put in are outside. */
function tokensOf(tokens: unknown): Usage | undefined {
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

/** `session:error`. */
export function failed(loop: Loop, at: number, message: string | undefined): void {
  const status = /"code":\s?(\d{3})\b/.exec(message?.slice(0, 2000) ?? '')?.[1]
  const type = /"status":\s?"([A-Z_]{3,40})"/.exec(message?.slice(0, 2000) ?? '')?.[1] ?? 'provider_error'
  begin(loop, at).tellFailure(at, {
    model: loop.model,
    provider: PROVIDER,
    status_code: status === undefined ? undefined : Number(status),
    retryable: false,
    reason: type,
    error: { type, message },
  })
}

/** The loop is over, and what was sent has no answer. */
export function cutOff(loop: Loop, at: number): void {
  if (loop.sentAt === undefined) return
  begin(loop, at).tellAnswer(at, { model: loop.model, provider: PROVIDER, finish_reason: 'aborted' }, 'inferred')
}

/** Nobody says what became of it: whoever looks at the trace sees that it was begun. */
export function leaveOpen(loop: Loop, at: number): void {
  if (loop.sentAt !== undefined) begin(loop, at)
}

import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookedTurn } from '../base/hooked-session.ts'
import { joinTexts } from '../base/messages.ts'
import { type UsageCounts, usageOf } from '../base/usage.ts'
import { jsonIn } from '../event-json.ts'
import type { Attribute } from './types.ts'

const ERROR = 2
const PARTS_LIMIT = 100

export interface RequestSpan {
  readonly id: string | undefined
  readonly startAt: number
  readonly endAt: number
  readonly hasFailed: boolean
  get(attribute: Attribute): unknown
}

export function requestOfSpan(span: unknown): RequestSpan | undefined {
  const attributes = peek(span, 'attributes')
  const get = (name: Attribute): unknown => peek(attributes, name)
  const startAt = numberOf(peek(span, 'startAt'))
  const endAt = numberOf(peek(span, 'endAt'))
  if (startAt === undefined || endAt === undefined || endAt < startAt) return undefined
  const hasFailed = peek(span, 'statusCode') === ERROR || get('error.type') !== undefined
  return { id: idOf(peek(span, 'spanId')), startAt, endAt, hasFailed, get }
}

/** The input count includes the cache, as in OpenTelemetry's conventions. */
function usageOfSpan({ get }: RequestSpan): UsageCounts | undefined {
  return usageOf({
    input: get('gen_ai.usage.input_tokens'),
    output: get('gen_ai.usage.output_tokens'),
    cacheRead: get('gen_ai.usage.cache_read.input_tokens') ?? get('gen_ai.usage.cache_read_input_tokens'),
    cacheWrite: get('gen_ai.usage.cache_creation.input_tokens') ?? get('gen_ai.usage.cache_creation_input_tokens'),
    reasoning: get('gen_ai.usage.reasoning.output_tokens'),
  })
}

export function emitSpanRequest(turn: HookedTurn, span: RequestSpan): void {
  const { get, startAt, endAt } = span
  const model = textOf(get('gen_ai.request.model'))
  const provider = textOf(get('gen_ai.provider.name'))
  const answer = answerTextIn(get('gen_ai.output.messages'))
  turn.model = textOf(get('gen_ai.response.model')) ?? model ?? turn.model
  turn.answer = answer ?? turn.answer
  turn.emitPrompt()
  const request = turn.requests.nextRequest(startAt, { isRetry: false })
  const wait = numberOf(get('github.copilot.time_to_first_chunk'))
  request.firstChunkAt = wait === undefined ? undefined : startAt + wait * 1000
  request.emitStart({ model, provider })
  request.emitAnswer(endAt, {
    model,
    provider,
    response_model: get('gen_ai.response.model'),
    response_id: get('gen_ai.response.id'),
    finish_reason: peek(get('gen_ai.response.finish_reasons'), 0),
    usage: usageOfSpan(span),
    response: answer === undefined ? undefined : { assistant_message: { role: 'assistant', content: answer } },
  })
}

function answerTextIn(messages: unknown): string | undefined {
  const parts = elementsOf(jsonIn(textOf(messages) ?? ''), PARTS_LIMIT).flatMap(message =>
    elementsOf(peek(message, 'parts'), PARTS_LIMIT),
  )
  return joinTexts(parts.map(part => (peek(part, 'type') === 'text' ? textOf(peek(part, 'content')) : undefined)))
}

import type { ApiStart } from '../contract/index.ts'
import type { SafeText } from './capture.ts'
import { booleanOf, elementsOf, numberOf, peek, positive, textOf } from './foreign.ts'
import { captured } from './messages.ts'
import type { Draw, Fired, SpanAttributes } from './span-definition.ts'

const STOP_LIMIT = 16

/** The request as the model provider got it, where the host passes it on. */
export function requestBody(payload: ApiStart): unknown {
  return peek(payload.request, 'body') ?? payload.request
}

/** What was really sent: a fallback or a mid-session switch shows in the body before it shows in `model`. */
export function requestModel(payload: ApiStart): unknown {
  return textOf(peek(requestBody(payload), 'model')) ?? payload.model
}

function stopSequences(value: unknown, draw: Draw): readonly SafeText[] | undefined {
  const stops = (typeof value === 'string' ? [value] : elementsOf(value, STOP_LIMIT))
    .map(stop => draw.capture.id(stop))
    .filter(stop => stop !== undefined)
  return stops.length === 0 ? undefined : stops
}

/** `gen_ai.request.*` and, as JSON of the same, `llm.invocation_parameters`. */
export function requestParameters({ payload }: Fired<ApiStart>, draw: Draw): SpanAttributes {
  const body = requestBody(payload)
  const given = (key: keyof ApiStart & string, inBody: string = key): unknown => payload[key] ?? peek(body, inBody)
  const choices = numberOf(given('n'))
  const parameters = {
    max_tokens: positive(given('max_tokens') ?? peek(body, 'max_completion_tokens') ?? peek(body, 'max_output_tokens')),
    temperature: numberOf(given('temperature')),
    top_p: numberOf(given('top_p')),
    top_k: numberOf(given('top_k')),
    frequency_penalty: numberOf(given('frequency_penalty')),
    presence_penalty: numberOf(given('presence_penalty')),
    stop: stopSequences(payload.stop ?? peek(body, 'stop') ?? peek(body, 'stop_sequences'), draw),
    n: choices === 1 ? undefined : choices,
    stream: booleanOf(given('stream')),
    seed: numberOf(given('seed')),
    reasoning_effort: draw.capture.id(given('reasoning_effort')),
  }
  const { own, genAi, inference } = draw.names
  const anyGiven = Object.values(parameters).some(value => value !== undefined)
  return {
    [genAi.requestMaxTokens]: parameters.max_tokens,
    [genAi.requestTemperature]: parameters.temperature,
    [genAi.requestTopP]: parameters.top_p,
    [genAi.requestTopK]: parameters.top_k,
    [genAi.requestFrequencyPenalty]: parameters.frequency_penalty,
    [genAi.requestPresencePenalty]: parameters.presence_penalty,
    [genAi.requestStopSequences]: parameters.stop,
    [genAi.requestChoiceCount]: parameters.n,
    [genAi.requestStream]: parameters.stream,
    [genAi.requestSeed]: parameters.seed,
    [own.requestReasoningEffort]: parameters.reasoning_effort,
    [inference.invocationParameters]: anyGiven ? captured(parameters) : undefined,
  }
}

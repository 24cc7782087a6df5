import { type SafeText, safeJson } from '../content/capture.ts'
import { booleanOf, elementsOf, numberOf, peek, positive, textOf, wholeOf } from '../contract/foreign.ts'
import type { ApiStart } from '../contract/index.ts'
import type { AttributeList } from './attribute-list.ts'
import type { Draw, Fired } from './span-definition.ts'

const STOP_LIMIT = 16
const NO_PARAMETERS = '{}'

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
    .map(stop => (typeof stop === 'string' ? draw.capture.snippet(stop) : undefined))
    .filter(stop => stop !== undefined)
  return stops.length === 0 ? undefined : stops
}

function readParameters(payload: ApiStart, body: unknown, draw: Draw) {
  const given = (key: keyof ApiStart & string): unknown =>
    payload[key] ?? (body === undefined ? undefined : peek(body, key))
  const choices = wholeOf(given('n'))
  return {
    max_tokens: wholeOf(
      positive(given('max_tokens') ?? peek(body, 'max_completion_tokens') ?? peek(body, 'max_output_tokens')),
    ),
    temperature: numberOf(given('temperature')),
    top_p: numberOf(given('top_p')),
    top_k: numberOf(given('top_k')),
    frequency_penalty: numberOf(given('frequency_penalty')),
    presence_penalty: numberOf(given('presence_penalty')),
    stop: stopSequences(given('stop') ?? peek(body, 'stop_sequences'), draw),
    n: choices === 1 ? undefined : choices,
    stream: booleanOf(given('stream')),
    seed: wholeOf(given('seed')),
    reasoning_effort: draw.capture.id(given('reasoning_effort')),
  }
}

/** `gen_ai.request.*` and, as JSON of the same, `llm.invocation_parameters`. */
export function addRequestParameters(attributes: AttributeList, { payload }: Fired<ApiStart>, draw: Draw): void {
  const parameters = readParameters(payload, requestBody(payload), draw)
  const { own, genAi, inference } = draw.names
  attributes.set(genAi.requestMaxTokens, parameters.max_tokens)
  attributes.set(genAi.requestTemperature, parameters.temperature)
  attributes.set(genAi.requestTopP, parameters.top_p)
  attributes.set(genAi.requestTopK, parameters.top_k)
  attributes.set(genAi.requestFrequencyPenalty, parameters.frequency_penalty)
  attributes.set(genAi.requestPresencePenalty, parameters.presence_penalty)
  attributes.set(genAi.requestStopSequences, parameters.stop)
  attributes.set(genAi.requestChoiceCount, parameters.n)
  attributes.set(genAi.requestStream, parameters.stream)
  attributes.set(genAi.requestSeed, parameters.seed)
  attributes.set(own.requestReasoningEffort, parameters.reasoning_effort)
  const json = safeJson(parameters)
  if (json !== NO_PARAMETERS) attributes.set(inference.invocationParameters, json)
}

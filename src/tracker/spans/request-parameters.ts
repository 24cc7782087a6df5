import { literal, type SafeText, safeJson } from '../../content/safe-text.ts'
import { booleanOf, elementsOf, isArray, numberOf, peek, positive, textOf, wholeOf } from '../../contract/foreign.ts'
import type { ApiStart } from '../../contract/index.ts'
import { MODEL_PROVIDERS, WELL_KNOWN_PROVIDERS } from '../../contract/semconv/index.ts'
import type { AttributeList } from './attribute-list.ts'
import type { AttributeOptions } from './span-definition.ts'

/** A host's name of a model provider as the value of `gen_ai.provider.name`: the well-known one, else the host's own. */
export function modelProvider(provider: unknown): string | undefined {
  const name = textOf(provider)?.trim()
  return name === undefined ? undefined : (WELL_KNOWN_PROVIDERS.get(name.toLowerCase()) ?? name)
}

/** `gen_ai.provider.name` as the value of `llm.provider`: 'gcp.gemini' -> 'google'. Returns other names unchanged. */
export function inferenceProvider(provider: SafeText | undefined): SafeText | undefined {
  const inference = MODEL_PROVIDERS.get(provider ?? '')?.inference
  return inference === undefined ? provider : literal(inference)
}

/** The value of `llm.system`. Undefined for a router or a server, which offers models of several makers. */
export function inferenceSystem(provider: SafeText | undefined): SafeText | undefined {
  const system = MODEL_PROVIDERS.get(provider ?? '')?.system
  return system && literal(system)
}

const STOP_LIMIT = 16
const NO_PARAMETERS = '{}'

export function requestBody(payload: ApiStart): unknown {
  return peek(payload.request, 'body') ?? payload.request
}

/** The model that was really requested. A fallback or a mid-session switch appears in the body before it appears in `model`. */
export function requestModel(payload: ApiStart): unknown {
  return textOf(peek(requestBody(payload), 'model')) ?? payload.model
}

function stopSequences(value: unknown, options: AttributeOptions): readonly SafeText[] | undefined {
  const stops = (typeof value === 'string' ? [value] : elementsOf(value, STOP_LIMIT))
    .map(stop => (typeof stop === 'string' ? options.capture.snippet(stop) : undefined))
    .filter(stop => stop !== undefined)
  return stops.length === 0 ? undefined : stops
}

function readParameters(payload: ApiStart, body: unknown, options: AttributeOptions) {
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
    stop: stopSequences(given('stop') ?? peek(body, 'stop_sequences'), options),
    n: choices === 1 ? undefined : choices,
    stream: booleanOf(given('stream')),
    seed: wholeOf(given('seed')),
    reasoning_effort: options.capture.id(
      given('reasoning_effort') ??
        peek(peek(body, 'reasoning'), 'effort') ??
        peek(peek(body, 'output_config'), 'effort'),
    ),
  }
}

/** `gen_ai.request.*` and, as JSON of the same, `llm.invocation_parameters`. */
export function addRequestParameters(attributes: AttributeList, payload: ApiStart, options: AttributeOptions): void {
  const body = requestBody(payload)
  const parameters = readParameters(payload, body, options)
  const { facts } = options
  attributes.set(facts.requestMaxTokens, parameters.max_tokens)
  attributes.set(facts.requestTemperature, parameters.temperature)
  attributes.set(facts.requestTopP, parameters.top_p)
  attributes.set(facts.requestTopK, parameters.top_k)
  attributes.set(facts.requestFrequencyPenalty, parameters.frequency_penalty)
  attributes.set(facts.requestPresencePenalty, parameters.presence_penalty)
  attributes.set(facts.requestStopSequences, parameters.stop)
  attributes.set(facts.requestChoiceCount, parameters.n)
  attributes.set(facts.requestStream, parameters.stream)
  attributes.set(facts.requestSeed, parameters.seed)
  attributes.set(facts.reasoningEffort, parameters.reasoning_effort)
  // The response that a request continues. The model then reads more than the request's own messages.
  const previous = peek(body, 'previous_response_id') ?? peek(body, 'previous_interaction_id')
  attributes.set(facts.requestPreviousResponseId, options.capture.id(previous))
  const json = safeJson(parameters)
  if (json !== NO_PARAMETERS) attributes.set(facts.invocationParameters, json)
}

/** Limit of listed tools; the count includes all of them. A model is not usefully offered more. */
const DEFINITIONS_LIMIT = 256

export function toolCount(payload: ApiStart): number | undefined {
  const reported = numberOf(payload.tool_count)
  const tools = reported === undefined ? peek(requestBody(payload), 'tools') : undefined
  const count = reported ?? (isArray(tools) ? numberOf(peek(tools, 'length')) : undefined)
  return count === undefined ? undefined : Math.trunc(count)
}

/** The tools of a request by name: their descriptions and parameters repeat in each and are larger than the rest. */
export function toolDefinitions(payload: ApiStart, options: AttributeOptions): SafeText | undefined {
  const named = elementsOf(peek(requestBody(payload), 'tools'), DEFINITIONS_LIMIT).flatMap(tool => {
    const name = options.capture.id(peek(peek(tool, 'function'), 'name') ?? peek(tool, 'name'))
    const type = options.capture.id(textOf(peek(tool, 'type'))) ?? 'function'
    return name === undefined ? [] : [{ type, name }]
  })
  return named.length === 0 ? undefined : options.capture.json(named)
}

type ServerAddress = { readonly address?: string; readonly port?: number }

const NO_ADDRESS: ServerAddress = {}
const ADDRESSES_LIMIT = 100
const addresses = new Map<string, ServerAddress>()

function hostAndPort(baseUrl: string): ServerAddress {
  if (!URL.canParse(baseUrl)) return NO_ADDRESS
  const { hostname, port, protocol } = new URL(baseUrl)
  if (hostname === '') return NO_ADDRESS
  return { address: hostname, port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port) }
}

/** Host and port of a base URL; empty if it is invalid. An agent uses a handful of URLs, so each is parsed once. */
export function serverAddress(baseUrl: unknown): ServerAddress {
  if (typeof baseUrl !== 'string' || baseUrl.length > 2048) return NO_ADDRESS
  let found = addresses.get(baseUrl)
  if (found === undefined) {
    if (addresses.size >= ADDRESSES_LIMIT) addresses.clear()
    found = hostAndPort(baseUrl)
    addresses.set(baseUrl, found)
  }
  return found
}

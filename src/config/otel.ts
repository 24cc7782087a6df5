import { parsePairs, readPairs, readPrometheus } from './collections.ts'
import { KEY_ROWS, type KeyName } from './keys.ts'
import { type Environment, variable } from './paths.ts'
import { alternatives } from './problems.ts'
import { readValue } from './read-value.ts'
import { type Reading, refuse, type Site } from './reading.ts'
import { readInteger, readNumber } from './scalars.ts'

/** What one of OpenTelemetry's variables has to say about a key. */
export interface OtelOffer {
  readonly reading: Reading
  /** The variable's name. */
  readonly place: string
}

/** `below`: what is in force without it. `site`: hears about parts that are left out. */
type OtelReader = (env: Environment, below: unknown, site: Site) => OtelOffer | undefined

/** What OpenTelemetry's own variables say about a key; undefined when they say nothing. `backends`: `otel-backends.ts`. */
export function otelOffer(key: KeyName, below: unknown, site: Site): OtelOffer | undefined {
  const special = SPECIAL[key]
  if (special) return special(site.env, below, site)
  const [name] = KEY_ROWS[key].otel ?? []
  if (name === undefined) return undefined
  if (name === LENGTH_LIMIT) return lengthLimit(key, site.env, below)
  const reading = readValue(KEY_ROWS[key], variable(site.env, name), { ...site, place: () => name })
  return reading && { reading, place: name }
}

const LENGTH_LIMIT = 'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'

// It caps, it never raises. When it cannot be used, one of the keys that it caps is enough to say so.
function lengthLimit(key: KeyName, env: Environment, below: unknown): OtelOffer | undefined {
  const text = variable(env, LENGTH_LIMIT)
  if (text === undefined) return undefined
  const reading = readInteger(text, { min: 1 })
  if ('reason' in reading) return key === 'content_max_chars' ? { reading, place: LENGTH_LIMIT } : undefined
  return typeof below === 'number' && below > reading.value ? { reading, place: LENGTH_LIMIT } : undefined
}

const SPECIAL: { readonly [Key in KeyName]?: OtelReader } = {
  backends: () => undefined,
  enabled: env => wordOffer(env, 'OTEL_SDK_DISABLED', { true: false, false: undefined }),
  content_capture: env =>
    wordOffer(env, 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', {
      true: 'full',
      span_only: 'full',
      span_and_event: 'full',
      // Content on events alone means none on spans, and spans are all that we have.
      event_only: 'off',
      no_content: 'off',
      false: 'off',
    }),
  service_name: serviceName,
  resource_attributes: resourceAttributes,
  sample_rate: sampleRate,
  prometheus: prometheusAddress,
}

function wordOffer(env: Environment, name: string, meanings: Readonly<Record<string, unknown>>): OtelOffer | undefined {
  const text = variable(env, name)
  if (text === undefined) return undefined
  const word = text.toLowerCase()
  if (!Object.hasOwn(meanings, word)) {
    return { reading: refuse(text, alternatives(Object.keys(meanings))), place: name }
  }
  return meanings[word] === undefined ? undefined : { reading: { value: meanings[word] }, place: name }
}

const RESOURCE = 'OTEL_RESOURCE_ATTRIBUTES'

function serviceName(env: Environment): OtelOffer | undefined {
  const named = variable(env, 'OTEL_SERVICE_NAME')
  if (named !== undefined) return { reading: { value: named }, place: 'OTEL_SERVICE_NAME' }
  const value = parsePairs(variable(env, RESOURCE) ?? '').pairs['service.name']?.trim()
  return value ? { reading: { value }, place: RESOURCE } : undefined
}

function resourceAttributes(env: Environment, _below: unknown, site: Site): OtelOffer | undefined {
  const text = variable(env, RESOURCE)
  if (text === undefined) return undefined
  // The name of the service is a key of its own; left in here it would win over OTEL_SERVICE_NAME.
  const { 'service.name': _service, ...value } = readPairs(text, { ...site, place: () => RESOURCE })
  return { reading: { value }, place: RESOURCE }
}

const SAMPLERS: Readonly<Record<string, number | 'ratio'>> = {
  always_on: 1,
  always_off: 0,
  traceidratio: 'ratio',
  parentbased_always_on: 1,
  parentbased_always_off: 0,
  parentbased_traceidratio: 'ratio',
}

function sampleRate(env: Environment): OtelOffer | undefined {
  const offer = wordOffer(env, 'OTEL_TRACES_SAMPLER', SAMPLERS)
  if (!offer || !('value' in offer.reading) || offer.reading.value !== 'ratio') return offer
  const ratio = variable(env, 'OTEL_TRACES_SAMPLER_ARG')
  return ratio === undefined
    ? { ...offer, reading: { value: 1 } }
    : { reading: readNumber(ratio, { min: 0, max: 1 }), place: 'OTEL_TRACES_SAMPLER_ARG' }
}

function prometheusAddress(env: Environment, _below: unknown, site: Site): OtelOffer | undefined {
  if (!exporterNames(env, 'METRICS')?.includes('prometheus')) return undefined
  const host = variable(env, 'OTEL_EXPORTER_PROMETHEUS_HOST')
  const port = variable(env, 'OTEL_EXPORTER_PROMETHEUS_PORT')
  const reading = readPrometheus({ host, port }, site)
  return { reading, place: 'value' in reading ? 'OTEL_METRICS_EXPORTER' : 'OTEL_EXPORTER_PROMETHEUS_PORT' }
}

/** The words of `OTEL_<SIGNAL>_EXPORTER`; undefined when it is not set. */
export function exporterNames(env: Environment, signal: 'TRACES' | 'METRICS' | 'LOGS'): readonly string[] | undefined {
  return variable(env, `OTEL_${signal}_EXPORTER`)
    ?.toLowerCase()
    .split(',')
    .map(name => name.trim())
}

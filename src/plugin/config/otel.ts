import { readBackends } from './backends.ts'
import { KEY_ROWS, type KeyName } from './keys.ts'
import { type Environment, variable } from './paths.ts'
import { emptyMap, type Plain } from './plain.ts'
import { readValue } from './read-value.ts'
import { alternatives, type ReadResult, refuse, report, type Site } from './reading.ts'
import { readInteger, readNumber, readPairs, readPrometheus } from './values.ts'

export interface OtelOffer {
  readonly reading: ReadResult
  readonly place: string
}

/** Reads a key from OpenTelemetry's own variables. Undefined if they do not set it. */
export function otelOffer(key: KeyName, below: unknown, site: Site): OtelOffer | undefined {
  const special = SPECIAL[key]
  if (special) return special(site)
  const [name] = KEY_ROWS[key].otel ?? []
  if (name === undefined) return undefined
  if (name === LENGTH_LIMIT) return lengthLimit(key, site.env, below)
  const reading = readValue(KEY_ROWS[key], variable(site.env, name), { ...site, place: () => name })
  return reading && { reading, place: name }
}

const LENGTH_LIMIT = 'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'

// The limit lowers a key's value and never raises it. If it is invalid, only one of the keys reports it.
function lengthLimit(key: KeyName, env: Environment, below: unknown): OtelOffer | undefined {
  const text = variable(env, LENGTH_LIMIT)
  if (text === undefined) return undefined
  const reading = readInteger(text, { min: 1 })
  if ('reason' in reading) return key === 'content_max_chars' ? { reading, place: LENGTH_LIMIT } : undefined
  return typeof below === 'number' && below > reading.value ? { reading, place: LENGTH_LIMIT } : undefined
}

const SPECIAL: { readonly [Key in KeyName]?: (site: Site) => OtelOffer | undefined } = {
  backends: otelBackends,
  enabled: ({ env }) => wordOffer(env, 'OTEL_SDK_DISABLED', { true: false, false: undefined }),
  content_capture: ({ env }) =>
    wordOffer(env, 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', {
      true: 'full',
      span_only: 'full',
      span_and_event: 'full',
      // Content on events only means none on spans, and we only record spans.
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
  if (!Object.hasOwn(meanings, word)) return { reading: refuse(text, alternatives(Object.keys(meanings))), place: name }
  return meanings[word] === undefined ? undefined : { reading: { value: meanings[word] }, place: name }
}

const RESOURCE = 'OTEL_RESOURCE_ATTRIBUTES'

function serviceName({ env }: Site): OtelOffer | undefined {
  const named = variable(env, 'OTEL_SERVICE_NAME')
  if (named !== undefined) return { reading: { value: named }, place: 'OTEL_SERVICE_NAME' }
  const value = readPairs(variable(env, RESOURCE) ?? '')['service.name']?.trim()
  return value ? { reading: { value }, place: RESOURCE } : undefined
}

function resourceAttributes(site: Site): OtelOffer | undefined {
  const text = variable(site.env, RESOURCE)
  if (text === undefined) return undefined
  // The service name is a key of its own. If it stayed here, it would win over OTEL_SERVICE_NAME.
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

function sampleRate({ env }: Site): OtelOffer | undefined {
  const offer = wordOffer(env, 'OTEL_TRACES_SAMPLER', SAMPLERS)
  if (!offer || !('value' in offer.reading) || offer.reading.value !== 'ratio') return offer
  const ratio = variable(env, 'OTEL_TRACES_SAMPLER_ARG')
  return ratio === undefined
    ? { ...offer, reading: { value: 1 } }
    : { reading: readNumber(ratio, { min: 0, max: 1 }), place: 'OTEL_TRACES_SAMPLER_ARG' }
}

function prometheusAddress(site: Site): OtelOffer | undefined {
  const { env } = site
  if (!exporterNames(env, 'METRICS')?.includes('prometheus')) return undefined
  const host = variable(env, 'OTEL_EXPORTER_PROMETHEUS_HOST')
  const port = variable(env, 'OTEL_EXPORTER_PROMETHEUS_PORT')
  const reading = readPrometheus({ host, port }, site)
  return { reading, place: 'value' in reading ? 'OTEL_METRICS_EXPORTER' : 'OTEL_EXPORTER_PROMETHEUS_PORT' }
}

function exporterNames(env: Environment, signal: SignalName): readonly string[] | undefined {
  const names = variable(env, `OTEL_${signal}_EXPORTER`)?.toLowerCase()
  return names?.split(',').map(name => name.trim())
}

const SIGNALS = ['TRACES', 'METRICS', 'LOGS'] as const
type SignalName = (typeof SIGNALS)[number]

interface Draft {
  readonly fields: Record<string, Plain>
  readonly places: Record<string, string>
}

/**
 * Reads `OTEL_EXPORTER_OTLP_*` and `OTEL_<SIGNAL>_EXPORTER` as backends. Signals with the same settings share one `otlp`
 * backend. A signal without a configured address is not sent.
 */
function otelBackends(site: Site): OtelOffer | undefined {
  warnAboutExporters(site)
  const drafts = otlpDrafts(site.env)
  if (exporterNames(site.env, 'TRACES')?.includes('console'))
    drafts.push({ fields: { type: 'console' }, places: { type: 'OTEL_TRACES_EXPORTER' } })
  const [first] = drafts
  if (!first) return undefined
  const place = (path: string): string => {
    const [, index = '0', field = ''] = /\[(\d+)\]\.?([a-z_]*)/.exec(path) ?? []
    return drafts[Number(index)]?.places[field] ?? first.places['type'] ?? 'environment'
  }
  const fields = drafts.map(draft => draft.fields)
  return { reading: readBackends(fields, { ...site, place }), place: place('[0].type') }
}

function otlpDrafts(env: Environment): Draft[] {
  const [traces, metrics, told] = SIGNALS.map(signal => otlpDraft(env, signal))
  // Logs must be requested by name: the general address may be a backend that does not accept logs.
  const isNamed = exporterNames(env, 'LOGS')?.includes('otlp') === true
  const logs = isNamed || variable(env, 'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT') !== undefined ? told : undefined
  const together = traces !== undefined && metrics !== undefined && transportOf(traces) === transportOf(metrics)
  const drafts = [traces, together ? undefined : metrics].filter(draft => draft !== undefined)
  for (const draft of drafts) {
    draft.fields['traces'] = draft === traces
    draft.fields['metrics'] = together || draft === metrics
    draft.fields['logs'] = logs !== undefined && transportOf(draft) === transportOf(logs)
  }
  if (traces && metrics && !together) metrics.fields['name'] = 'otlp-metrics'
  if (logs === undefined || drafts.some(({ fields }) => fields['logs'])) return drafts
  Object.assign(logs.fields, { traces: false, metrics: false, logs: true }, drafts.length > 0 && { name: 'otlp-logs' })
  return [...drafts, logs]
}

const FIELDS = 'endpoint protocol compression timeout_ms certificate client_certificate client_key'.split(' ')

function otlpDraft(env: Environment, signal: SignalName): Draft | undefined {
  const exporters = exporterNames(env, signal)
  if (exporters && !exporters.includes('otlp')) return undefined
  const draft: Draft = { fields: emptyMap<Plain>(), places: emptyMap<string>() }
  for (const field of FIELDS) {
    const suffix = field.replace('_ms', '').toUpperCase()
    const both = [`OTEL_EXPORTER_OTLP_${signal}_${suffix}`, `OTEL_EXPORTER_OTLP_${suffix}`]
    const found = both.find(name => variable(env, name))
    if (found) put(draft, field, variable(env, found), found)
  }
  putExactness(draft, signal)
  // The headers of the signal come last, so that they win over the general ones, name by name.
  const all = ['OTEL_EXPORTER_OTLP_HEADERS', `OTEL_EXPORTER_OTLP_${signal}_HEADERS`]
  const names = all.filter(name => variable(env, name))
  if (names.length > 0) put(draft, 'headers', names.map(name => variable(env, name)).join(), names.join(', '))
  put(draft, 'temporality', variable(env, TEMPORALITY), TEMPORALITY)
  if (draft.fields['endpoint'] === undefined && !exporters) return undefined
  put(draft, 'type', 'otlp', draft.places['endpoint'] ?? `OTEL_${signal}_EXPORTER`)
  return draft
}

/**
 * Marks a signal's own address as exact, as the specification requires. The general one is a base. An address with the
 * standard path need not be exact, so `…/v1/traces` and `…/v1/metrics` can become one backend.
 */
function putExactness(draft: Draft, signal: SignalName): void {
  const place = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`
  if (draft.places['endpoint'] !== place) return
  const path = String(draft.fields['endpoint'])
    .replace(/[?#].*$/, '')
    .replace(/\/+$/, '')
  if (!path.endsWith(`/v1/${signal.toLowerCase()}`)) put(draft, 'exact_endpoint', true, place)
}

const TEMPORALITY = 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE'

function put(draft: Draft, field: string, value: Plain, place: string): void {
  if (value === undefined) return
  draft.fields[field] = value
  draft.places[field] = place
}

function transportOf({ fields }: Draft): string {
  const endpoint = String(fields['endpoint'])
  const address = fields['exact_endpoint']
    ? endpoint
    : endpoint.replace(/\/+$/, '').replace(/\/v1\/(traces|metrics|logs)$/, '')
  const { endpoint: _url, traces: _t, metrics: _m, logs: _l, name: _n, ...rest } = fields
  return JSON.stringify([address, Object.entries(rest).sort()])
}

function warnAboutExporters(site: Site): void {
  const known = { TRACES: ['otlp', 'console', 'none'], METRICS: ['otlp', 'prometheus', 'none'] } as const
  for (const signal of ['TRACES', 'METRICS'] as const) {
    const words: readonly string[] = known[signal]
    for (const name of exporterNames(site.env, signal)?.filter(each => !words.includes(each)) ?? [])
      report(
        { ...site, place: () => `OTEL_${signal}_EXPORTER` },
        refuse(name, alternatives(words)).reason,
        'ignoring it',
      )
  }
}

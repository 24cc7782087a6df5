import { createHash } from 'node:crypto'
import type { BackendConfig, OtlpProtocol, Temporality } from '../backends/backend-config.ts'
import { parseHttpUrl } from '../backends/http-url.ts'
import { BACKENDS, type BackendRow, backendRow, type Options, type ReadBack } from '../backends/rows.ts'
import type { Signal } from './delivery.ts'
import type { BackendFacts } from './delivery-report.ts'
import { CONTENT_TYPES } from './otlp-sinks.ts'

const SIGNALS = ['traces', 'metrics', 'logs'] as const
const DESTINATION_CHARS = 16
const THIS_MACHINE = /^(https?:\/\/)(?:localhost|\[::1\])(?=[:/]|$)/i

export interface BackendPlan {
  readonly settings: BackendConfig
  readonly row: BackendRow
  readonly options: Options
  readonly protocol: OtlpProtocol
  readonly urls: Readonly<Partial<Record<Signal, string>>>
  readonly traces: boolean
  readonly metrics: boolean
  readonly logs: boolean
  readonly temporality: Temporality
  readonly headers: Readonly<Record<string, string>>
  readonly resource: Readonly<Record<string, string>>
  readonly facts: BackendFacts
}

export type BackendPlanResult =
  | { readonly ok: true; readonly plan: BackendPlan; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problem: string }

export function planBackend(settings: BackendConfig): BackendPlanResult {
  const row = backendRow(settings.type)
  if (!row) return off(settings, `type "${settings.type}" is not known. Known: ${Object.keys(BACKENDS).join(', ')}`)
  const options = withDefaults(row, settings.options)
  const missing = Object.keys(row.options).find(key => row.options[key]?.required && !options[key])
  if (missing !== undefined) {
    const key = row.options[missing]?.secret ? `${missing}, or ${missing}_env to the name of a variable` : missing
    return off(settings, `${missing} is missing. Set ${key}`)
  }
  const endpoint = settings.endpoint ?? defaultEndpoint(row, options, protocolOf(settings, row))
  if (row.transport === 'http') {
    if (endpoint === undefined) return off(settings, 'endpoint is missing or cannot be derived. Set endpoint')
    if (!parseHttpUrl(endpoint)) return off(settings, 'endpoint is not a URL. It starts with http:// or https://')
  }
  return { ok: true, plan: assemble(settings, row, options, endpoint), warnings: warnings(settings, row) }
}

function assemble(settings: BackendConfig, row: BackendRow, options: Options, endpoint?: string): BackendPlan {
  const protocol = protocolOf(settings, row)
  const isSent = {
    traces: settings.traces ?? row.traces,
    metrics: settings.metrics ?? (row.metrics || options['metrics_path'] !== undefined),
    logs: settings.logs === true && row.logs,
  }
  const isExact = settings.exact_endpoint === true && settings.endpoint !== undefined
  const form = protocol === 'grpc' ? originUrl : isExact ? exactUrl : signalUrl
  const base = row.transport === 'http' ? endpoint : undefined
  const signals = base === undefined ? [] : SIGNALS.filter(signal => isSent[signal])
  const urls = Object.fromEntries(signals.map(signal => [signal, base && form(base, signal)]))
  const headers = { ...mergeHeaders(row.headers(options), settings.headers), 'content-type': CONTENT_TYPES[protocol] }
  const resource = present(row.resource?.(options) ?? {})
  const temporality = settings.temporality ?? row.temporality ?? 'cumulative'
  const byCommand = settings.headers_command && 'headers_command to a program that prints valid ones'
  const { name, type } = settings
  const credentials = byCommand ?? credentialNames(row)
  const usualEndpoint = defaultEndpoint(row, withDefaults(row, {}), protocol)
  const facts = { name, type, urls, isExact, protocol, credentials, defaultEndpoint: usualEndpoint }
  return { settings, row, options, protocol, urls, ...isSent, temporality, headers, resource, facts }
}

function protocolOf({ protocol }: BackendConfig, row: BackendRow): OtlpProtocol {
  const isImpossible = row.onlyProtocol || (protocol === 'grpc' && !row.grpcEndpoint)
  return isImpossible ? row.protocol : (protocol ?? row.protocol)
}

function defaultEndpoint(row: BackendRow, options: Options, protocol: OtlpProtocol): string | undefined {
  return protocol === 'grpc' ? row.grpcEndpoint?.(options) : row.endpoint(options)
}

function warnings(settings: BackendConfig, row: BackendRow): readonly string[] {
  const { name, type, protocol, logs } = settings
  const isIgnored = protocol !== undefined && protocol !== protocolOf(settings, row)
  const takes = row.onlyProtocol ? `takes ${row.protocol} only` : 'has no OTLP over gRPC'
  return [
    ...(isIgnored ? [`backend ${name}: ${type} ${takes}; protocol: ${protocol} is ignored`] : []),
    ...(logs && !row.logs ? [`backend ${name}: ${type} is sent no logs; logs: true is ignored`] : []),
  ]
}

function mergeHeaders(...sets: readonly Readonly<Record<string, string | undefined>>[]): Record<string, string> {
  // A key read from a file often ends in a line break, which is invalid in a header.
  const entries = sets.flatMap(set => Object.entries(present(set)))
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value.trim()]))
}

function withDefaults(row: BackendRow, given: Readonly<Record<string, string>>): Options {
  const options: Record<string, string | undefined> = { ...given }
  for (const [key, option] of Object.entries(row.options)) options[key] = given[key] || option.default
  return options
}

function present(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

function credentialNames(row: BackendRow): string {
  const secrets = Object.keys(row.options).filter(key => row.options[key]?.secret)
  if (secrets.length === 0) return 'headers'
  return `${secrets.join(' and ')} (or ${secrets.map(key => `${key}_env`).join(' and ')})`
}

function off(settings: BackendConfig, what: string): BackendPlanResult {
  return { ok: false, problem: `backend ${settings.name} is off: ${what}` }
}

/** Equal for the same name and address. Hashed, because an address may hold a key and this is stored in the trace log. */
export function destinationOf({ settings, urls, options }: BackendPlan): string {
  const url = urls.traces?.replace(THIS_MACHINE, (_whole, scheme: string) => `${scheme}127.0.0.1`)
  const address = url ?? options['path'] ?? ''
  return createHash('sha256').update(`${settings.name}\n${address}`).digest('hex').slice(0, DESTINATION_CHARS)
}

const SIGNAL_PATH = /\/v1\/(?:traces|metrics|logs)$/

function basePath(url: URL): string {
  return url.pathname.replace(/\/+$/, '').replace(SIGNAL_PATH, '')
}

/** Accepts the URL of any signal: `http://host:4318` -> `http://host:4318/v1/traces`. Undefined unless http or https. */
export function signalUrl(endpoint: string, signal: Signal): string | undefined {
  const url = parseHttpUrl(endpoint)
  if (!url) return undefined
  url.pathname = `${basePath(url)}/v1/${signal}`
  return url.href
}

/** gRPC has no path of its own: `http://host:4317/v1/traces` -> `http://host:4317/`. */
function originUrl(endpoint: string): string | undefined {
  const url = parseHttpUrl(endpoint)
  return url && `${url.origin}/`
}

export function exactUrl(endpoint: string): string | undefined {
  return parseHttpUrl(endpoint)?.href
}

/** The endpoint without the signal's path, query, credentials and trailing slash. */
export function baseUrl(endpoint: string): string | undefined {
  const url = parseHttpUrl(endpoint)
  return url && `${url.origin}${basePath(url)}`
}

export interface TraceLinks {
  readonly view?: string
  readonly readBack?: ReadBackRequest
}

export interface ReadBackRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly found: ReadBack['found']
}

/** The UI address of one trace and the request that reads it back. Empty if the backend is misconfigured. */
export function traceLinks(settings: BackendConfig, traceId: string, projectName?: string): TraceLinks {
  const planned = planBackend(settings)
  if (!planned.ok) return {}
  const { plan } = planned
  const fill = (template: string): string => filled(template, placeholders(plan, traceId, projectName))
  const { traceView, readBack } = plan.row
  return {
    ...(traceView && { view: fill(traceView) }),
    ...(readBack && { readBack: readBackRequest(plan, readBack, fill) }),
  }
}

function readBackRequest(plan: BackendPlan, readBack: ReadBack, fill: (template: string) => string): ReadBackRequest {
  const { 'content-type': _ofThePost, ...headers } = plan.headers
  return { url: fill(readBack.url), headers: readBack.authenticated ? headers : {}, found: readBack.found }
}

function placeholders(plan: BackendPlan, traceId: string, projectName: string | undefined): Record<string, string> {
  const base = baseUrl(plan.urls.traces ?? plan.urls.metrics ?? '') ?? ''
  const values: Record<string, string> = { project: projectName ?? 'default' }
  for (const [key, option] of Object.entries(plan.options)) {
    if (option !== undefined && !plan.row.options[key]?.secret) values[key] = option
  }
  return { ...values, base, hostname: base && new URL(base).hostname, trace_id: traceId }
}

function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = values[name] ?? ''
    return name === 'base' || name === 'base_url' ? value.replace(/\/+$/, '') : encodeURIComponent(value)
  })
}

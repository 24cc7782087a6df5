import { type FedSpan, spansOfLines } from '../workload/fed-span.ts'

const PATIENCE_MILLIS = 60_000
/** More than the workload has. */
const ALL_TRACES = 5_000
const DAY_MILLIS = 24 * 3_600_000

/** A span as Jaeger's own page gets it. Times are microseconds. */
export interface PageSpan {
  readonly traceID: string
  readonly spanID: string
  readonly operationName: string
  readonly references: readonly { readonly refType: string; readonly traceID: string; readonly spanID: string }[]
  readonly startTime: number
  readonly duration: number
  readonly tags: readonly { readonly key: string; readonly type: string; readonly value: string | number | boolean }[]
  readonly logs: readonly { readonly timestamp: number; readonly fields: PageSpan['tags'] }[]
  readonly processID: string
  readonly warnings: readonly string[] | null
}

export interface PageTrace {
  readonly traceID: string
  readonly spans: readonly PageSpan[]
  readonly processes: Readonly<Record<string, { readonly serviceName: string; readonly tags: PageSpan['tags'] }>>
  readonly warnings: readonly string[] | null
}

/** Asks a Jaeger for what it has, by both of its APIs. */
export class JaegerQuery {
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  async services(): Promise<readonly string[]> {
    // Of none it says null.
    return (await this.#data<readonly string[] | null>('/api/services')) ?? []
  }

  operations(service: string): Promise<readonly string[]> {
    return this.#data<readonly string[]>(`/api/services/${encodeURIComponent(service)}/operations`)
  }

  /** All spans of a service, as OTLP. `raw`: as they were stored, without what Jaeger puts right when it answers. */
  async spans(service: string, { raw = false }: { readonly raw?: boolean } = {}): Promise<readonly FedSpan[]> {
    const query = {
      'query.service_name': service,
      'query.start_time_min': new Date(Date.now() - DAY_MILLIS).toISOString(),
      'query.start_time_max': new Date(Date.now() + DAY_MILLIS).toISOString(),
      'query.num_traces': String(ALL_TRACES),
      'query.raw_traces': String(raw),
    }
    return otlpSpans(await this.#get(`/api/v3/traces?${new URLSearchParams(query)}`))
  }

  /** The spans of one trace, as OTLP; none where it is not known. */
  async trace(traceId: string, { raw = false }: { readonly raw?: boolean } = {}): Promise<readonly FedSpan[]> {
    return otlpSpans(await this.#get(`/api/v3/traces/${traceId}?raw_traces=${raw}`))
  }

  /** What the page is given for a trace. */
  async pageTrace(traceId: string): Promise<PageTrace> {
    const [trace] = await this.#data<readonly PageTrace[]>(`/api/traces/${traceId}`)
    if (trace === undefined) throw new Error(`there is no trace ${traceId}`)
    return trace
  }

  /** The search of the page. */
  find(query: Readonly<Record<string, string>>): Promise<readonly PageTrace[]> {
    const asked = new URLSearchParams({ limit: String(ALL_TRACES), lookback: '1d', ...lastDay(), ...query })
    return this.#data<readonly PageTrace[]>(`/api/traces?${asked}`)
  }

  async #data<Data>(path: string): Promise<Data> {
    const answer = await this.#get(path)
    if (answer === undefined) throw new Error(`${path} is not there`)
    const { data, errors } = answer as { data: Data; errors: unknown }
    if (errors) throw new Error(`${path}: ${JSON.stringify(errors)}`)
    return data
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(this.#url + path, { signal: AbortSignal.timeout(PATIENCE_MILLIS) })
    const body = await response.text()
    if (response.status === 404) return undefined
    if (!response.ok) throw new Error(`${path}: ${response.status} ${body.slice(0, 500)}`)
    return JSON.parse(body)
  }
}

function otlpSpans(answer: unknown): FedSpan[] {
  if (answer === undefined) return []
  return spansOfLines(JSON.stringify((answer as { result: object }).result))
}

function lastDay(): { readonly start: string; readonly end: string } {
  const micros = (millis: number): string => String(millis * 1000)
  return { start: micros(Date.now() - DAY_MILLIS), end: micros(Date.now() + DAY_MILLIS) }
}

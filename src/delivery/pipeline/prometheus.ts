import { EventEmitter } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import type { MetricData, MetricReader, ResourceMetrics } from '@opentelemetry/sdk-metrics'
import type { PrometheusAddress } from '../backends/backend-config.ts'
import { http, prometheusExporter, untraced } from './sdk.ts'
import type { Reporter } from './settings.ts'

/** Far above real use: Prometheus gives a scrape 10 s, too, and labels are limited far below. */
const LIMITS: ScrapeLimits = { connections: 16, series: 50_000, clientMillis: 10_000 }

function describe({ host, port }: PrometheusAddress, { code = 'unknown' }: NodeJS.ErrnoException): string {
  const why = WHY[code] ?? 'the server failed'
  return `prometheus: nothing is served at http://${host}:${port}/metrics: ${why} (${code}); all other export goes on`
}

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'the port is in use, probably by another agent process. Set another prometheus.port, or push metrics to a backend',
  EACCES: 'the port may not be opened. Set a prometheus.port above 1023',
  EADDRNOTAVAIL: 'this machine has no such address. Correct prometheus.host',
  ENOTFOUND: 'the host is not known. Correct prometheus.host',
}

export interface ScrapeLimits {
  readonly connections: number
  readonly series: number
  readonly clientMillis: number
}

const MAX_SERVED_ANSWERS = 2

interface ScrapeResponse {
  readonly pieces: Promise<readonly Buffer[]>
  isBuilt: boolean
  clients: number
}

/**
 * Serves the metrics for scraping at `/metrics`. We use our own server instead of the exporter's for these reasons:
 * - a connection that a scraper keeps open must not hold the process;
 * - a port in use is reported in one line;
 * - an unknown client can neither block the host nor fill its memory.
 *
 * Concurrent clients share one text, built and written in pieces. A client that does not read is disconnected.
 */
export class PrometheusEndpoint {
  readonly reader: MetricReader
  readonly #server: Server
  readonly #limits: ScrapeLimits
  readonly #report: Reporter
  readonly #warned = new Set<string>()
  readonly #served = new Set<ScrapeResponse>()
  readonly #busy = new WeakSet<object>()
  #newest: ScrapeResponse | undefined

  constructor(address: PrometheusAddress, report: Reporter, limits: ScrapeLimits = LIMITS) {
    const { connections, clientMillis } = limits
    this.reader = new (prometheusExporter().PrometheusExporter)({ preventServerStart: true })
    this.#limits = limits
    this.#report = report
    this.#server = http().createServer(
      { headersTimeout: clientMillis, requestTimeout: clientMillis, connectionsCheckingInterval: clientMillis / 2 },
      (request, response) => this.#handleRequest(request, response),
    )
    this.#server.maxConnections = connections
    // Instrumentation usually patches `emit` on the prototype of HTTP servers. A scrape is not a request to the host.
    Object.assign(this.#server, { emit: EventEmitter.prototype.emit })
    this.#server.on('connection', socket => socket.unref())
    const tooMany = `more than ${connections} clients at once; further ones are rejected`
    this.#server.on('drop', () => this.#warnOnce('drop', tooMany))
    this.#server.on('error', error => report.warn(describe(address, error)))
    untraced(() => this.#server.listen(address.port, address.host).unref())
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #handleRequest(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    if (this.#busy.has(socket)) return void socket.destroy()
    this.#busy.add(socket)
    response.once('close', () => this.#busy.delete(socket))
    const isScrape = request.method === 'GET' && request.url?.split('?')[0] === '/metrics'
    if (isScrape) void this.#answer(response)
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('metrics are at /metrics\n')
  }

  #warnOnce(cause: string, line: string): void {
    if (this.#warned.has(cause)) return
    this.#warned.add(cause)
    this.#report.warn(`prometheus: ${line}`)
  }

  async #answer(response: ServerResponse): Promise<void> {
    const answer = this.#current()
    answer.clients += 1
    try {
      await this.#send(response, await answer.pieces)
    } catch {
      if (!response.headersSent)
        response.writeHead(503, { 'content-type': 'text/plain' }).end('the metrics cannot be collected\n')
    } finally {
      answer.clients -= 1
      if (answer.clients === 0) this.#served.delete(answer)
    }
  }

  /** Returns a new response, unless one is being built or slow clients hold the maximum number. */
  #current(): ScrapeResponse {
    const newest = this.#newest
    const isFull = this.#served.size >= MAX_SERVED_ANSWERS
    if (newest && this.#served.has(newest) && (!newest.isBuilt || isFull)) return newest
    const answer: ScrapeResponse = { pieces: this.#build(), isBuilt: false, clients: 0 }
    const built = (): unknown => Object.assign(answer, { isBuilt: true })
    answer.pieces.then(built, built)
    this.#served.add(answer)
    this.#newest = answer
    return answer
  }

  async #build(): Promise<Buffer[]> {
    const { resourceMetrics } = await this.reader.collect()
    const text = prometheusText(resourceMetrics, this.#limits.series)
    const pieces: Buffer[] = []
    let next = text.next()
    for (; !next.done; next = text.next()) {
      pieces.push(Buffer.from(next.value))
      await setImmediate()
    }
    this.#warnOmitted(next.value)
    return pieces
  }

  async #send(response: ServerResponse, pieces: readonly Buffer[]): Promise<void> {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': length })
    const { clientMillis } = this.#limits
    const deadline = setTimeout(() => {
      response.destroy()
      this.#warnOnce('slow', `a client that had not read its answer after ${clientMillis / 1000} s was cut off`)
    }, clientMillis).unref()
    await pipeline(Readable.from(pieces), response).finally(() => clearTimeout(deadline))
  }

  #warnOmitted(leftOut: readonly OmittedSeries[]): void {
    if (leftOut.length === 0) return
    const labelSets = leftOut.reduce((sum, left) => sum + left.labelSets, 0)
    const names = leftOut.map(({ metric }) => metric).join(', ')
    const room = `it has room for ${this.#limits.series} series. A backend gets all of them`
    this.#warnOnce('series', `${labelSets} label sets are left out of what is scraped (${names}): ${room}`)
  }
}

/** Series per piece: about a millisecond of work, after which the event loop runs. */
export const PIECE_SERIES = 100

export interface OmittedSeries {
  readonly metric: string
  readonly labelSets: number
}

/**
 * The response to a scrape in pieces. The text is that of the official serializer, which gets a few label sets at a time:
 * for all of them at once it would block long enough for an agent to notice. Label sets beyond `maxSeries` are left out.
 * Histograms are left out first, because each is as many series as it has buckets. The end of the text lists them.
 * @returns the label sets that were left out
 */
export function* prometheusText(
  { resource, scopeMetrics }: ResourceMetrics,
  maxSeries: number,
): Generator<string, readonly OmittedSeries[]> {
  const official = new (prometheusExporter().PrometheusSerializer)('', false, undefined, true)
  const leftOut: OmittedSeries[] = []
  let room = maxSeries
  yield targetInfo(resource)
  const all = scopeMetrics.flatMap(({ scope, metrics }) => metrics.map(metric => ({ scope, metric })))
  const isMultiple = ({ metric }: { readonly metric: MetricData }): number => Number(seriesOf(metric) > 1)
  for (const { scope, metric } of all.sort((one, other) => isMultiple(one) - isMultiple(other))) {
    const each = seriesOf(metric)
    const points = metric.dataPoints.slice(0, Math.floor(room / each))
    room -= points.length * each
    const missing = metric.dataPoints.length - points.length
    if (missing > 0) leftOut.push({ metric: metric.descriptor.name, labelSets: missing })
    const step = Math.max(1, Math.floor(PIECE_SERIES / each))
    for (let at = 0; at === 0 || at < points.length; at += step) {
      const some = { ...metric, dataPoints: points.slice(at, at + step) } as MetricData
      const text = official.serialize({ resource, scopeMetrics: [{ scope, metrics: [some] }] })
      yield at === 0 ? text : withoutHead(text)
    }
  }
  for (const { metric, labelSets } of leftOut) yield `# left out of ${metric}: ${labelSets} label sets\n`
  return leftOut
}

/** For a resource without metrics the serializer adds a line that says so, which is removed. */
function targetInfo(resource: ResourceMetrics['resource']): string {
  const official = new (prometheusExporter().PrometheusSerializer)()
  const text = official.serialize({ resource, scopeMetrics: [] })
  return text.slice(0, text.lastIndexOf('\n') + 1)
}

/** Series per label set. A histogram has one per bucket, plus the unbounded bucket, the sum and the count. */
function seriesOf({ dataPoints: [first] }: MetricData): number {
  if (typeof first?.value !== 'object' || !('buckets' in first.value)) return 1
  return first.value.buckets.boundaries.length + 3
}

function withoutHead(text: string): string {
  let from = 0
  while (text.startsWith('# ', from)) from = text.indexOf('\n', from) + 1
  return text.slice(from)
}

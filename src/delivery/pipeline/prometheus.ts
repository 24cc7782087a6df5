import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import type { MetricReader } from '@opentelemetry/sdk-metrics'
import type { PrometheusAddress } from '../backends/backend-config.ts'
import { type ScrapeLimits, ScrapeServer } from './scrapes.ts'
import { http, prometheusExporter, untraced } from './sdk.ts'
import type { Reporter } from './settings.ts'

export interface PrometheusEndpoint {
  readonly reader: MetricReader
  close(): void
}

/** Far above real use: Prometheus gives a scrape 10 s, too, and labels are limited far below. */
const LIMITS: ScrapeLimits = { connections: 16, series: 50_000, clientMillis: 10_000 }

/**
 * Serves the metrics for scraping at `/metrics`. We use our own server instead of the exporter's for these reasons:
 * - a connection that a scraper keeps open must not hold the process;
 * - a port in use is reported in one line;
 * - an unknown client can neither block the host nor fill its memory.
 */
export function openPrometheus(
  settings: PrometheusAddress,
  report: Reporter,
  limits: ScrapeLimits = LIMITS,
): PrometheusEndpoint {
  const { connections, clientMillis } = limits
  const reader = new (prometheusExporter().PrometheusExporter)({ preventServerStart: true })
  const scrapes = new ScrapeServer(reader, limits, report)
  const server = http().createServer(
    { headersTimeout: clientMillis, requestTimeout: clientMillis, connectionsCheckingInterval: clientMillis / 2 },
    (request, response) => scrapes.handleRequest(request, response),
  )
  server.maxConnections = connections
  // Instrumentation of HTTP servers usually patches `emit` on the prototype of the server. A scrape is not a request to the
  // host.
  Object.assign(server, { emit: EventEmitter.prototype.emit })
  server.on('connection', socket => socket.unref())
  server.on('drop', () => scrapes.warnOnce('drop', `more than ${connections} clients at once; further ones are turned away`))
  server.on('error', error => report.warn(describe(settings, error)))
  untraced(() => server.listen(settings.port, settings.host).unref())
  return { reader, close: () => closeServer(server) }
}

function closeServer(server: Server): void {
  server.close()
  server.closeAllConnections()
}

function describe({ host, port }: PrometheusAddress, error: NodeJS.ErrnoException): string {
  const code = error.code ?? 'unknown'
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

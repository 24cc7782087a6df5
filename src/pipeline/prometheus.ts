import { EventEmitter } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { MetricReader } from '@opentelemetry/sdk-metrics'
import { http, prometheusExporter, untraced } from './sdk.ts'
import type { PrometheusSettings, Report } from './settings.ts'

export interface PrometheusEndpoint {
  readonly reader: MetricReader
  close(): void
}

/**
 * Serves the metrics for scraping at `/metrics`. The server is ours rather than the exporter's: a connection that a
 * scraper keeps open must not hold the process, and a port that is taken is said in one line.
 */
export function openPrometheus(settings: PrometheusSettings, report: Report): PrometheusEndpoint {
  const exporter = new (prometheusExporter().PrometheusExporter)({ preventServerStart: true })
  const server = http().createServer((request, response) => {
    if (isScrape(request)) exporter.getMetricsRequestHandler(request, response)
    else refuse(response)
  })
  // Of what watches the requests that a process serves, most waits at `emit` of the prototype: a scrape is none of the host's.
  Object.assign(server, { emit: EventEmitter.prototype.emit })
  server.on('connection', socket => socket.unref())
  server.on('error', error => report.warn(describe(settings, error)))
  untraced(() => server.listen(settings.port, settings.host).unref())
  return { reader: exporter, close: () => closeServer(server) }
}

function isScrape(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.url?.split('?')[0] === '/metrics'
}

function refuse(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain' }).end('metrics are at /metrics\n')
}

function closeServer(server: Server): void {
  server.close()
  server.closeAllConnections()
}

function describe({ host, port }: PrometheusSettings, error: NodeJS.ErrnoException): string {
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

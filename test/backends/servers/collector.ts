import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { yaml } from '../../observability/stack-files.ts'
import { freePorts } from '../support/free-port.ts'
import { installedPath } from '../support/installed.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

export interface CollectorServer {
  /** The `endpoint` of a backend. */
  readonly otlpUrl: string
  /** The `endpoint` of a backend with `protocol: grpc`. */
  readonly grpcUrl: string
  /** What Prometheus scrapes, `host:port`. */
  readonly metricsAddress: string
  readonly log: string
  stop(): Promise<void>
}

/** Where the collector hands traces on to; and log events, instead of counting them. */
export interface Sinks {
  readonly jaeger: string
  readonly phoenix: string
  readonly logs?: string
}

interface Endpoint {
  endpoint: string
}

interface Configuration {
  extensions: { health_check: Endpoint }
  receivers: { otlp: { protocols: { grpc: Endpoint; http: Endpoint } } }
  exporters: {
    'otlp_http/jaeger': Endpoint
    'otlp_http/phoenix': Endpoint
    prometheus: Endpoint
    [name: string]: object
  }
  service: { pipelines: { logs: { exporters: string[] } } }
}

/** The collector with the configuration of the compose file. Only addresses are ours, and that it serves nothing of its own. */
export async function startCollector(sinks: Sinks): Promise<CollectorServer> {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-collector-'))
  const [grpc = 0, http = 0, metrics = 0, health = 0] = await freePorts(4)
  const config = join(folder, 'collector.yaml')
  writeFileSync(config, stringify(configurationOf(sinks, { grpc, http, metrics, health })))
  const server = await startServer({
    program: installedPath('collector'),
    args: [`--config=${config}`],
    readyUrl: `http://127.0.0.1:${health}/`,
  })
  return running(server, folder, { grpc, http, metrics, health })
}

function running(server: ServerProcess, folder: string, ports: Ports): CollectorServer {
  return {
    otlpUrl: `http://127.0.0.1:${ports.http}`,
    grpcUrl: `http://127.0.0.1:${ports.grpc}`,
    metricsAddress: `127.0.0.1:${ports.metrics}`,
    get log() {
      return server.log
    },
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

type Ports = Readonly<Record<'grpc' | 'http' | 'metrics' | 'health', number>>

function configurationOf({ jaeger, phoenix, logs }: Sinks, ports: Ports): Configuration {
  const at = (port: number): string => `127.0.0.1:${port}`
  const file = yaml<Configuration>('observability/collector.yaml')
  file.extensions.health_check.endpoint = at(ports.health)
  file.receivers.otlp.protocols.grpc.endpoint = at(ports.grpc)
  file.receivers.otlp.protocols.http.endpoint = at(ports.http)
  file.exporters['otlp_http/jaeger'].endpoint = jaeger
  file.exporters['otlp_http/phoenix'].endpoint = phoenix
  file.exporters.prometheus.endpoint = at(ports.metrics)
  if (logs !== undefined) {
    file.exporters['otlp_http/logs'] = { endpoint: logs, encoding: 'json' }
    file.service.pipelines.logs.exporters = ['otlp_http/logs']
  }
  // Its own metrics would be served on a fixed port, which another collector may have.
  const telemetry = { metrics: { level: 'none' } }
  return { ...file, service: { ...file.service, telemetry } as Configuration['service'] }
}

import type { PluginOptions } from '../../../src/index.ts'
import type { UserBackend } from '../../../src/plugin/config/types.ts'
import type { Path } from '../../observability/prometheus-names.ts'
import { OtlpSink } from '../../support/otlp-sink.ts'
import { startCollector } from '../servers/collector.ts'
import { type PrometheusServer, startPrometheus } from '../servers/prometheus.ts'
import { freePorts } from '../support/free-port.ts'

/** The ways that a metric takes into Prometheus. */
export const WAYS = ['scraped', 'pushed', 'collected'] as const
export type Way = (typeof WAYS)[number]

/** A Prometheus, and what hookspan is told so that its metrics get there. */
export interface OpenWay {
  readonly prometheus: PrometheusServer
  readonly config: Pick<PluginOptions, 'prometheus' | 'backends'>
  /** How the names come about. */
  readonly path: Path
  /** The `job` of the series, for an agent of this service name. */
  job(serviceName: string): string
  stop(): Promise<void>
}

type Backends = NonNullable<PluginOptions['backends']>

export interface WayOptions {
  /** Further backends, for traces. */
  readonly backends?: Backends
  /** Of the backend that takes the metrics. */
  readonly fields?: object
  readonly rules?: string
  readonly web?: string
}

function metricBackend(endpoint: string, fields: object): UserBackend {
  return { type: 'otlp', name: 'metrics', endpoint, traces: false, ...fields }
}

export function openWay(way: Way, options: WayOptions = {}): Promise<OpenWay> {
  return OPEN[way](options)
}

const OPEN: Readonly<Record<Way, (options: WayOptions) => Promise<OpenWay>>> = {
  /** hookspan's own endpoint. */
  async scraped({ backends = [], ...options }) {
    const [port = 0] = await freePorts(1)
    const prometheus = await startPrometheus({ ...options, targets: { hookspan: `127.0.0.1:${port}` } })
    const config = { prometheus: { host: '127.0.0.1', port }, backends }
    return { prometheus, config, path: 'pull', job: () => 'hookspan', stop: () => prometheus.stop() }
  },

  /** Prometheus' own receiver. */
  async pushed({ backends = [], fields = {}, ...options }) {
    const prometheus = await startPrometheus(options)
    const config = { backends: [...backends, metricBackend(prometheus.otlpUrl, fields)] }
    return { prometheus, config, path: 'push', job: name => name, stop: () => prometheus.stop() }
  },

  /** The collector of the compose file, and Prometheus asks it. */
  async collected({ backends = [], fields = {}, ...options }) {
    const sink = await OtlpSink.start()
    const collector = await startCollector({ jaeger: sink.url, phoenix: sink.url })
    const prometheus = await startPrometheus({ ...options, targets: { collector: collector.metricsAddress } })
    const config = { backends: [...backends, metricBackend(collector.otlpUrl, fields)] }
    const stop = async (): Promise<void> => {
      await Promise.all([prometheus.stop(), collector.stop()])
      await sink.stop()
    }
    return { prometheus, config, path: 'push', job: name => name, stop }
  },
}

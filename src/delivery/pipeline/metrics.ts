import type { HrTime } from '@opentelemetry/api'
import type {
  AggregationTemporality,
  DataPoint,
  InstrumentType,
  MetricData,
  MetricReader,
  PushMetricExporter,
  ResourceMetrics,
} from '@opentelemetry/sdk-metrics'
import type { Temporality } from '../backends/backend-config.ts'
import { UNSERIALISABLE } from '../trace-log/index.ts'
import type { Transport } from './delivery.ts'
import type { DeliveryReport } from './delivery-report.ts'
import { hrTimeNow } from './histograms.ts'
import { exportResult } from './otlp-sinks.ts'
import { metricsSdk, transformer } from './sdk.ts'

/** Collections that may wait for a slow backend. With delta temporality each holds points that no other one repeats. */
const MAX_WAITING = 8

/** `export` completes immediately, because the reader's own timeout would keep the process alive. */
export class MetricQueue implements PushMetricExporter {
  readonly #transport: Transport
  readonly #isJson: boolean
  readonly #report: DeliveryReport
  readonly #temporality: Temporality
  readonly #waiting: Uint8Array[] = []
  readonly #inFlight = new AbortController()
  readonly #starts = new SeriesStarts()
  #sending: Promise<void> | undefined
  #sentAt = 0

  constructor(transport: Transport, isJson: boolean, temporality: Temporality, report: DeliveryReport) {
    this.#transport = transport
    this.#isJson = isJson
    this.#temporality = temporality
    this.#report = report
  }

  export(metrics: ResourceMetrics, done: Parameters<PushMetricExporter['export']>[1]): void {
    const started = this.#starts.apply(metrics)
    try {
      const { JsonMetricsSerializer, ProtobufMetricsSerializer } = transformer()
      const serializer = this.#isJson ? JsonMetricsSerializer : ProtobufMetricsSerializer
      this.#enqueue(serializer.serializeRequest(started) as Uint8Array)
    } catch {
      this.#report.failed('metrics', UNSERIALISABLE, 0)
    }
    done({ code: 0 })
  }

  forceFlush(): Promise<void> {
    return this.#sending ?? Promise.resolve()
  }

  async shutdown(): Promise<void> {
    await this.forceFlush()
    await this.#transport.close()
  }

  waitedMillis(): number {
    return this.#sending ? performance.now() - this.#sentAt : 0
  }

  abandon(): Promise<void> {
    this.#waiting.length = 0
    this.#inFlight.abort()
    return this.forceFlush()
  }

  /** Follows the OTLP exporter specification: instruments whose value can fall are always cumulative. */
  selectAggregationTemporality(instrument: InstrumentType): AggregationTemporality {
    const { AggregationTemporality: Choice, InstrumentType: Kind } = metricsSdk()
    const isEvenLow = instrument === Kind.COUNTER || instrument === Kind.HISTOGRAM
    const canFall = instrument === Kind.UP_DOWN_COUNTER || instrument === Kind.OBSERVABLE_UP_DOWN_COUNTER
    const isDelta = isEvenLow ? this.#temporality !== 'cumulative' : this.#temporality === 'delta' && !canFall
    return isDelta ? Choice.DELTA : Choice.CUMULATIVE
  }

  #enqueue(payload: Uint8Array): void {
    if (this.#waiting.push(payload) > MAX_WAITING) {
      this.#waiting.shift()
      this.#report.failed('metrics', { kind: 'timeout', afterMillis: Math.round(this.waitedMillis()) }, 0)
    }
    this.#sending ??= this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      this.#sentAt = performance.now()
      const delivery = await this.#transport.deliver([next], this.#inFlight.signal)
      const { failure } = exportResult(delivery, Number.POSITIVE_INFINITY, this.#isJson)
      if (failure) this.#report.failed('metrics', failure, 0)
      else this.#report.delivered('metrics')
    }
    this.#sending = undefined
  }
}

export function createMetricReader(exporter: MetricQueue, millis: number): MetricReader {
  const { PeriodicExportingMetricReader } = metricsSdk()
  return new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: millis, exportTimeoutMillis: millis })
}

/**
 * Sets the start time of each series to the last collection before it existed. For the SDK, an observable counter starts at
 * its first read. Its first value would then be no increase, and an agent that reports once before it ends would be missing
 * from every rate.
 */
class SeriesStarts {
  readonly #starts = new Map<string, HrTime>()
  #lastAt = hrTimeNow()

  apply(metrics: ResourceMetrics): ResourceMetrics {
    const started = (metric: MetricData): MetricData => {
      if (!addsUp(metric)) return metric
      const points: DataPoint<unknown>[] = metric.dataPoints
      const dataPoints = points.map(point => ({ ...point, startTime: this.#startOf(metric, point) }))
      return { ...metric, dataPoints } as MetricData
    }
    const scopeMetrics = metrics.scopeMetrics.map(scope => ({ ...scope, metrics: scope.metrics.map(started) }))
    this.#lastAt = hrTimeNow()
    return { ...metrics, scopeMetrics }
  }

  /** Stable for a series: a changed start would mean a counter reset. */
  #startOf({ descriptor }: MetricData, { attributes }: DataPoint<unknown>): HrTime {
    const series = `${descriptor.name} ${JSON.stringify(attributes)}`
    const known = this.#starts.get(series)
    if (known !== undefined) return known
    this.#starts.set(series, this.#lastAt)
    return this.#lastAt
  }
}

/** Excludes instruments whose value can fall, and deltas, which start where the previous ones ended. */
function addsUp(metric: MetricData): boolean {
  const { AggregationTemporality, DataPointType } = metricsSdk()
  if (metric.aggregationTemporality !== AggregationTemporality.CUMULATIVE) return false
  if (metric.dataPointType === DataPointType.SUM) return metric.isMonotonic
  return metric.dataPointType === DataPointType.HISTOGRAM
}

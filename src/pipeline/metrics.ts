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
import type { DeliveryReport } from './delivery-report.ts'
import type { OtlpMetricSink } from './otlp-sinks.ts'
import { metricsSdk } from './sdk.ts'

/** Collections that may wait for a slow backend. With delta temporality each holds points that no other one repeats. */
const MAX_WAITING = 8
const DONE = { code: 0 } as const

type ExportCallback = Parameters<PushMetricExporter['export']>[1]

/**
 * Metrics of one backend on their way out. The reader is told at once that it is done, because its own timeout would
 * hold the process; what is on its way is waited for in `forceFlush`.
 */
export class MetricOutbox implements PushMetricExporter {
  readonly #sink: OtlpMetricSink
  readonly #report: DeliveryReport
  readonly #temporality: Temporality
  readonly #waiting: Uint8Array[] = []
  readonly #inFlight = new AbortController()
  readonly #starts = new SeriesStarts()
  #sending: Promise<void> | undefined
  #sentAt = 0

  constructor(sink: OtlpMetricSink, temporality: Temporality, report: DeliveryReport) {
    this.#sink = sink
    this.#temporality = temporality
    this.#report = report
  }

  export(metrics: ResourceMetrics, done: ExportCallback): void {
    const payload = this.#sink.serialize(this.#starts.apply(metrics))
    if (!(payload instanceof Uint8Array)) this.#report.failed('metrics', payload, 0)
    else this.#take(payload)
    done(DONE)
  }

  forceFlush(): Promise<void> {
    return this.#sending ?? Promise.resolve()
  }

  async shutdown(): Promise<void> {
    await this.forceFlush()
    await this.#sink.close()
  }

  /** How long the export that is in flight has been. */
  waitedMillis(): number {
    return this.#sending ? performance.now() - this.#sentAt : 0
  }

  /** Nothing is sent for others. */
  stop(): Promise<void> {
    return Promise.resolve()
  }

  /** Gives up what is left. Resolves within moments. */
  abandon(): Promise<void> {
    this.#waiting.length = 0
    this.#inFlight.abort()
    return this.forceFlush()
  }

  selectAggregationTemporality(instrument: InstrumentType): AggregationTemporality {
    return temporalityOf(this.#temporality, instrument)
  }

  #take(payload: Uint8Array): void {
    if (this.#waiting.push(payload) > MAX_WAITING) {
      this.#waiting.shift()
      this.#report.failed('metrics', { kind: 'timeout', afterMillis: Math.round(this.waitedMillis()) }, 0)
    }
    this.#sending ??= this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      this.#sentAt = performance.now()
      const failure = await this.#sink.send(next, this.#inFlight.signal)
      if (failure) this.#report.failed('metrics', failure, 0)
      else this.#report.delivered('metrics')
    }
    this.#sending = undefined
  }
}

/** As the OTLP exporter specification has it: what can fall is always cumulative. */
function temporalityOf(temporality: Temporality, instrument: InstrumentType): AggregationTemporality {
  const { AggregationTemporality: Choice, InstrumentType: Kind } = metricsSdk()
  switch (instrument) {
    case Kind.COUNTER:
    case Kind.HISTOGRAM:
      return temporality === 'cumulative' ? Choice.CUMULATIVE : Choice.DELTA
    case Kind.OBSERVABLE_COUNTER:
    case Kind.GAUGE:
    case Kind.OBSERVABLE_GAUGE:
      return temporality === 'delta' ? Choice.DELTA : Choice.CUMULATIVE
    default:
      return Choice.CUMULATIVE
  }
}

export function createMetricReader(outbox: MetricOutbox, intervalMillis: number): MetricReader {
  return new (metricsSdk().PeriodicExportingMetricReader)({
    exporter: outbox,
    exportIntervalMillis: intervalMillis,
    // Only bounds the collection; it may not be longer than the interval.
    exportTimeoutMillis: intervalMillis,
  })
}

/**
 * Says since when each series has added up: since it was not there yet. To the SDK a counter that is read at collection
 * begins when it is first read. Its first value is then no increase over anything, and an agent that reports once, before
 * it ends, is in no rate.
 */
class SeriesStarts {
  readonly #starts = new Map<string, HrTime>()
  #lastAt = now()

  /** The same metrics with those starts. To be called with every collection. */
  apply(metrics: ResourceMetrics): ResourceMetrics {
    const scopeMetrics = metrics.scopeMetrics.map(scope => ({
      ...scope,
      metrics: scope.metrics.map(metric => (addsUp(metric) ? this.#applyTo(metric) : metric)),
    }))
    this.#lastAt = now()
    return { ...metrics, scopeMetrics }
  }

  #applyTo(metric: MetricData): MetricData {
    const points = metric.dataPoints as DataPoint<unknown>[]
    const dataPoints = points.map(point => ({ ...point, startTime: this.#startOf(metric, point) }))
    return { ...metric, dataPoints } as MetricData
  }

  /** Always the same for a series: another start would be a counter that has begun anew. */
  #startOf({ descriptor }: MetricData, { attributes }: DataPoint<unknown>): HrTime {
    const series = `${descriptor.name} ${JSON.stringify(attributes)}`
    const known = this.#starts.get(series)
    if (known !== undefined) return known
    this.#starts.set(series, this.#lastAt)
    return this.#lastAt
  }
}

function now(): HrTime {
  const millis = Date.now()
  return [Math.floor(millis / 1000), (millis % 1000) * 1_000_000]
}

/** Not what may fall, and no differences: those begin where the last ones ended. */
function addsUp(metric: MetricData): boolean {
  const { AggregationTemporality, DataPointType } = metricsSdk()
  if (metric.aggregationTemporality !== AggregationTemporality.CUMULATIVE) return false
  if (metric.dataPointType === DataPointType.SUM) return metric.isMonotonic
  return metric.dataPointType === DataPointType.HISTOGRAM
}

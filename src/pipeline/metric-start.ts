import type { HrTime } from '@opentelemetry/api'
import type { DataPoint, MetricData, ResourceMetrics } from '@opentelemetry/sdk-metrics'
import { metricsSdk } from './sdk.ts'

/**
 * Says since when each series has added up: since it was not there yet. To the SDK a counter that is read at collection
 * begins when it is first read. Its first value is then no increase over anything, and an agent that reports once, before
 * it ends, is in no rate.
 */
export class SeriesStarts {
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

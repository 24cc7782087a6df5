import type { SinkRequest } from '../support/otlp-sink.ts'

interface Point {
  readonly attributes?: readonly { readonly key: string; readonly value: Record<string, unknown> }[]
  readonly asDouble?: number
  readonly asInt?: number | string
  readonly sum?: number
}

interface Metric {
  readonly name: string
  readonly sum?: { readonly isMonotonic?: boolean; readonly dataPoints: readonly Point[] }
  readonly histogram?: { readonly dataPoints: readonly Point[] }
}

interface MetricsRequest {
  readonly resourceMetrics: readonly { readonly scopeMetrics: readonly { readonly metrics: readonly Metric[] }[] }[]
}

/** About the sending itself: that depends on how often somebody was there to send. */
const OF_SENDING = /export|spool/

/** Every counter and histogram, added up over processes: of each what it said last. @param processes their requests */
export function metricSums(processes: readonly (readonly SinkRequest[])[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const requests of processes) {
    const last = requests.filter(({ path }) => path.endsWith('/v1/metrics')).at(-1)
    for (const [series, value] of last === undefined ? [] : seriesOf(last.json as MetricsRequest)) {
      sums[series] = Number(((sums[series] ?? 0) + value).toFixed(6))
    }
  }
  return Object.fromEntries(Object.entries(sums).sort(([a], [b]) => a.localeCompare(b, 'en')))
}

function seriesOf({ resourceMetrics }: MetricsRequest): [string, number][] {
  const metrics = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(scope => scope.metrics))
  return metrics.flatMap(({ name, sum, histogram }) => {
    const points = (sum?.isMonotonic === true ? sum : histogram)?.dataPoints ?? []
    return OF_SENDING.test(name)
      ? []
      : points.map((point): [string, number] => [seriesName(name, point), figureOf(point)])
  })
}

function seriesName(name: string, { attributes = [] }: Point): string {
  const labels = attributes.map(({ key, value }) => `${key}=${Object.values(value).join()}`)
  return [name, ...labels.sort()].join(' ')
}

function figureOf({ asDouble, asInt, sum }: Point): number {
  return Number(asDouble ?? asInt ?? sum ?? 0)
}

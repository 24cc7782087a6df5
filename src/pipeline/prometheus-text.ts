import type { MetricData, ResourceMetrics, ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { prometheusExporter } from './sdk.ts'

/** Series of one piece: a millisecond's work or a few, after which the event loop has its turn. */
export const PIECE_SERIES = 100

/** What an answer has no room for. */
export interface LeftOut {
  readonly metric: string
  readonly labelSets: number
}

type Serialize = (resource: ResourceMetrics['resource'], scopeMetrics: ScopeMetrics[]) => string

/**
 * What a scrape is answered with, piece by piece: the text of the official serializer, which is asked for a few label
 * sets at a time, because for all of them at once it takes as long as an agent may notice. Beyond `maxSeries` label sets
 * are left out: those of histograms first, each of which is as many series as it has buckets. The end of the text says
 * which, and they are returned.
 */
export function* prometheusText(
  { resource, scopeMetrics }: ResourceMetrics,
  maxSeries: number,
): Generator<string, readonly LeftOut[]> {
  const serialize = serializer()
  const leftOut: LeftOut[] = []
  let room = maxSeries
  yield targetInfo(resource)
  for (const [scope, metric] of singlesFirst(scopeMetrics)) {
    const each = seriesOf(metric)
    const points = metric.dataPoints.slice(0, Math.floor(room / each))
    room -= points.length * each
    const missing = metric.dataPoints.length - points.length
    if (missing > 0) leftOut.push({ metric: metric.descriptor.name, labelSets: missing })
    const step = Math.max(1, Math.floor(PIECE_SERIES / each))
    for (let at = 0; at === 0 || at < points.length; at += step) {
      const some = { ...metric, dataPoints: points.slice(at, at + step) } as MetricData
      const text = serialize(resource, [{ scope, metrics: [some] }])
      yield at === 0 ? text : withoutHead(text)
    }
  }
  for (const { metric, labelSets } of leftOut) yield `# left out of ${metric}: ${labelSets} label sets\n`
  return leftOut
}

function serializer(): Serialize {
  const official = new (prometheusExporter().PrometheusSerializer)('', false, undefined, true)
  return (resource, scopeMetrics) => official.serialize({ resource, scopeMetrics })
}

/** Of a resource alone the serializer says, too, that it has no metrics. */
function targetInfo(resource: ResourceMetrics['resource']): string {
  const official = new (prometheusExporter().PrometheusSerializer)()
  const text = official.serialize({ resource, scopeMetrics: [] })
  return text.slice(0, text.lastIndexOf('\n') + 1)
}

function singlesFirst(scopes: readonly ScopeMetrics[]): [ScopeMetrics['scope'], MetricData][] {
  const all = scopes.flatMap(({ scope, metrics }) =>
    metrics.map((metric): [ScopeMetrics['scope'], MetricData] => [scope, metric]),
  )
  return [...all.filter(([, metric]) => seriesOf(metric) === 1), ...all.filter(([, metric]) => seriesOf(metric) > 1)]
}

/** Series of one label set: of a histogram its buckets, the one without a bound, its sum and its count. */
function seriesOf({ dataPoints: [first] }: MetricData): number {
  if (typeof first?.value !== 'object' || !('buckets' in first.value)) return 1
  return first.value.buckets.boundaries.length + 3
}

/** The same metric has been described already. */
function withoutHead(text: string): string {
  let from = 0
  while (text.startsWith('# ', from)) from = text.indexOf('\n', from) + 1
  return text.slice(from)
}

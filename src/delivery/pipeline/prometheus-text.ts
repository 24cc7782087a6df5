import type { MetricData, ResourceMetrics, ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { prometheusExporter } from './sdk.ts'

/** Series per piece: about a millisecond of work, after which the event loop runs. */
export const PIECE_SERIES = 100

/** Label sets that did not fit into the response. */
export interface OmittedSeries {
  readonly metric: string
  readonly labelSets: number
}

type Serialize = (resource: ResourceMetrics['resource'], scopeMetrics: ScopeMetrics[]) => string

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
  const serialize = serializer()
  const leftOut: OmittedSeries[] = []
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

/** For a resource without metrics the serializer adds a line that says so, which is removed. */
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

/** Series per label set. A histogram has one per bucket, plus the unbounded bucket, the sum and the count. */
function seriesOf({ dataPoints: [first] }: MetricData): number {
  if (typeof first?.value !== 'object' || !('buckets' in first.value)) return 1
  return first.value.buckets.boundaries.length + 3
}

/** Removes the comment lines of a metric that an earlier piece has described. */
function withoutHead(text: string): string {
  let from = 0
  while (text.startsWith('# ', from)) from = text.indexOf('\n', from) + 1
  return text.slice(from)
}

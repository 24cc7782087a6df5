import { METRIC, type MetricKey, resolveNamespace } from '../../../src/contract/semconv/index.ts'
import type { PluginStats } from '../../../src/index.ts'
import { createTestPlugin, type MetricSample } from '../../../src/testing.ts'
import { INSTRUMENTS, type InstrumentRow } from '../../../src/tracker/instrument-table.ts'
import { KEYS, ofInstrument, type Path } from '../../observability/prometheus-names.ts'
import type { Sample } from '../servers/prometheus.ts'
import type { WorkloadRecord } from '../workload/workload-record.ts'

/** A series as Prometheus has to have it, without the labels of where it came from. */
export interface ExpectedSeries {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Of the target, and of the scope of OpenTelemetry, which the collector adds. */
const NOT_OURS = new Set(['__name__', 'job', 'instance', 'le'])
const SCOPE = /^otel_scope_/

/** What the same records come to in memory, by the names that they have by one path. */
export async function expectedSeries(
  records: readonly WorkloadRecord[],
  path: Path,
  host: string,
): Promise<ExpectedSeries[]> {
  const plugin = createTestPlugin({ host, force_flush_on_session_end: false, keep: true })
  for (const { hook, payload, meta } of records) void plugin.emitUntyped(hook, payload, meta)
  return (await plugin.metrics()).flatMap(sample => seriesOf(sample, path))
}

/** What delivery has come to, which a plugin in memory knows nothing of. */
export function deliverySeries({ backends }: PluginStats): ExpectedSeries[] {
  return backends.flatMap(({ name, delivered, recovered, dropped }) => [
    {
      name: 'hookspan_export_spans_total',
      labels: { backend: name, result: 'delivered' },
      value: delivered + recovered,
    },
    { name: 'hookspan_export_spans_total', labels: { backend: name, result: 'dropped' }, value: dropped },
  ])
}

export function isSeries({ name, labels }: ExpectedSeries, { metric }: Sample): boolean {
  if (metric['__name__'] !== name) return false
  const own = Object.keys(metric).filter(label => !NOT_OURS.has(label) && !SCOPE.test(label))
  return own.length === Object.keys(labels).length && own.every(label => metric[label] === labels[label])
}

function keyOf(name: string): MetricKey {
  const key = KEYS.find(each => resolveNamespace(METRIC[each], 'hermes') === name)
  if (key === undefined) throw new Error(`${name} is not in the instrument table`)
  return key
}

/** Of counters and gauges one, of histograms their sum and their count. */
function seriesOf({ name, labels, value, count }: MetricSample, path: Path): ExpectedSeries[] {
  const key = keyOf(name)
  const row: InstrumentRow = INSTRUMENTS[key]
  const spelled = Object.fromEntries(Object.entries(labels).map(([label, text]) => [label.replaceAll('.', '_'), text]))
  const values = { value, sum: value, count: count ?? 0, bucket: 0 }
  return ofInstrument(key, path)
    .filter(({ part }) => part !== 'bucket' && (row.kind === 'histogram') === (part !== 'value'))
    .map(series => ({ name: series.name, labels: spelled, value: values[series.part] }))
}

import { expect } from 'vitest'
import type { Sample } from '../servers/prometheus.ts'
import { deliverySeries, type ExpectedSeries, expectedSeries, isSeries } from './expected-series.ts'
import { HOST, type Sliced } from './feed-in-slices.ts'
import { until } from './until.ts'
import type { OpenWay } from './ways.ts'

const OURS = '{__name__=~"(hermes|gen_ai|hookspan)_.+", __name__!~".+_bucket"}'
/** Sums of durations are added up in another order. */
const TOLERANCE = 1e-9

/** That Prometheus has every series of what was fed, each once and with its value, and no other. */
export async function expectSeries({ prometheus, path }: OpenWay, { records, plugin }: Sliced): Promise<void> {
  // Spans that were longer on their way than half the wait of a flush are told by the metrics of the next one.
  await plugin.flush()
  const expected = [...(await expectedSeries(records, path, HOST)), ...deliverySeries(plugin.stats())]
  const samples = await until(
    () => prometheus.query(OURS),
    found => expected.find(series => !found.some(sample => hasValue(series, sample))),
    'a series that is missing or wrong',
  )
  for (const series of expected) expect(samples.filter(sample => isSeries(series, sample))).toHaveLength(1)
  const surplus = samples.filter(sample => !expected.some(series => isSeries(series, sample)))
  expect(surplus.map(({ metric }) => metric).filter(isUnaccounted)).toEqual([])
}

function hasValue(series: ExpectedSeries, sample: Sample): boolean {
  return (
    isSeries(series, sample) && Math.abs(Number(sample.value[1]) - series.value) <= Math.abs(series.value) * TOLERANCE
  )
}

/** What delivery has come to besides what was delivered and dropped, which are other accounts of the same spans. */
function isUnaccounted({ __name__, result = '' }: Readonly<Record<string, string>>): boolean {
  if (__name__ === 'hookspan_spool_bytes') return false
  return __name__ !== 'hookspan_export_spans_total' || !['retried', 'spooled'].includes(result)
}

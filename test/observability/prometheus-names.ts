import { METRIC, type MetricKey } from '../../src/contract/semconv/index.ts'
import { INSTRUMENTS, type InstrumentRow } from '../../src/tracker/instrument-table.ts'

/** One metric name as Prometheus stores it. */
export interface Series {
  readonly name: string
  readonly key: MetricKey
  /** `value` for everything but histograms. */
  readonly part: 'value' | 'bucket' | 'sum' | 'count'
  /** Labels in Prometheus' spelling, those of the target and of the part included. */
  readonly labels: readonly string[]
}

/** How the name comes about: `pull` the JS exporter on 9464, `push` the translation of OTLP. */
export type Path = 'pull' | 'push'

const UNIT_WORDS: Readonly<Record<string, string>> = { s: 'seconds', ms: 'milliseconds', By: 'bytes' }
const ON_EVERY_SERIES = ['job', 'instance']

export const KEYS: readonly MetricKey[] = Object.keys(METRIC) as MetricKey[]

function base(key: MetricKey, path: Path): string {
  const name = METRIC[key].replace('{ns}', 'hermes').replaceAll('.', '_')
  const word = UNIT_WORDS[INSTRUMENTS[key].unit]
  return path === 'push' && word && !name.endsWith(`_${word}`) ? `${name}_${word}` : name
}

/** The metric names of one instrument, by one path. */
export function ofInstrument(key: MetricKey, path: Path): Series[] {
  const row: InstrumentRow = INSTRUMENTS[key]
  const labels = [...row.labels.map(label => label.replaceAll('.', '_')), ...ON_EVERY_SERIES]
  const name = base(key, path)
  if (row.kind === 'counter') return [{ name: `${name}_total`, key, part: 'value', labels }]
  if (row.kind !== 'histogram') return [{ name, key, part: 'value', labels }]
  return [
    { name: `${name}_bucket`, key, part: 'bucket', labels: [...labels, 'le'] },
    { name: `${name}_sum`, key, part: 'sum', labels },
    { name: `${name}_count`, key, part: 'count', labels },
  ]
}

/** Everything that may be in Prometheus, by either path. */
export const SERIES: readonly Series[] = KEYS.flatMap(key => {
  const both = [...ofInstrument(key, 'pull'), ...ofInstrument(key, 'push')]
  return both.filter((series, index) => both.findIndex(({ name }) => name === series.name) === index)
})

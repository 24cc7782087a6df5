/** What the tables in `src` and the documentation name, whether it was ever written or not. */
import { describe, expect, test } from 'vitest'
import {
  GEN_AI_NEXT,
  GENERAL,
  LABEL,
  MCP,
  METRIC,
  type MetricKey,
  OPENINFERENCE,
  OWN,
} from '../../src/contract/semconv/index.ts'
import { MESSAGE } from '../../src/contract/semconv/openinference.ts'
import { INSTRUMENTS } from '../../src/tracker/instrument-table.ts'
import { read } from '../support/pages.ts'
import { GEN_AI_METRICS, LATER_METRICS } from './gen-ai-table.ts'
import { attributeNamed, metricNameProblem, NAMESPACE } from './lint-names.ts'
import { OPENINFERENCE_NAMES } from './registries.ts'

function problemsOf(names: readonly string[]): string[] {
  return names.flatMap(name => {
    const known = attributeNamed(name)
    return 'problem' in known ? [`${name} ${known.problem}`] : []
  })
}

const rows = (Object.entries(METRIC) as [MetricKey, string][]).map(([key, name]) => ({
  ...INSTRUMENTS[key],
  name: name.replace('{ns}', NAMESPACE),
}))

const NEXT: readonly string[] = Object.values(GEN_AI_NEXT)

/** Beginnings of names: what is written has a number after them. */
const LISTS: readonly string[] = [OPENINFERENCE.inputMessages, OPENINFERENCE.outputMessages, MESSAGE.toolCalls]

describe('attributes', () => {
  test('of the tables are known', () => {
    const own = Object.values(OWN).map(name => name.replace('{ns}', NAMESPACE))
    const all = [
      ...own,
      ...Object.values(GENERAL),
      ...Object.values(OPENINFERENCE),
      ...Object.values(MESSAGE),
      ...Object.values(MCP),
    ]
    expect(problemsOf(all.filter(name => !LISTS.includes(name)))).toEqual([])
    expect(LISTS.filter(name => !OPENINFERENCE_NAMES.has(name))).toEqual([])
  })

  test('of docs/spans.md are known, and have the type that it says', () => {
    const found = [...read('docs/spans.md').matchAll(/^\| `([\w.]+)` \| (string|number|boolean|string\[\]) \|/gm)]
    expect(found.length).toBeGreaterThan(150)
    const wrong = found.flatMap(([, name = '', type]) => {
      const known = attributeNamed(name.replaceAll('.N.', '.0.'), NEXT.includes(name))
      if ('problem' in known) return [`${name} ${known.problem}`]
      const expected = { int: 'number', double: 'number', json: 'string', any: 'string' }[known.row.type as 'int']
      return (expected ?? known.row.type) === type ? [] : [`${name} is ${known.row.type}, and ${type} in the page`]
    })
    expect(wrong).toEqual([])
  })

  test('of labels that are no short names of ours are known', () => {
    const labels = [...Object.values(LABEL), ...rows.flatMap(row => row.labels)]
    expect(problemsOf(labels.filter(name => name.includes('.')))).toEqual([])
  })
})

describe('metrics', () => {
  test('of the table are known', () => {
    const named = rows.map(({ name }) => `${name} ${metricNameProblem(name).problem ?? ''}`.trim())
    expect(named).toEqual(rows.map(({ name }) => name))
  })

  test.each(rows.filter(({ name }) => name.startsWith('gen_ai.')))('$name is as the convention has it', row => {
    const convention = { ...GEN_AI_METRICS, ...LATER_METRICS }[row.name]
    expect(row).toMatchObject({ kind: 'histogram', unit: convention?.unit, buckets: convention?.buckets })
    expect(row.labels.filter(label => !convention?.attributes.includes(label))).toEqual([])
  })

  test('of docs/metrics.md are those of the table, with their kinds and units', () => {
    const page = read('docs/metrics.md')
    const missing = rows.filter(({ name, unit }) => !new RegExp(`\`${name}\`[^\\n]*${escaped(unit)}`).test(page))
    expect(missing.map(({ name }) => name)).toEqual([])
  })

  test('have units that UCUM would take', () => {
    expect(rows.filter(({ unit }) => !/^(s|ms|By|\{[a-z]+\})$/.test(unit))).toEqual([])
  })
})

function escaped(text: string): string {
  return text.replace(/[{}]/g, '\\$&')
}

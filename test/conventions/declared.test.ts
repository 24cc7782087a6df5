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
const LISTS: readonly string[] = [OPENINFERENCE.indexedInput, OPENINFERENCE.indexedOutput, MESSAGE.toolCalls]

describe('every attribute', () => {
  test('is known if it is in the tables', () => {
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

  test('is known if it is in docs/spans.md, and has the type stated there', () => {
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

  test('is known if it is a label and no short name of ours', () => {
    const labels = [...Object.values(LABEL), ...rows.flatMap(row => row.labels)]
    expect(problemsOf(labels.filter(name => name.includes('.')))).toEqual([])
  })
})

describe('every metric', () => {
  test('is known if it is in the table', () => {
    const named = rows.map(({ name }) => `${name} ${metricNameProblem(name).problem ?? ''}`.trim())
    expect(named).toEqual(rows.map(({ name }) => name))
  })

  test.each(rows.filter(({ name }) => name.startsWith('gen_ai.')))("has the convention's form: $name", row => {
    const convention = { ...GEN_AI_METRICS, ...LATER_METRICS }[row.name]
    expect(row).toMatchObject({ kind: 'histogram', unit: convention?.unit, buckets: convention?.buckets })
    expect(row.labels.filter(label => !convention?.attributes.includes(label))).toEqual([])
  })

  test('has its kind and unit of the table in docs/metrics.md', () => {
    const page = read('docs/metrics.md')
    const missing = rows.filter(({ name, unit }) => !new RegExp(`\`${name}\`[^\\n]*${escaped(unit)}`).test(page))
    expect(missing.map(({ name }) => name)).toEqual([])
  })

  test('has a valid unit of UCUM', () => {
    expect(rows.filter(({ unit }) => !/^(s|ms|By|\{[a-z]+\})$/.test(unit))).toEqual([])
  })
})

function escaped(text: string): string {
  return text.replace(/[{}]/g, '\\$&')
}

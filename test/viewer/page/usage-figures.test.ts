import { expect, test } from 'vitest'
import { usageMeasure, usageSentence } from '../../../src/reading/usage-text.ts'
import { dayChart, OTHERS } from '../../../src/viewer/page/usage-figures.ts'
import type { Usage, UsageSums } from '../../../src/viewer/server/api.ts'

const NOTHING: UsageSums = {
  dollars: 0,
  input: 0,
  output: 0,
  cachedTokens: 0,
  requestCount: 0,
  errorCount: 0,
  turnCount: 0,
}

function usage(cells: readonly (readonly [day: string, name: string, dollars: number])[]): Usage {
  const names = [...new Set(cells.map(([, name]) => name))]
  return {
    total: { ...NOTHING, dollars: 1 },
    before: undefined,
    groups: names.map(name => ({ ...NOTHING, name, title: '', latency: undefined })),
    cells: cells.map(([day, name, dollars]) => ({ ...NOTHING, day, name, dollars })),
    sessions: [],
    hours: [],
    tools: [],
  }
}

test.each<[Partial<UsageSums>, Partial<UsageSums> | undefined, string]>([
  [
    { dollars: 97.35, input: 100, cachedTokens: 71 },
    { dollars: 82.5 },
    '$97.35 this week, up 18 %, 71 % of input from cache',
  ],
  [{ dollars: 1 }, { dollars: 4 }, '$1.00 this week, down 75 %'],
  [{ dollars: 1 }, { dollars: 1 }, '$1.00 this week, unchanged'],
  [{ dollars: 1 }, {}, '$1.00 this week'],
  [{ input: 12_000, output: 345 }, undefined, '12 345 tokens this week'],
])('sums up %j after %j', (total, before, sentence) => {
  expect(usageSentence({ ...NOTHING, ...total }, before && { ...NOTHING, ...before }, 'this week')).toBe(sentence)
})

test('has a column for each day, also for those without usage', () => {
  const { columns, max } = dayChart(
    usage([
      ['2026-02-27', 'a', 1],
      ['2026-03-01', 'a', 2],
      ['2026-03-01', 'b', 3],
    ]),
    usageMeasure({ ...NOTHING, dollars: 1 }),
  )
  expect(columns.map(({ day, value }) => [day, value])).toEqual([
    ['2026-02-27', 1],
    ['2026-02-28', 0],
    ['2026-03-01', 5],
  ])
  expect(max).toBe(5)
})

test('sums up the lightest groups as others', () => {
  const { names, columns } = dayChart(
    usage(Array.from({ length: 8 }, (_, n) => ['2026-03-01', `m${n}`, 8 - n] as const)),
    usageMeasure({ ...NOTHING, dollars: 1 }),
  )
  expect(names).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', OTHERS])
  expect(columns[0]?.parts.at(-1)).toBe(6)
})

test('survives the days of a wrong clock', () => {
  const days = ['', '12026-03-01', '0001-01-01', '2026-03-01']
  const { columns } = dayChart(usage(days.map(day => [day, 'a', 1] as const)), usageMeasure({ ...NOTHING, dollars: 1 }))
  expect(columns).toHaveLength(92)
  expect(columns.at(-1)?.day).toBe('2026-03-01')
})

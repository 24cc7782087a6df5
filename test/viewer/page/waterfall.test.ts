import { describe, expect, test } from 'vitest'
import { TimeScale, ticksOf } from '../../../src/viewer/page/time-scale.ts'
import { foldRanges, parallelRows, retryWaits } from '../../../src/viewer/page/waterfall.ts'
import type { TurnRow } from '../../../src/viewer/server/api.ts'
import { rowsOf } from './rows.ts'

describe('parallel spans', () => {
  test('includes siblings whose times overlap, in a chain', () => {
    const rows = rowsOf(`
      api asks 0-10
        tool a 10-30
          approval ask 11-20
        tool b 15-50
        tool c 45-60
        tool d 60-70
        tool e 65-70
    `)
    expect(parallelRows(rows, 100)).toEqual([
      { rows: [1, 3, 4], count: 3, millis: 50, sumMillis: 70 },
      { rows: [5, 6], count: 2, millis: 10, sumMillis: 15 },
    ])
  })

  test('excludes touching spans, requests and roots', () => {
    const rows = rowsOf(`
      api asks 0-10
        tool a 10-30
        tool b 30-50
      tool c 0-50
      tool d 0-50
    `)
    expect(parallelRows(rows, 100)).toEqual([])
  })

  test('extends open spans until now', () => {
    const rows = rowsOf(`
      api asks 0-10
        tool a 10-…
        tool b 30-50
    `)
    expect(parallelRows(rows, 100)).toEqual([{ rows: [1, 2], count: 2, millis: 90, sumMillis: 110 }])
  })
})

describe('the bars of a fold', () => {
  const foldOf = (rows: readonly unknown[]) => ({
    rows: rows.map((_, index) => index),
    totalMillis: 0,
  })

  test('covers the times of all its calls, and nothing between them', () => {
    const rows = rowsOf(`
      tool a 10-20
      tool b 20-30
      tool c 60-70
      tool d 65-90
      tool e 95-95
    `)
    expect(foldRanges(foldOf(rows), rows)).toEqual([
      { startAt: 10, endAt: 30 },
      { startAt: 60, endAt: 90 },
      { startAt: 95, endAt: 95 },
    ])
  })

  test('has few, however many calls there are', () => {
    const rows = rowsOf(
      Array.from({ length: 5_000 }, (_, index) => `tool t${index} ${index * 10}-${index * 10 + 4}`).join('\n'),
    )
    const bars = foldRanges(foldOf(rows), rows)
    expect(bars.length).toBeLessThanOrEqual(51)
    expect([bars[0]?.startAt, bars.at(-1)?.endAt]).toEqual([0, 49_994])
  })
})

test('shows the wait between two attempts', () => {
  const rows = rowsOf(`
    llm loop 0-100
      api one 1-10!
      api one 20-30! attempt 2
      api one 50-60 attempt 3
      api two 61-70
  `)
  expect(retryWaits(rows)).toEqual([
    { row: 2, startAt: 10, endAt: 20 },
    { row: 3, startAt: 30, endAt: 50 },
  ])
})

test.each([
  [0, '0'],
  [3, '0 1 ms 2 ms'],
  [940, '0 200 ms 400 ms 600 ms 800 ms'],
  [14_150, '0 5 s 10 s'],
  [95_000, '0 20 s 40 s 1 m 1 m 20 s'],
  [1_500_000, '0 5 m 10 m 15 m 20 m'],
  [9_000_000, '0 30 m 1 h 1 h 30 m 2 h'],
  [400_000_000, '0 20 h 40 h 60 h 80 h 100 h'],
])('has round times for %d ms', (millis, expected) => {
  const scale = new TimeScale({ rows: [], startAt: 0, turn: { state: 'ended' } as TurnRow }, 0)
  expect(
    ticksOf({ from: 0, to: millis }, 6, scale)
      .map(({ text }) => text)
      .join(' '),
  ).toBe(expected)
})

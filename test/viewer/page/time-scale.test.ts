import { describe, expect, test } from 'vitest'
import { TimeScale, ticksOf } from '../../../src/viewer/page/time-scale.ts'
import type { TurnRow } from '../../../src/viewer/server/api.ts'
import { rowsOf } from './rows.ts'

const HOUR = 3_600_000

function scaleOf(text: string, { state = 'ended', at = 0, waits = [] as readonly string[] } = {}): TimeScale {
  const rows = rowsOf(text).map(row => (waits.includes(row.id) ? { ...row, isPersonWait: true as const } : row))
  return new TimeScale({ rows, startAt: 0, turn: { state } as TurnRow }, at)
}

const OVERNIGHT = `
  session turn 0-32400000
    llm loop 0-32400000
      api first 0-10000
        tool shell 10000-32390000
          approval ask 11000-32380000
      api second 32390000-32400000
`

describe('an idle stretch', () => {
  test('is compressed if it is long: only a wait for the user and framing spans run in it', () => {
    const scale = scaleOf(OVERNIGHT, { waits: ['ask'] })
    expect(scale.breaks.map(({ from, to }) => [from, to])).toEqual([[11_000, 32_380_000]])
    expect(scale.total).toBeLessThan(32_000)
    expect(scale.position(32_400_000) - scale.position(32_390_000)).toBeCloseTo(10_000, 5)
  })

  test.each([
    ['a tool works', OVERNIGHT, []],
    ['a leaf that frames nothing runs', 'session turn 0-90000\n  subagent far 0-90000', []],
    ['it is short', 'session turn 0-60000\n  tool a 0-10000\n  tool b 39000-60000', []],
  ])('keeps its length if %s', (_, text, waits) => {
    expect(scaleOf(text, { waits }).breaks).toEqual([])
  })

  test('is compressed in an open turn up to now, while the user is waited for', () => {
    const open = 'session turn 0-…\n  tool shell 1000-…\n    approval ask 2000-…'
    const scale = scaleOf(open, { waits: ['ask'], state: 'open', at: HOUR })
    expect(scale.breaks.map(({ from, to }) => [from, to])).toEqual([[2_000, HOUR]])
    expect(scaleOf(open, { state: 'open', at: HOUR }).breaks).toEqual([])
  })

  test('has no ticks, and those after it have the time of the turn', () => {
    const scale = scaleOf(OVERNIGHT, { waits: ['ask'] })
    const texts = ticksOf({ from: 0, to: scale.total }, 6, scale).map(({ text }) => text)
    expect(texts).toEqual(['0', '10 s', '8 h 59 m 50 s'])
  })
})

test('finds the time of a position again', () => {
  const scale = scaleOf(OVERNIGHT, { waits: ['ask'] })
  for (const time of [0, 9_000, 11_000, 5 * HOUR, 32_380_000, 32_395_000]) {
    expect(scale.time(scale.position(time))).toBeCloseTo(time, 3)
  }
})

describe('a range', () => {
  const scale = scaleOf('tool a 0-1000')

  test('keeps the place of its anchor when it is zoomed', () => {
    expect(scale.zoom({ from: 0, to: 1_000 }, 0.5, 250)).toEqual({ from: 125, to: 625 })
    expect(scale.zoom({ from: 125, to: 625 }, 2, 250)).toBeUndefined()
  })

  test('stays inside of the turn, and does not become too small', () => {
    expect(scale.clamp(900, 300)).toEqual({ from: 700, to: 1_000 })
    expect(scale.clamp(-50, 300)).toEqual({ from: 0, to: 300 })
    const least = scale.zoom({ from: 500, to: 500.02 }, 0.001)
    expect((least?.to ?? 0) - (least?.from ?? 0)).toBeCloseTo(0.01, 5)
  })
})

import { describe, expect, test } from 'vitest'
import {
  closedFolds,
  closedIds,
  subtreeEnds,
  type TreeLook,
  treeMove,
  type VisibleRow,
  visibleRows,
  windowOf,
} from '../../../src/viewer/page/tree-model.ts'
import type { TraceView } from '../../../src/viewer/server/api.ts'
import { rowsOf } from './rows.ts'

const TURN = rowsOf(`
  session turn 0-100
    llm loop 1-99
      api first 2-10
        tool read1 11-20
        tool read2 21-30
        tool read3 31-40
          approval ask 32-39
      api second 41-98
`)

const FOLD = { rows: [3, 4], totalMillis: 18 }
const FOLDS = [FOLD]

function shown(look: Partial<TreeLook> = {}): VisibleRow[] {
  return visibleRows(TURN, { closed: new Set(), folds: [], wanted: new Set(), ...look })
}

/** A row a line: its level, its place among its siblings, whether it is open, and what it hides. */
function text(rows: readonly VisibleRow[]): string {
  return rows
    .map(({ row, level, position, siblings, isParent, isOpen, hiddenCount, fold }) => {
      const twist = fold !== undefined ? `×${fold.rows.length}` : isParent ? (isOpen ? 'v' : '>') : '-'
      return `${'  '.repeat(level - 1)}${twist} ${row.id} ${position}/${siblings}${hiddenCount > 0 ? ` hides ${hiddenCount}` : ''}`
    })
    .join('\n')
}

test("finds the end of each row's descendants", () => {
  expect(subtreeEnds(TURN)).toEqual([8, 8, 7, 4, 5, 7, 7, 8])
})

test('lists all rows, each with its place among its siblings', () => {
  expect(text(shown())).toBe(`v turn 1/1
  v loop 1/1
    v first 1/2
      - read1 1/3
      - read2 2/3
      v read3 3/3
        - ask 1/1
    - second 2/2`)
})

test('shows nothing below a closed row', () => {
  expect(text(shown({ closed: new Set(['first']) }))).toBe(`v turn 1/1
  v loop 1/1
    > first 1/2 hides 4
    - second 2/2`)
})

test('closes all of many spans, except for reopened ones', () => {
  const rows = rowsOf(
    [
      'session turn 0-9',
      ...Array.from({ length: 900 }, (_, index) => `  tool t${index} 0-9\n    tool u${index} 0-9`),
    ].join('\n'),
  )
  const closed = closedIds(rows, { isClosed: true, opened: ['t3', 't5'] })
  expect(closed.size).toBe(898)
  expect(visibleRows(rows, { closed, folds: [], wanted: new Set() }).length).toBe(1 + 900 + 2)
  expect([...closedIds(rows, { closed: ['t1'] })]).toEqual(['t1'])
})

test('opens one fold, and keeps the others folded', () => {
  const folds = [FOLD, { ...FOLD, rows: [5, 7] }]
  const view = { rows: TURN, folds } as unknown as TraceView
  expect(closedFolds(view, {})).toEqual(folds)
  expect(closedFolds(view, { unfolded: ['read1'] })).toEqual(folds.slice(1))
  expect(closedFolds(view, { isUnfolded: true })).toEqual([])
})

test('hides no required row below a closed one', () => {
  expect(text(shown({ closed: new Set(['loop', 'first', 'read3']), wanted: new Set(['read3']) }))).toBe(`v turn 1/1
  v loop 1/1
    v first 1/2
      - read1 1/3
      - read2 2/3
      > read3 3/3 hides 1
    - second 2/2`)
})

describe('a repeat', () => {
  test('is one row, and counts as one among its siblings', () => {
    expect(text(shown({ folds: FOLDS }))).toBe(`v turn 1/1
  v loop 1/1
    v first 1/2
      ×2 read1 1/2 hides 1
      v read3 2/2
        - ask 1/1
    - second 2/2`)
  })

  test('does not fold over a required row', () => {
    expect(text(shown({ folds: FOLDS, wanted: new Set(['read2']) }))).toBe(text(shown()))
  })
})

describe('a key', () => {
  const press = (key: string, active: string, look: Partial<TreeLook> = {}) =>
    treeMove({ key, pageRows: 3 }, shown(look), active)

  test.each([
    ['ArrowDown', 'turn', 'loop'],
    ['j', 'turn', 'loop'],
    ['ArrowDown', 'second', 'second'],
    ['ArrowUp', 'read1', 'first'],
    ['k', 'turn', 'turn'],
    ['PageDown', 'turn', 'read1'],
    ['PageUp', 'read1', 'turn'],
    ['Home', 'ask', 'turn'],
    ['G', 'turn', 'second'],
    ['ArrowRight', 'first', 'read1'],
    ['ArrowLeft', 'ask', 'read3'],
    ['ArrowLeft', 'second', 'loop'],
    ['ArrowDown', 'not there', 'turn'],
  ])('moves: %s on %s to %s', (key, active, to) => {
    expect(press(key, active)).toEqual({ do: 'go', id: to })
  })

  test('opens a closed row, and closes an open one', () => {
    const look = { closed: new Set(['first']) }
    expect(press('ArrowRight', 'first', look)).toEqual({ do: 'open', id: 'first' })
    expect(press('ArrowLeft', 'first', look)).toEqual({ do: 'go', id: 'loop' })
    expect(press('ArrowLeft', 'first')).toEqual({ do: 'close', id: 'first' })
    expect(press('ArrowRight', 'read1', { folds: FOLDS })).toEqual({ do: 'open', id: 'read1' })
  })

  test.each([
    ['Enter', { do: 'details', id: 'ask' }],
    [' ', { do: 'details', id: 'ask' }],
    ['/', { do: 'find' }],
    ['n', { do: 'nextHit' }],
    ['N', { do: 'previousHit' }],
    [']', { do: 'openAll' }],
    ['[', { do: 'closeAll' }],
    ['Escape', { do: 'leave' }],
    ['?', { do: 'help' }],
    ['w', { do: 'zoomIn' }],
    ['S', { do: 'zoomOut' }],
    ['a', { do: 'panLeft' }],
    ['d', { do: 'panRight' }],
    ['f', { do: 'fit', id: 'ask' }],
    ['0', { do: 'showAll' }],
    ['ArrowRight', undefined],
    ['x', undefined],
    ['constructor', undefined],
  ])('moves by %s', (key, what) => {
    expect(press(key, 'ask')).toEqual(what)
  })
})

describe('the rendered rows', () => {
  test.each([
    [
      { top: 0, height: 280, rowHeight: 28 },
      { from: 0, to: 22 },
    ],
    [
      { top: 28_000, height: 280, rowHeight: 28 },
      { from: 988, to: 1_022 },
    ],
    [
      { top: 139_720, height: 280, rowHeight: 28 },
      { from: 4_978, to: 5_000 },
    ],
  ])('has those of five thousand at %j', (scroll, expected) => {
    expect(windowOf(5_000, scroll)).toEqual(expected)
  })

  test('has those of few, scrolled beyond the end', () => {
    expect(windowOf(3, { top: 9_000, height: 280, rowHeight: 28 })).toEqual({ from: 3, to: 3 })
  })
})

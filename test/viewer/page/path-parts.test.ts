import { expect, test } from 'vitest'
import { pathSums } from '../../../src/reading/critical-path.ts'
import { pathRows, pathSections } from '../../../src/viewer/page/path-parts.ts'
import { visibleRows } from '../../../src/viewer/page/tree-model.ts'
import type { TraceView } from '../../../src/viewer/server/api.ts'
import { rowsOf } from './rows.ts'

const rows = rowsOf(`
  session turn 0-100
    api first 2-10
      tool shell 11-50
        approval ask 12-45
      hook guard 10-11
    api second 52-99
`)

const view = {
  rows,
  path: [
    { row: 0, startAt: 0, endAt: 2, part: 'untraced' },
    { row: 1, startAt: 2, endAt: 10, part: 'model' },
    { row: 4, startAt: 10, endAt: 11, part: 'guards' },
    { row: 2, startAt: 11, endAt: 12, part: 'tools' },
    { row: 3, startAt: 12, endAt: 45, part: 'you' },
    { row: 2, startAt: 45, endAt: 52, part: 'tools' },
    { row: 5, startAt: 52, endAt: 100, part: 'model' },
  ],
} as unknown as TraceView

test('adds up the critical path by part', () => {
  expect(pathSums(view.path)).toEqual([
    ['model', 56],
    ['you', 33],
    ['tools', 8],
    ['guards', 1],
    ['untraced', 2],
  ])
})

test('has no sections unless it is asked for', () => {
  expect(pathSections(view, undefined)).toEqual([])
  expect(pathSections(view, 'all')).toEqual(view.path)
  expect(pathSections(view, 'you')).toEqual([view.path[4]])
})

test('shows the rows of one part and their ancestors, and all rows for the whole path', () => {
  expect(pathRows(view, 'all')).toBeUndefined()
  const only = pathRows(view, 'you')
  const shown = visibleRows(rows, { closed: new Set(), folds: [], wanted: new Set(), only })
  expect(shown.map(({ row, siblings }) => `${row.id} of ${siblings}`)).toEqual([
    'turn of 1',
    'first of 1',
    'shell of 1',
    'ask of 1',
  ])
})

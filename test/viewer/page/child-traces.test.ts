import { describe, expect, test } from 'vitest'
import { insertChildTraces, originOf, originOfId } from '../../../src/viewer/page/child-traces.ts'
import type { SpanRow, TraceView, TurnRow } from '../../../src/viewer/server/api.ts'
import { rowsOf } from './rows.ts'

function viewOf(traceId: string, text: string, more: Partial<TraceView> = {}): TraceView {
  const rows = rowsOf(text)
  return { turn: { traceId } as TurnRow, now: 0, startAt: 0, rows, path: [], folds: [], ...more }
}

function begins(view: TraceView, id: string, ...childTraces: readonly string[]): TraceView {
  return { ...view, rows: view.rows.map((row): SpanRow => (row.id === id ? { ...row, childTraces } : row)) }
}

function text({ rows }: TraceView): string {
  return rows
    .map(
      ({ id, parent, depth, childTraces }) =>
        `${'  '.repeat(depth)}${id} < ${parent}${childTraces ? ` + ${childTraces.join(' ')}` : ''}`,
    )
    .join('\n')
}

const PARENT = begins(
  viewOf(
    'p',
    `
    session turn 0-100
      tool delegate 10-50
        subagent child 10-40
      tool after 60-70
    `,
    {
      path: [{ row: 3, startAt: 60, endAt: 70, part: 'tools' }],
      folds: [{ rows: [3], totalMillis: 10 }],
    },
  ),
  'child',
  'c',
)
const CHILD = begins(
  viewOf(
    'c',
    `
    session turn 12-150
      tool inner 20-30
    `,
  ),
  'inner',
  'g',
)
const GRANDCHILD = viewOf('g', 'session turn 22-29')

test('leaves a turn without children unchanged', () => {
  expect(insertChildTraces(PARENT, new Map())).toBe(PARENT)
})

describe('turns of child sessions', () => {
  test('places them below the spans that have begun them, and moves later rows down', () => {
    const view = insertChildTraces(PARENT, new Map([['c', CHILD]]))
    expect(text(view)).toBe(`turn < -1
  delegate < 0
    child < 1
      c/turn < 2
        c/inner < 3 + g
  after < 0`)
    expect(view.path).toMatchObject([{ row: 5 }])
    expect(view.folds).toMatchObject([{ rows: [5] }])
  })

  test('places child sessions of these, too', () => {
    const view = insertChildTraces(
      PARENT,
      new Map([
        ['c', CHILD],
        ['g', GRANDCHILD],
      ]),
    )
    expect(text(view)).toBe(`turn < -1
  delegate < 0
    child < 1
      c/turn < 2
        c/inner < 3
          g/turn < 4
  after < 0`)
  })

  test('places each once, also if they claim to have begun each other', () => {
    const one = begins(viewOf('one', 'session a 0-1'), 'a', 'two', 'one')
    const two = begins(viewOf('two', 'session b 0-1'), 'b', 'one', 'two')
    const view = insertChildTraces(
      one,
      new Map([
        ['one', one],
        ['two', two],
      ]),
    )
    expect(text(view)).toBe(`a < -1 + one
  two/b < 0 + one two`)
  })
})

test('has the trace and span of each row, whatever the ids contain', () => {
  const odd = viewOf('p', 'session </a> 0-1')
  const view = insertChildTraces(begins(odd, '</a>', 'c'), new Map([['c', CHILD]]))
  expect(view.rows.map(row => originOf(row, view))).toEqual([
    { traceId: 'p', spanId: '</a>' },
    { traceId: 'c', spanId: 'turn' },
    { traceId: 'c', spanId: 'inner' },
  ])
  expect(originOfId('not there', view)).toEqual({ traceId: 'p', spanId: 'not there' })
})

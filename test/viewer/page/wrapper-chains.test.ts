import { expect, test } from 'vitest'
import { joinWrappers } from '../../../src/viewer/page/wrapper-chains.ts'
import type { TraceView } from '../../../src/viewer/server/api.ts'
import { rowsOf } from './rows.ts'

const ROWS = rowsOf(`
  session agent 0-100
    llm llm.claude-sonnet-4-6 0-99
      api asks 1-10
        tool tool.Task 10-12
          subagent subagent.reviewer 11-60
            session agent 12-59
              llm llm.claude-haiku-4-5 12-58
                api inner 13-20
        tool tool.Read 10-11
          approval ask 10-11
    skill skill.x 1-99
`)

const view = {
  rows: ROWS,
  folds: [{ rows: [3, 8], totalMillis: 3 }],
  path: [{ row: 5, startAt: 12, endAt: 13, part: 'untraced' }],
} as unknown as TraceView

function text({ rows }: TraceView): string {
  return rows
    .map(({ depth, kind, name, startAt, endAt }) => `${'  '.repeat(depth)}${kind} ${name} ${startAt}-${endAt}`)
    .join('\n')
}

test('joins a tool, its sub-agent, the agent and its loop into one row with all their time', () => {
  const joined = joinWrappers(view, new Set())
  expect(text(joined)).toBe(`session agent 0-100
  llm llm.claude-sonnet-4-6 0-99
    api asks 1-10
      subagent Task → reviewer · haiku-4-5 10-60
        api inner 13-20
      tool tool.Read 10-11
        approval ask 10-11
  skill skill.x 1-99`)
  expect(joined.rows.map(({ parent }) => parent)).toEqual([-1, 0, 1, 2, 3, 2, 5, 0])
  expect(joined.rows[3]?.id).toBe('tool.Task')
  expect(joined.folds[0]?.rows).toEqual([3, 5])
  expect(joined.path[0]?.row).toBe(3)
})

test('gives a span that is pointed at its own row', () => {
  const joined = joinWrappers(view, new Set(['subagent.reviewer']))
  expect(text(joined)).toContain(`tool tool.Task 10-12
        subagent reviewer · haiku-4-5 11-60`)
})

test('shows a failure and an open end of any of the joined spans', () => {
  const rows = rowsOf('tool tool.Task 0-1\n  subagent subagent.reviewer 0-…\n    session agent 1-9!')
  expect(joinWrappers({ ...view, rows, folds: [], path: [] }, new Set()).rows).toMatchObject([
    { id: 'tool.Task', state: 'open', isError: true },
  ])
})

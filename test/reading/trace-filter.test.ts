/** Which traces a query finds in a log, and what it says of the others. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TraceFilter } from '../../src/reading/trace-filter.ts'
import { TraceFollower } from '../../src/reading/trace-follower.ts'
import { selectTraces, type TraceSelection } from '../../src/reading/trace-log.ts'
import { exportLine, noteLine, type SpanNote, TURN_AT } from './sample-turn.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hookspan-filter-'))
})
afterEach(() => rm(directory, { recursive: true }))

function root(trace: string, from: number, more: Partial<SpanNote> = {}): SpanNote {
  return { id: `${trace}r`, trace, name: 'agent', from, to: from + 10, ...more }
}

function child(
  trace: string,
  from: number,
  attributes: SpanNote['attributes'],
  more: Partial<SpanNote> = {},
): SpanNote {
  return {
    id: `${trace}c`,
    parent: `${trace}r`,
    trace,
    name: 'x',
    from,
    to: from + 5,
    attributes: attributes ?? {},
    ...more,
  }
}

async function log(...lines: readonly string[]): Promise<string[]> {
  const path = join(directory, 'a.jsonl')
  await writeFile(path, lines.map(line => `${line}\n`).join(''))
  return [path]
}

const ids = ({ trees }: Pick<TraceSelection, 'trees'>): string[] => trees.map(({ traceId }) => traceId)

const LINES = [
  exportLine(child('aa1', 1, { 'gen_ai.request.model': 'claude-sonnet-4-6', 'session.id': 's-7f3a' }), root('aa1', 0)),
  exportLine(child('aa2', 1_001, { 'gen_ai.tool.name': 'read_file' }, { status: 2 }), root('aa2', 1_000)),
  exportLine(child('b3', 2_001, { 'llm.model_name': 'qwen3', 'tool.name': 'terminal' })),
  exportLine(root('b3', 2_000, { attributes: { 'hermes.session.id': 's-7f3b' } })),
]

describe('a filter', () => {
  test.each<[string, TraceFilter, string[]]>([
    ['errors', { hasError: true }, ['aa2']],
    ['a model', { model: 'qwen3' }, ['b3']],
    ['the beginning of a model', { model: 'claude' }, ['aa1']],
    ['not the end of a model', { model: 'sonnet-4-6' }, []],
    ['a tool', { tool: 'terminal' }, ['b3']],
    ['a tool of our own names', { tool: 'read' }, ['aa2']],
    ['the beginning of sessions', { sessionId: 's-7f3' }, ['aa1', 'b3']],
    ['a session', { sessionId: 's-7f3b' }, ['b3']],
    ['the beginning of ids, in whatever case', { traceId: 'AA' }, ['aa1', 'aa2']],
    ['traces that ended since', { sinceAt: TURN_AT + 1_010 }, ['aa2', 'b3']],
    ['several, each of some span', { model: 'qwen', tool: 'term', sessionId: 's-7f3b' }, ['b3']],
    ['several that no trace has all of', { model: 'qwen', hasError: true }, []],
  ])('finds %s', async (_, filter, expected) => {
    const paths = await log(...LINES)
    const selection = await selectTraces(paths, { last: 9, ...filter })
    expect(ids(selection)).toEqual(expected)
    expect(selection).toMatchObject({ traceCount: 3, matchCount: expected.length })
    const follower = new TraceFollower(async () => paths, { last: 9, ...filter })
    expect(ids({ trees: await follower.poll() })).toEqual(expected)
  })

  test('returns the newest matches, and counts the others', async () => {
    const selection = await selectTraces(await log(...LINES), { last: 1, traceId: 'aa' })
    expect(ids(selection)).toEqual(['aa2'])
    expect(selection).toMatchObject({ matchCount: 2, extent: { startAt: TURN_AT, endAt: TURN_AT + 2_010 } })
  })

  test('has no extents without traces', async () => {
    expect((await selectTraces(await log(), { last: 9 })).extent).toBeUndefined()
  })
})

describe('a running trace', () => {
  const old = [noteLine(root('old', 0)), exportLine(child('old', 1, {}))]

  test('is found if none of its spans has ended', async () => {
    const [tree] = (await selectTraces(await log(noteLine(root('t', 0))), { last: 5 })).trees
    expect(tree).toMatchObject({ traceId: 't', isRunning: true, spanCount: 1 })
  })

  test('is listed separately if it is older than the newest', async () => {
    const selection = await selectTraces(await log(...old, ...LINES), { last: 2 })
    expect(ids(selection)).toEqual(['aa2', 'b3'])
    expect(ids({ trees: selection.running })).toEqual(['old'])
  })

  test('is not found when its end has arrived', async () => {
    const selection = await selectTraces(await log(...old, exportLine(root('old', 0)), ...LINES), { last: 1 })
    expect(selection.running).toEqual([])
  })

  test('is of now, whenever it began', async () => {
    const since = { last: 9, sinceAt: TURN_AT + 5_000 }
    expect(ids(await selectTraces(await log(...old, ...LINES), since))).toEqual(['old'])
    expect(ids(await selectTraces(await log(...old, exportLine(root('old', 0)), ...LINES), since))).toEqual([])
  })

  test('has to pass the filter', async () => {
    const selection = await selectTraces(await log(...old, ...LINES), { last: 1, model: 'qwen' })
    expect(ids(selection)).toEqual(['b3'])
    expect(selection.running).toEqual([])
  })

  test('is open to a follower until it has ended, if it passes the filter', async () => {
    const paths = await log(noteLine(root('t', 0)), noteLine(child('t', 1, { 'gen_ai.tool.name': 'ls' })))
    const follower = new TraceFollower(async () => paths, { last: 9 })
    const others = new TraceFollower(async () => paths, { last: 9, tool: 'grep' })
    expect(await follower.poll()).toEqual([])
    expect(ids({ trees: follower.runningTraces().map(({ tree }) => tree) })).toEqual(['t'])
    await others.poll()
    expect(others.runningTraces()).toEqual([])
    await log(
      noteLine(root('t', 0)),
      noteLine(child('t', 1, { 'gen_ai.tool.name': 'ls' })),
      exportLine(child('t', 1, {})),
      exportLine(root('t', 0)),
    )
    expect(ids({ trees: await follower.poll() })).toEqual(['t'])
    expect(follower.runningTraces()).toEqual([])
  })
})

test('finds more than a few traces whole, too, wherever their spans are', async () => {
  const traces = Array.from({ length: 30 }, (_, index) => `c${index}`)
  const children = traces.map((trace, at) => exportLine(child(trace, at, {})))
  const { trees } = await selectTraces(
    await log(...children, ...traces.map((trace, at) => exportLine(root(trace, at)))),
    {
      last: 25,
    },
  )
  expect(trees.map(({ traceId, spanCount }) => `${traceId} ${spanCount}`)).toEqual(
    traces.slice(5).map(trace => `${trace} 2`),
  )
})

import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { TraceFollower } from '../../src/reading/trace-follower.ts'
import type { TraceTree } from '../../src/reading/trace-forest.ts'
import { listSegments, selectTraces } from '../../src/reading/trace-log.ts'
import { outline } from '../../src/reading/tree-outline.ts'
import { exportLine, type SpanNote } from './sample-turn.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hookspan-log-'))
})
afterEach(() => rm(directory, { recursive: true }))

function path(name: string): string {
  return join(directory, name)
}

async function append(name: string, ...lines: readonly string[]): Promise<void> {
  await writeFile(path(name), lines.map(line => `${line}\n`).join(''), { flag: 'a' })
}

function root(trace: string, from: number, sessionId = 's'): SpanNote {
  return { id: 'r', trace, name: 'agent', from, to: from + 10, attributes: { 'session.id': sessionId } }
}

function child(trace: string, from: number, id = 'c'): SpanNote {
  return { id, parent: 'r', trace, name: 'tool.ls', from, to: from + 1 }
}

function shapes(trees: readonly TraceTree[]): string[] {
  return trees.map(({ traceId, spanCount }) => `${traceId}:${spanCount}`)
}

describe('the segments of a log', () => {
  test('includes its .jsonl files, the oldest first', async () => {
    await append('b.jsonl', '')
    await append('a.jsonl', '')
    await append('a.lock', '')
    await mkdir(path('sub'))
    await mkdir(path('folder.jsonl'))
    await symlink(path('gone'), path('dangling.jsonl'))
    await utimes(path('b.jsonl'), 1_000, 1_000)
    expect(await listSegments(directory)).toEqual([path('b.jsonl'), path('a.jsonl')])
  })

  test('is empty without a directory', async () => {
    expect(await listSegments(path('none'))).toEqual([])
  })
})

describe('a selection', () => {
  test('passes over a file that was removed since it was listed, also between the two readings', async () => {
    await append('a.jsonl', exportLine(root('t1', 10)))
    await append('b.jsonl', exportLine(root('t2', 20)))
    const paths = [path('a.jsonl'), path('gone.jsonl'), path('b.jsonl')]
    expect(shapes((await selectTraces(paths, { last: 5 })).trees)).toEqual(['t1:1', 't2:1'])
    const removeFirst = (): void => rmSync(path('a.jsonl'), { force: true })
    expect(shapes((await selectTraces(paths, { last: 5 }, removeFirst)).trees)).toEqual(['t2:1'])
  })

  test('has the newest traces, whole, across files and positions', async () => {
    await append('a.jsonl', exportLine(child('t3', 31)), exportLine(root('t1', 10)), exportLine(root('t2', 20)))
    await append('b.jsonl', exportLine(root('t3', 30)), exportLine(child('t2', 21)), exportLine(child('t1', 11)))
    const selection = await selectTraces([path('a.jsonl'), path('b.jsonl')], { last: 2 })
    expect(shapes(selection.trees)).toEqual(['t2:2', 't3:2'])
    expect(selection).toMatchObject({ traceCount: 3, unreadableCount: 0 })
  })

  test('may be of one session, by whichever span names it', async () => {
    const inner: SpanNote = { ...child('t1', 12), attributes: { 'hermes.session.id': 'inner' } }
    await append('a.jsonl', exportLine(root('t1', 10, 'outer'), inner), exportLine(root('t2', 20, 'other')))
    const ofSession = async (sessionId: string): Promise<string[]> =>
      shapes((await selectTraces([path('a.jsonl')], { last: 9, sessionId })).trees)
    expect(await ofSession('outer')).toEqual(['t1:2'])
    expect(await ofSession('inner')).toEqual(['t1:2'])
    expect(await ofSession('none')).toEqual([])
  })

  test('counts unreadable lines and reports the first', async () => {
    await append('a.jsonl', exportLine(root('t1', 10)), '{', '[]')
    expect(await selectTraces([path('a.jsonl')], { last: 9 })).toMatchObject({
      unreadableCount: 2,
      firstUnreadable: { path: path('a.jsonl'), line: 2, problem: 'not valid JSON' },
    })
  })
})

describe('a follower', () => {
  function follow(query: { last: number; sessionId?: string }): TraceFollower {
    return new TraceFollower(() => listSegments(directory), query)
  }

  test('returns a trace once its root has ended, in any file', async () => {
    const follower = follow({ last: 5 })
    expect(await follower.poll()).toEqual([])
    await append('a.jsonl', exportLine(child('t1', 11)))
    expect(await follower.poll()).toEqual([])
    await append('b.jsonl', exportLine(root('t1', 10)))
    expect(shapes(await follower.poll())).toEqual(['t1:2'])
    expect(await follower.poll()).toEqual([])
  })

  test('returns a trace again when a missing part has arrived', async () => {
    const follower = follow({ last: 5 })
    const drawn = async (): Promise<string[]> => (await follower.poll()).map(tree => outline(tree))
    const late = { ...child('t1', 11, 'g'), parent: 'c' }
    await append('a.jsonl', exportLine(late), exportLine(root('t1', 10)))
    expect(await drawn()).toEqual(['agent OK\ntool.ls OK (parent running)'])
    await append('a.jsonl', exportLine({ ...child('t1', 12, 'h'), parent: 'r' }))
    expect(await drawn()).toEqual([])
    await append('a.jsonl', exportLine(child('t1', 11)))
    expect(await drawn()).toEqual(['agent OK\n  tool.ls OK\n    tool.ls OK\n  tool.ls OK'])
    await append('a.jsonl', exportLine(child('t1', 14, 'i')))
    expect(await drawn()).toEqual([])
  })

  test('depends on ended spans, not on notes or their order', async () => {
    const note = (...spans: readonly SpanNote[]): string =>
      `{"hookspan.open":${exportLine(...spans.map(span => ({ ...span, to: 0 })))}}`
    const follower = follow({ last: 5 })
    await append('a.jsonl', note(root('t1', 10), child('t1', 11)), exportLine(child('t1', 11)))
    await append('b.jsonl', note(root('t1', 10)), exportLine(root('t1', 10)), note(child('t1', 11)))
    expect((await follower.poll()).map(tree => outline(tree))).toEqual(['agent OK\n  tool.ls OK'])
    expect(await follower.poll()).toEqual([])
  })

  test('waits for the end of a line', async () => {
    const follower = follow({ last: 5 })
    const line = exportLine(root('t1', 10))
    await writeFile(path('a.jsonl'), line.slice(0, 100))
    expect(await follower.poll()).toEqual([])
    await append('a.jsonl', line.slice(100))
    expect(shapes(await follower.poll())).toEqual(['t1:1'])
  })

  test('starts with the last ones of the log, and then returns all', async () => {
    await append('a.jsonl', ...['t1', 't2', 't3'].map((trace, index) => exportLine(root(trace, index * 100))))
    const follower = follow({ last: 1 })
    expect(shapes(await follower.poll())).toEqual(['t3:1'])
    await append('a.jsonl', exportLine(root('t4', 400)), exportLine(root('t5', 500)))
    expect(shapes(await follower.poll())).toEqual(['t4:1', 't5:1'])
  })

  test('keeps to a session', async () => {
    await append('a.jsonl', exportLine(root('t1', 10, 'mine')), exportLine(root('t2', 20, 'other')))
    expect(shapes(await follow({ last: 5, sessionId: 'mine' }).poll())).toEqual(['t1:1'])
  })

  test('skips unreadable lines, and files that disappear', async () => {
    const follower = new TraceFollower(async () => [path('gone.jsonl'), ...(await listSegments(directory))], {
      last: 5,
    })
    await append('a.jsonl', 'nonsense', exportLine(root('t1', 10)))
    expect(shapes(await follower.poll())).toEqual(['t1:1'])
  })

  test('gives up the oldest of very many traces that never end, and only those', async () => {
    const follower = follow({ last: 5 })
    const open = Array.from({ length: 1_100 }, (_, index) => exportLine(child(`t${index}`, index)))
    await append('a.jsonl', ...open)
    expect(await follower.poll()).toEqual([])
    await append('a.jsonl', exportLine(root('t0', 0)), exportLine(root('t1099', 1_099)))
    expect(shapes(await follower.poll())).toEqual(['t1099:2'])
  })
})

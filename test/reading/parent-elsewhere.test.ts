/** Turns that hang below a span which somebody else records: what they are a part of is not in our log. */
import { mkdtempSync, rmSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { TraceFollower } from '../../src/reading/trace-follower.ts'
import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import { listSegments } from '../../src/reading/trace-log.ts'
import { summarize } from '../../src/reading/trace-summary.ts'
import { treeJson } from '../../src/reading/tree-json.ts'
import { outline } from '../../src/reading/tree-outline.ts'
import { renderTree } from '../../src/reading/tree-text.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { feedSteps } from '../support/feed.ts'
import { answered, began } from '../traces/scenes.ts'
import { exportLine, type SpanNote, storedSpans } from './sample-turn.ts'

function turn(id: string, from: number, session = 's'): SpanNote {
  const attributes = { 'session.id': session, 'hermes.span.kind': 'session', 'hermes.turn.number': Number(id) }
  return { id, parent: 'caller', remote: true, name: `agent ${id}`, from, to: from + 10, attributes }
}

function llm(of: string, from: number): SpanNote {
  return { id: `l${of}`, parent: of, name: `llm ${of}`, from, to: from + 5, attributes: { 'hermes.span.kind': 'llm' } }
}

function treeOf(...notes: readonly SpanNote[]): TraceTree {
  const [tree, ...others] = buildForest(storedSpans(...notes))
  if (tree === undefined || others.length > 0) throw new Error(`${others.length} other trees`)
  return tree
}

const CALLER: SpanNote = { id: 'caller', name: 'POST /chat', from: 0, to: 100 }

describe('a turn whose caller is elsewhere', () => {
  test('is a complete root marked with a parent elsewhere', () => {
    const tree = treeOf(turn('1', 0), llm('1', 1))
    expect(outline(tree)).toBe('agent 1 OK (parent elsewhere)\n  llm 1 OK')
    expect(renderTree(tree)).toMatch(/ agent 1 .* parent elsewhere$/m)
    expect(renderTree(tree)).not.toContain('missing')
    const [root] = (JSON.parse(treeJson(tree)) as { spans: object[] }).spans
    expect(root).toMatchObject({ parent_span_id: 'caller', parent_elsewhere: true })
    expect(root).not.toHaveProperty('parent_missing')
  })

  test("is that of the drawing's head, whatever else lacks a parent", () => {
    const lost: SpanNote = { id: 'x', parent: 'gone', name: 'tool', from: 0, to: 99 }
    expect(summarize(treeOf(lost, turn('1', 20)))).toMatchObject({ sessionId: 's', turnNumber: 1, durationMillis: 10 })
  })

  test('is drawn below it where the log has it, without a word', () => {
    expect(outline(treeOf(turn('1', 10), CALLER))).toBe('POST /chat OK\n  agent 1 OK')
  })

  test('has others beside it: none of them is the trace', () => {
    const tree = treeOf(turn('1', 0), turn('2', 50))
    expect(tree.roots.map(({ span }) => span.name)).toEqual(['agent 1', 'agent 2'])
    expect(summarize(tree)).toMatchObject({ sessionId: 's', turnNumber: undefined, durationMillis: 60 })
  })

  test('is marked in the tree of a test plugin', () => {
    const plugin = createTestPlugin({ parent: 'nest' })
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    feedSteps(plugin, [...began({ traceparent }), ...answered(100)])
    expect(plugin.tree()).toBe('agent OK (parent elsewhere)\n  llm.qwen3 OK')
  })
})

describe('a follower', () => {
  let directory = ''
  let follower: TraceFollower

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'hookspan-elsewhere-'))
    follower = new TraceFollower(() => listSegments(directory), { last: 5 })
  })
  afterEach(() => rmSync(directory, { recursive: true }))

  async function shownAfter(...lines: readonly string[]): Promise<string[]> {
    await appendFile(join(directory, 'a.jsonl'), lines.map(line => `${line}\n`).join(''))
    return (await follower.poll()).map(tree => tree.roots.map(({ span }) => span.name).join(', '))
  }
  const running = (...spans: readonly SpanNote[]): string =>
    `{"hookspan.open":${exportLine(...spans.map(span => ({ ...span, to: 0 })))}}`

  test('shows each turn of such a trace when it has ended', async () => {
    expect(await shownAfter(exportLine(llm('1', 1)))).toEqual([])
    expect(await shownAfter(exportLine(turn('1', 0)))).toEqual(['agent 1'])
    expect(await shownAfter(running(turn('2', 50)), exportLine(llm('2', 51)))).toEqual([])
    expect(await shownAfter(exportLine(turn('2', 50)))).toEqual(['agent 1, agent 2'])
    expect(await shownAfter()).toEqual([])
  })

  test('waits for the caller where the log knows that it is running', async () => {
    expect(await shownAfter(running(CALLER), exportLine(turn('1', 10)))).toEqual([])
    expect(await shownAfter(exportLine(CALLER))).toEqual(['POST /chat'])
  })

  test('keeps to a session among those of one caller', async () => {
    follower = new TraceFollower(() => listSegments(directory), { last: 5, sessionId: 'mine' })
    expect(await shownAfter(exportLine(turn('1', 0, 'other')))).toEqual([])
    expect(await shownAfter(exportLine(turn('2', 50, 'mine')))).toEqual(['agent 1, agent 2'])
  })
})

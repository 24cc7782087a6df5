/** What the index says of a log is what `tree` says of it, which reads all of it: the same answers by two ways. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { buildForest, type TraceTree } from '../../../src/reading/trace-forest.ts'
import { listSegments, selectTraces, type TraceQuery } from '../../../src/reading/trace-log.ts'
import { summarize } from '../../../src/reading/trace-summary.ts'
import { outline } from '../../../src/reading/tree-outline.ts'
import type { UsageSums } from '../../../src/viewer/trace-index/answers.ts'
import { fixture, REPOSITORY } from '../../cli/program.ts'
import { exportLine, noteLine, SAMPLE_TURN, type SpanNote } from '../../reading/sample-turn.ts'
import { sample } from '../../support/sample.ts'
import { LogScene, type LogTexts, type Opened, replayed } from './index-scene.ts'

const HOSTS = ['claude-agent-sdk', 'codex', 'gemini', 'openai-agents', 'openclaw', 'opencode', 'pi']

/** What agents have left: two recordings of ours, and captures of several agents. */
function agentsLog(): Promise<LogTexts> {
  const captures = HOSTS.map(host => {
    const folder = join(REPOSITORY, 'test', 'fixtures', host)
    const names = readdirSync(folder).filter(name => name.endsWith('.jsonl'))
    return ['--host', host, ...sample(names, 2).map(name => join(folder, name))]
  })
  return replayed([fixture('demo-session.jsonl')], [fixture('hermes-turn.jsonl')], ...captures)
}

/** Traces as no agent of ours leaves them: without a session, a root, a parent, an end; with costs; with names of others. */
function otherLog(): LogScene {
  const scene = new LogScene()
  const note = (trace: string, id: string, from: number, more: Partial<SpanNote> = {}): SpanNote => ({
    id,
    trace,
    name: `span ${id}`,
    from,
    to: from + 10,
    ...more,
  })
  const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': 5 }
  const paid = { ...chat, 'llm.cost.total': 0.1, 'gen_ai.usage.output_tokens': 2 }
  const root = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.conversation.id': 'talk',
    'llm.token_count.prompt': 7,
  }
  scene.lines(
    '1000-1.jsonl',
    exportLine(...SAMPLE_TURN),
    exportLine(note('aa', '1', 0), note('aa', '2', 5, { parent: '1', status: 2, message: 'it broke\u202e' })),
    exportLine(
      note('bb', '1', 20, { parent: 'gone' }),
      note('bb', '2', 25, { parent: '3' }),
      note('bb', '3', 22, { parent: '2' }),
    ),
    exportLine(note('cc', '1', 30, { attributes: root }), note('cc', '2', 31, { parent: '1', attributes: chat })),
    exportLine(note('cc', '3', 33, { parent: '1', attributes: paid }), note('dd', '1', 40, { attributes: root })),
    noteLine(note('ee', '1', 50, { attributes: { 'acme.span.kind': 'session', 'acme.session.id': 'mine' } })),
    noteLine(note('ee', '2', 51, { parent: '1' })),
    exportLine(note('ff', '1', 60, { parent: '9', remote: true }), note('ff', '2', 61, { parent: '8', remote: true })),
    '{',
    '[]',
  )
  scene.lines(
    '2000-1.jsonl',
    exportLine(note('ee', '2', 51, { parent: '1', attributes: { 'acme.span.kind': 'tool', 'tool.name': 'x' } })),
    exportLine(note('aa', '2', 5, { parent: '1', status: 2, attributes: { 'llm.model_name': 'later' } })),
  )
  return scene
}

let ofAgents: Promise<LogTexts> | undefined

const LOGS = {
  'of agents': async () => {
    ofAgents ??= agentsLog()
    return LogScene.of(await ofAgents)
  },
  'of others': async () => otherLog(),
} as const

describe.each(Object.entries(LOGS))('a log %s', (_, makeLog) => {
  async function read(): Promise<{ opened: Opened; trees: readonly TraceTree[]; scene: LogScene }> {
    const scene = await makeLog()
    const opened = scene.open()
    await opened.catchUp()
    const { trees } = await selectTraces(await listSegments(scene.traces), { last: 10_000 })
    return { opened, trees, scene }
  }

  test('has turns with the sums of its traces', async () => {
    const { opened, trees } = await read()
    const turns = await opened.turns()
    expect(turns.size).toBe(trees.length)
    for (const tree of trees) {
      const { cost, silentMillis: _, ...summary } = summarize(tree)
      const turn = turns.get(tree.traceId)
      const sessionId = summary.sessionId || `trace:${tree.traceId}`
      expect(turn).toMatchObject({ ...summary, sessionId, lastAt: tree.lastAt })
      expect(turn?.cost).toEqual({ ...cost, dollars: expect.closeTo(cost.dollars, 8) as number })
    }
  })

  test('has each trace, whole', async () => {
    const { opened, trees } = await read()
    for (const tree of trees) {
      const [indexed] = buildForest(await opened.trace(tree.traceId))
      expect(indexed && outline(indexed)).toBe(outline(tree))
    }
    expect(await opened.trace('0'.repeat(32))).toEqual([])
  })

  test('has sessions that sum up their turns, those of the last activity first', async () => {
    const { opened } = await read()
    const { rows } = await opened.sessions({ limit: 500 })
    const turns = [...(await opened.turns()).values()]
    for (const row of rows) {
      const own = turns.filter(({ sessionId }) => sessionId === row.id)
      const sum = (figure: (turn: (typeof own)[number]) => number): number =>
        own.reduce((all, turn) => all + figure(turn), 0)
      expect(row.turnCount).toBe(own.length)
      expect(row.spanCount).toBe(sum(({ spanCount }) => spanCount))
      expect(row.errorCount).toBe(sum(({ errorCount }) => errorCount))
      expect(row.tokens?.input ?? 0).toBe(sum(({ tokens }) => tokens?.input ?? 0))
      expect(row.tokens?.output ?? 0).toBe(sum(({ tokens }) => tokens?.output ?? 0))
      expect(row.lastAt).toBe(Math.max(...own.map(({ lastAt }) => lastAt)))
      expect(row.startAt).toBe(Math.min(...own.map(({ startAt }) => startAt)))
    }
    expect(rows.map(({ lastAt }) => lastAt)).toEqual(rows.map(({ lastAt }) => lastAt).toSorted((a, b) => b - a))
  })

  test('is filtered as traces are', async () => {
    const { opened, trees, scene } = await read()
    const paths = await listSegments(scene.traces)
    const turns = await opened.turns()
    const models = new Set(trees.map(tree => summarize(tree).model).filter(model => model !== ''))
    const queries: Partial<TraceQuery>[] = [
      ...[...models].map(model => ({ model: model.slice(0, 4) })),
      { tool: 'x' },
      { tool: 'b' },
      { hasError: true },
      { sinceAt: trees[Math.floor(trees.length / 2)]?.endAt ?? 0 },
      { model: 'no such model' },
    ]
    for (const query of queries) {
      const { trees: passing } = await selectTraces(paths, { ...query, last: 10_000 })
      const expected = passing.map(({ traceId }) => turns.get(traceId)?.sessionId)
      const { hasError, model, tool, sinceAt } = query
      const found = await opened.found({
        limit: 500,
        ...(model !== undefined && { model }),
        ...(tool !== undefined && { tool }),
        ...(sinceAt !== undefined && { sinceAt }),
        ...(hasError && { outcome: 'error' }),
      })
      expect(found.toSorted(), JSON.stringify(query)).toEqual([...new Set(expected)].toSorted())
    }
  })

  test('has figures with the same sums', async () => {
    const { opened, trees } = await read()
    const { total, cells, groups, hours, tools } = await opened.usage()
    const summaries = trees.map(tree => summarize(tree))
    const sumOf = (each: readonly UsageSums[], key: keyof UsageSums): number =>
      each.reduce((all, sums) => all + sums[key], 0)
    for (const list of [[total], cells, groups, hours, (await opened.usage({ by: 'day' })).groups]) {
      for (const key of ['input', 'output'] as const) {
        expect(sumOf(list, key)).toBe(summaries.reduce((all, { tokens }) => all + (tokens?.[key] ?? 0), 0))
      }
      const paid = summaries.reduce((all, { cost }) => all + cost.dollars, 0)
      expect(sumOf(list, 'dollars')).toBeCloseTo(paid, 8)
    }
    const all = [...(await opened.turns()).values()]
    expect(total.turnCount).toBe(all.length)
    expect(tools.reduce((sum, { callCount }) => sum + callCount, 0)).toBe(
      all.reduce((sum, { toolCount }) => sum + toolCount, 0),
    )
  })
})

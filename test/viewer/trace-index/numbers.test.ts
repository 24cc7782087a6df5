import { expect, test } from 'vitest'
import { exportLine, type SpanNote, TURN_AT } from '../../reading/sample-turn.ts'
import { LogScene, type Opened } from './index-scene.ts'

const DAY = 86_400_000

function turn(trace: string, from: number, agent: string, outcome: string): SpanNote {
  const who = { 'hermes.span.kind': 'session', 'session.id': `s-${trace}`, 'gen_ai.agent.name': agent }
  const attributes = { ...who, 'hermes.turn.final_status': outcome }
  return { id: 'r', trace, name: 'agent', from, to: from + 100_000, attributes }
}

function request(trace: string, id: string, from: number, millis: number, more: Partial<SpanNote> = {}): SpanNote {
  const usage = { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.cache_read.input_tokens': 60, 'llm.cost.total': 0.01 }
  const attributes = { 'hermes.span.kind': 'api', 'gen_ai.request.model': 'big', ...usage, ...more.attributes }
  return { id, trace, parent: 'r', name: 'api', from, to: from + millis, ...more, attributes }
}

function tool(trace: string, id: string, from: number, millis: number, more: Partial<SpanNote> = {}): SpanNote {
  const attributes = { 'hermes.span.kind': 'tool', 'gen_ai.tool.name': 'terminal', ...more.attributes }
  return { id, trace, parent: 'r', name: 'tool', from, to: from + millis, ...more, attributes }
}

/** The middle of a bucket is no further off than half a tenth. */
function expectNear(actual: number | undefined, expected: number): void {
  expect(Math.abs(Math.log((actual ?? 0) / expected))).toBeLessThan(0.05)
}

const blocked = { 'hermes.tool.outcome': 'blocked' }

async function opened(): Promise<Opened> {
  const scene = new LogScene()
  const failed = {
    status: 2,
    attributes: { 'error.type': 'RateLimitError', 'gen_ai.usage.input_tokens': 0 },
  } as const
  const small = { attributes: { 'gen_ai.request.model': 'small' } }
  scene.lines(
    '1-1.jsonl',
    exportLine(turn('t1', 0, 'toy', 'completed'), request('t1', 'a', 10, 1_000), request('t1', 'b', 20, 9_000, failed)),
    exportLine(
      tool('t1', 'c', 30, 500),
      tool('t1', 'd', 40, 60_000),
      tool('t1', 'e', 50, 500, { attributes: blocked }),
    ),
    exportLine({
      id: 'w',
      parent: 'd',
      trace: 't1',
      name: 'approval',
      from: 50,
      to: 59_550,
      attributes: { 'hermes.span.kind': 'approval' },
    }),
    exportLine(
      turn('t2', DAY, 'other', 'failed'),
      request('t2', 'a', DAY, 1_000),
      request('t2', 'b', DAY, 4_000, small),
    ),
  )
  const index = scene.open()
  await index.catchUp()
  return index
}

test('groups by day and model', async () => {
  const { days, turns, agents } = await (await opened()).numbers()
  const rows = days.map(row => [
    row.day,
    row.model,
    row.requestCount,
    row.errorCount,
    row.tokens.input,
    row.cachedTokens,
    row.dollars,
  ])
  expect(rows).toEqual([
    ['2026-11-21', 'big', 2, 1, 100, 120, 0.02],
    ['2026-11-22', 'big', 1, 0, 100, 60, 0.01],
    ['2026-11-22', 'small', 1, 0, 100, 60, 0.01],
  ])
  expect(turns).toEqual([
    ['completed', 1],
    ['failed', 1],
  ])
  expect(agents).toEqual(['other', 'toy'])
})

test('measures durations to within a tenth, without waits for the user', async () => {
  const { models, tools } = await (await opened()).numbers()
  const big = models.find(({ model }) => model === 'big')?.latency
  expectNear(big?.p50, 1_000)
  expectNear(big?.p99, 9_000)
  expect(tools).toMatchObject([
    {
      tool: 'terminal',
      callCount: 3,
      errorCount: 0,
      outcomes: [
        ['ok', 2],
        ['blocked', 1],
      ],
    },
  ])
  expectNear(tools[0]?.latency.p99, 500)
})

test('may be of an agent, a model, some days', async () => {
  const index = await opened()
  expect((await index.numbers({ agent: 'other' })).models.map(({ model }) => model)).toEqual(['big', 'small'])
  expect((await index.numbers({ agent: 'other' })).tools).toEqual([])
  expect((await index.numbers({ model: 'sm' })).days).toMatchObject([{ day: '2026-11-22', model: 'small' }])
  expect((await index.numbers({ untilAt: TURN_AT })).days).toMatchObject([{ day: '2026-11-21' }])
  expect((await index.numbers({ sinceAt: TURN_AT + DAY })).days.map(({ day }) => day)).toEqual([
    '2026-11-22',
    '2026-11-22',
  ])
})

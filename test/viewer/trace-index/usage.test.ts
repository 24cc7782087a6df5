import { expect, test } from 'vitest'
import type { UsageGroup } from '../../../src/viewer/trace-index/answers.ts'
import { exportLine, type SpanNote, TURN_AT } from '../../reading/sample-turn.ts'
import { LogScene, type Opened } from './index-scene.ts'

const DAY = 86_400_000

function turn(trace: string, from: number, agent: string, outcome: string): SpanNote {
  const who = { 'hermes.span.kind': 'session', 'session.id': `s-${trace}`, 'gen_ai.agent.name': agent }
  const project = agent === 'toy' ? { 'vcs.repository.name': 'work' } : {}
  const attributes = { ...who, ...project, 'hermes.turn.final_status': outcome }
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

test('groups by model, agent, session or day', async () => {
  const index = await opened()
  const rows = async (by: UsageGroup): Promise<unknown[]> =>
    (await index.usage({ by })).groups.map(row => {
      const { name, turnCount, requestCount, errorCount, input, cachedTokens, dollars } = row
      return [name, turnCount, requestCount, errorCount, input, cachedTokens, dollars]
    })
  expect(await rows('model')).toEqual([
    ['big', 0, 3, 1, 200, 180, 0.03],
    ['small', 0, 1, 0, 100, 60, 0.01],
  ])
  expect(await rows('agent')).toEqual([
    ['other', 1, 2, 0, 200, 120, 0.02],
    ['toy', 1, 2, 1, 100, 120, 0.02],
  ])
  expect((await rows('session')).map(row => (row as unknown[])[0])).toEqual(['s-t2', 's-t1'])
  expect(await rows('day')).toEqual([
    ['2026-11-21', 1, 2, 1, 100, 120, 0.02],
    ['2026-11-22', 1, 2, 0, 200, 120, 0.02],
  ])
  const { cells } = await index.usage()
  expect(cells.map(({ day, name, dollars }) => [day, name, dollars])).toEqual([
    ['2026-11-21', 'big', 0.02],
    ['2026-11-22', 'big', 0.01],
    ['2026-11-22', 'small', 0.01],
  ])
  expect(await rows('project')).toEqual([
    ['', 1, 2, 0, 200, 120, 0.02],
    ['work', 1, 2, 1, 100, 120, 0.02],
  ])
})

test('has exact percentiles of all durations, without waits for the user', async () => {
  const { groups, tools } = await (await opened()).usage()
  expect(groups[0]?.latency).toEqual({ p50: 1_000, p90: 9_000, p99: 9_000 })
  expect(tools).toEqual([{ tool: 'terminal', callCount: 3, errorCount: 0, latency: { p50: 500, p90: 500, p99: 500 } }])
})

test('compares a period with the one before it', async () => {
  const index = await opened()
  const { total, before } = await index.usage({ sinceAt: TURN_AT + DAY, untilAt: TURN_AT + 2 * DAY })
  expect([total.requestCount, total.dollars, before?.requestCount, before?.input]).toEqual([2, 0.02, 2, 100])
  expect((await index.usage({ untilAt: TURN_AT + DAY })).before).toBeUndefined()
})

test('counts days and hours in the time zone of the request', async () => {
  const index = await opened()
  const used = async (timeZone: string): Promise<unknown[]> => {
    const { hours, groups } = await index.usage({ by: 'day', timeZone })
    return [groups.map(({ name }) => name), hours.flatMap(({ turnCount }, hour) => (turnCount > 0 ? hour : []))]
  }
  const hour = new Date(TURN_AT).getUTCHours()
  expect(await used('UTC')).toEqual([
    ['2026-11-21', '2026-11-22'],
    [120 + hour, 144 + hour],
  ])
  // Fourteen hours ahead of UTC.
  expect(await used('Pacific/Kiritimati')).toEqual([
    ['2026-11-22', '2026-11-23'],
    [(120 + hour + 14) % 168, (144 + hour + 14) % 168].sort((a, b) => a - b),
  ])
  const query = { timeZone: 'UTC', weekHour: 120 + hour }
  expect(await index.found(query)).toEqual(['s-t1'])
})

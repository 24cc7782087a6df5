import { expect, test } from 'vitest'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { type FedRecord, feed, feedSteps, recording, START_AT, type Step, told } from '../support/feed.ts'
import { answered, asked, began, childTurn, delegated, only, series, seriesText, TURN, text, used } from './scenes.ts'

const RECORDS = recording('hermes-turn.jsonl')
const PARENT = '20261121_101500_7c41de'

function played(change: (record: FedRecord) => FedRecord = record => record): TestPlugin {
  const plugin = createTestPlugin({ host: 'hermes' })
  feed(plugin, RECORDS.map(change))
  return plugin
}

const TREE = played().tree({ durations: true })

function without(record: FedRecord, field: string): FedRecord {
  return { ...record, payload: { ...(record.payload as object), [field]: undefined } }
}

test.each(['task_id', 'turn_id', 'middleware_trace', 'telemetry_schema_version'])(
  'builds the same tree for an older host that sends no %s at all',
  field => {
    expect(played(record => without(record, field)).tree({ durations: true })).toBe(TREE)
  },
)

test('builds the same tree for a host (0.18) whose post_tool_call has no turn_id', () => {
  const plugin = played(record => (record.hook === 'post_tool_call' ? without(record, 'turn_id') : record))
  expect(plugin.tree({ durations: true })).toBe(TREE)
})

test('builds the same tree for a request that was too large to be reported in full', () => {
  const request = { _truncated: true, original_type: 'dict', preview: '{"method": "POST"' }
  const plugin = played(record => ({ ...record, payload: { ...(record.payload as object), request } }))
  expect(plugin.tree({ durations: true })).toBe(TREE)
})

test('treats unreported usage as absent: no attribute, no metric, no zero', async () => {
  const plugin = played(record => ({ ...record, payload: { ...(record.payload as object), usage: null } }))
  expect(plugin.tree({ durations: true })).toBe(TREE)
  for (const { attributes } of plugin.spans()) {
    for (const name of Object.keys(attributes)) expect(name).not.toMatch(/token_count|usage|turn\.tokens/)
  }
  expect(await series(plugin, 'hermes.tokens.input')).toEqual([])
  expect(await series(plugin, 'gen_ai.client.token.usage')).toEqual([])
})

test('creates a skipped call (cancelled, no pre, no arguments) from its duration', () => {
  const skipped = { ...TURN, tool_name: 'terminal', tool_call_id: 'c9', args: {}, result: '', status: 'cancelled' }
  const plugin = told([...began(), [300, 'post_tool_call', { ...skipped, duration_ms: 40 }], ...answered(900)])
  expect(plugin.tree({ attributes: ['hermes.tool.outcome'] })).toBe(text`
    agent OK
      llm.qwen3 OK
        tool.terminal OK (retroactive) [hermes.tool.outcome=cancelled]
  `)
  expect(only(plugin, 'tool.terminal')).toMatchObject({ startAt: START_AT + 260, endAt: START_AT + 300 })
})

test('creates a call that took no time, too', () => {
  const skipped = { ...TURN, tool_name: 'terminal', tool_call_id: 'c9', args: {}, status: 'cancelled', duration_ms: 0 }
  const plugin = told([...began(), [300, 'post_tool_call', skipped], ...answered(900)])
  expect(plugin.tree()).toContain('tool.terminal OK (retroactive)')
})

test('keeps arguments and results of two parallel calls of one tool apart', () => {
  const read = (id: string) => ({ tool_name: 'read_file', tool_call_id: id, args: { path: `${id}.md` } })
  const [startA, endA] = used(300, read('a'), { result: 'text of a' }) as [Step, Step]
  const [startB, endB] = used(310, read('b'), { result: 'text of b' }) as [Step, Step]
  const plugin = told([...began(), startA, startB, endB, endA, ...answered(900)])
  expect(plugin.tree({ attributes: ['hermes.tool.target', 'gen_ai.tool.call.result'] })).toBe(text`
    agent OK
      llm.qwen3 OK
        tool.read_file OK [hermes.tool.target=a.md, gen_ai.tool.call.result="text of a"]
        tool.read_file OK [hermes.tool.target=b.md, gen_ai.tool.call.result="text of b"]
  `)
})

test('keeps the trace of a child that ends after its parent whole: the delegation outlives the turn', () => {
  const plugin = told([
    ...began(),
    ...used(100, { tool_name: 'delegate_task', tool_call_id: 'd1' }),
    delegated(160),
    ...answered(300),
    ...childTurn(1000),
    [1200, 'subagent_stop', { parent_session_id: 's1', child_session_id: 'C', child_status: 'completed' }],
  ])
  expect(plugin.tree()).toBe(text`
    agent OK
      llm.qwen3 OK
        tool.delegate_task OK
        subagent.researcher OK
          agent OK
            llm.small OK
              api.small OK
  `)
  expect(plugin.stats().spansOpen).toBe(0)
})

test('makes a review fork after the end of the turn a root of its own, and ends it after a short silence', () => {
  const fork = { turn_id: 'review-1', api_request_id: 'f1' }
  const plugin = told([...began(), ...answered(100), ...asked(5000, fork), ...used(5200, fork)])
  expect(plugin.stats().turnsOpen).toBe(1)
  feedSteps(plugin, [[5250 + 5001, 'on_session_start', { session_id: 'other' }]])
  expect(plugin.tree({ attributes: ['hermes.turn.id', 'hermes.turn.final_status'] })).toBe(text`
    agent OK [hermes.turn.id=t1, hermes.turn.final_status=completed]
      llm.qwen3 OK [hermes.turn.id=t1]

    agent OK [hermes.turn.id=review-1, hermes.turn.final_status=completed]
      api.qwen3 OK [hermes.turn.id=review-1]
        tool.terminal OK [hermes.turn.id=review-1]
  `)
})

test('counts records once that are delivered twice', () => {
  const plugin = createTestPlugin({ host: 'hermes' })
  RECORDS.forEach((record, index) => {
    feed(plugin, [{ ...record, delivery_id: `d${index}` }])
    feed(plugin, [{ ...record, delivery_id: `d${index}` }])
  })
  expect(plugin.tree({ durations: true })).toBe(TREE)
  expect(plugin.stats().hooks).toEqual({ ok: 28, ignored: 0, duplicate: 28, error: 0 })
})

test('counts records once that are delivered twice without an id of the delivery', () => {
  const plugin = createTestPlugin({ host: 'hermes' })
  for (const record of RECORDS) feed(plugin, [record, record])
  expect(plugin.tree({ durations: true })).toBe(TREE)
  expect(plugin.spans()).toHaveLength(13)
})

test('creates one span with the right times if an end overtakes its start (shell hooks)', () => {
  const [start, end] = used(300, {}, { duration_ms: 50 }) as [Step, Step]
  const plugin = told([...began(), end, start, ...answered(900)])
  expect(plugin.tree()).toBe(text`
    agent OK
      llm.qwen3 OK
        tool.terminal OK (retroactive)
  `)
  expect(only(plugin, 'tool.terminal')).toMatchObject({ startAt: START_AT + 300, endAt: START_AT + 350 })
  expect(plugin.stats().spansOpen).toBe(0)
})

test('marks the last tool if the end of its turn overtakes it, and counts its outcome', async () => {
  const [toolStart, toolEnd] = used(300, {}, { duration_ms: 50 }) as [Step, Step]
  const plugin = told([...began(), toolStart, ...answered(360), toolEnd])
  expect(plugin.tree()).toBe(text`
    agent OK
      llm.qwen3 OK
        tool.terminal UNSET (incomplete: turn_ended)
  `)
  expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
  expect(await seriesText(plugin, 'hermes.tool.calls')).toEqual(['tool_name=terminal outcome=completed → 1'])
})

test('survives a session id that rotates in the middle of the turn', () => {
  const rotated = RECORDS.findIndex(record => record.hook === 'pre_tool_call')
  const plugin = createTestPlugin({ host: 'hermes' })
  feed(
    plugin,
    RECORDS.map((record, index) => {
      const payload = record.payload as { session_id?: string }
      if (index < rotated || payload.session_id !== PARENT) return record
      return { ...record, payload: { ...payload, session_id: 'rotated' } }
    }),
  )
  expect(plugin.tree({ durations: true })).toBe(TREE)
  expect(only(plugin, 'tool.terminal').attributes).toMatchObject({
    'hermes.session.id': 'rotated',
    'session.id': PARENT,
  })
  expect(plugin.spans().at(-1)?.attributes).toMatchObject({ 'hermes.session.id': PARENT, 'session.id': PARENT })
})

test('ends the turn at the reduced on_session_end of an exit handler, with little but the session', () => {
  const [request] = asked(300) as [Step, Step]
  const plugin = told([
    ...began(),
    request,
    [700, 'on_session_end', { session_id: 's1', interrupted: true, reason: 'keyboard_interrupt' }],
  ])
  expect(plugin.tree({ attributes: ['hermes.turn.final_status', 'hermes.session.interrupted'] })).toBe(text`
    agent OK [hermes.turn.final_status=interrupted, hermes.session.interrupted=true]
      llm.qwen3 UNSET (incomplete: turn_ended)
        api.qwen3 UNSET (incomplete: turn_ended)
  `)
})

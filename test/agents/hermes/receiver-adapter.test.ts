import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hermes } from '../../../src/agents/hermes/receiver-adapter.ts'
import type { HookDelivery } from '../../../src/agents/receiver-adapter.ts'
import { createTestPlugin } from '../../../src/testing.ts'
import { feed, recordsOf } from '../../support/feed.ts'
import { FIXTURES } from '../shown.ts'
import { captured, recordsFrom, shellBody, treeOf, webhookBody } from './wire.ts'

const AT = 1_795_347_360_085

function delivered(body: unknown): HookDelivery {
  return { body, headers: {}, at: AT }
}

describe('the webhooks of a real Hermes', () => {
  test('is the tree that its plugin in Python saw in the same run', async () => {
    const plugin = recordsOf(join(FIXTURES, 'hermes', 'v022-wh-delegate.jsonl'))
    const sessions = new Set(plugin.map(({ payload }) => (payload as { session_id?: string }).session_id))
    const deliveries = captured('webhook').filter(({ body }) =>
      sessions.has((body as { session_id: string }).session_id),
    )
    expect(deliveries.length).toBeGreaterThan(20)
    expect(await treeOf(recordsFrom(deliveries))).toBe(await treeOf(plugin))
  })

  test('is sent again when it was answered too late, and is there once', async () => {
    const deliveries = captured('webhook')
    const twice = deliveries.flatMap(delivery => [delivery, { ...delivery, at: delivery.at + 1000 }])
    expect(await treeOf(recordsFrom(twice))).toBe(await treeOf(recordsFrom(deliveries)))
    const plugin = createTestPlugin({ host: 'hermes' })
    feed(plugin, recordsFrom(twice))
    expect(plugin.stats().hooks.duplicate).toBe(deliveries.length)
    await plugin.shutdown()
  })

  test('accepts the input of shell hooks, too', async () => {
    const tree = await treeOf(recordsFrom(captured('shell')))
    await expect(tree).toMatchFileSnapshot(join(FIXTURES, 'hermes', 'wire', 'shell.tree.txt'))
    expect(tree).not.toMatch(/parent missing|ambiguous|incomplete/)
  })
})

const SCENARIOS = [
  'delegation',
  'parallel',
  'batch',
  'denied',
  'fatal',
  'tools-fail',
  'v022-delegate',
  'v022-long',
  'review',
]

describe.each(SCENARIOS)('the tree of %s', scenario => {
  const records = recordsOf(join(FIXTURES, 'hermes', `${scenario}.jsonl`))

  test('is the same by webhooks', async () => {
    const deliveries = records.map((record, number) => delivered(webhookBody(record, number)))
    expect(await treeOf(recordsFrom(deliveries))).toBe(await treeOf(records))
  })

  test('is the same by shell hooks', async () => {
    const deliveries = records.map(record => ({ ...delivered(shellBody(record)), at: record.at ?? AT }))
    expect(await treeOf(recordsFrom(deliveries))).toBe(await treeOf(records))
  })
})

describe('a body', () => {
  test('has the time of the hook; without one, the time of arrival', () => {
    const said = { hook_event_name: 'pre_llm_call', timestamp: '2026-11-22T11:36:00.099568Z' }
    expect(hermes.events(delivered(said))[0]?.at).toBe(Date.UTC(2026, 10, 22, 11, 36, 0, 99))
    expect(hermes.events(delivered({ ...said, timestamp: 'noon' }))[0]?.at).toBe(AT)
    expect(hermes.events(delivered({ hook_event_name: 'pre_llm_call' }))[0]?.at).toBe(AT)
  })

  test('names the session of the parent for a delegation', () => {
    const [event] = hermes.events(
      delivered({ hook_event_name: 'subagent_start', session_id: 's1', extra: { child_session_id: 's2' } }),
    )
    expect(event?.data).toEqual({ parent_session_id: 's1', child_session_id: 's2' })
  })

  test("drops Python's representation of an object, and absent values", () => {
    const [event] = hermes.events(
      delivered({
        hook_event_name: 'post_api_request',
        tool_name: null,
        tool_input: null,
        session_id: '',
        extra: { assistant_message: "namespace(content='hi')", turn_id: 't' },
      }),
    )
    expect(event?.data).toEqual({ turn_id: 't' })
  })

  test.each([[null], ['text'], [7], [[]], [[{ hook_event_name: 'pre_llm_call' }]], [{}], [{ hook_event_name: 7 }]])(
    'is no event if it is no hook: %j',
    body => {
      expect(hermes.events(delivered(body))).toEqual([])
    },
  )

  test.each([[null], ['x'], [[1]], [7], [{ __proto__: null, a: 1 }]])('survives anything as its parts: %j', part => {
    const body = { hook_event_name: 'x', extra: part, session_id: part, tool_input: part, tool_name: part }
    expect(hermes.events(delivered({ ...body, timestamp: part, delivery_id: part }))).toHaveLength(1)
  })
})

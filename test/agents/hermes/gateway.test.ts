/** What the gateway's hooks add to a turn (`integrations/hermes/gateway`), and that they change nothing else of it. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestPlugin } from '../../../src/testing.ts'
import { type FedRecord, feed, recordsOf } from '../../support/feed.ts'
import { FIXTURES, SHOWN } from '../shown.ts'

/** The first turn of a capture, with the gateway's records around it. */
function turnOf(scenario: string): { plain: FedRecord[]; told: FedRecord[] } {
  const records = recordsOf(join(FIXTURES, 'hermes', `${scenario}.jsonl`))
  const second = records.findIndex(({ hook }, index) => hook === 'pre_llm_call' && index > 2)
  const plain = records.slice(0, second === -1 ? undefined : second)
  const { session_id } = (plain[0]?.payload ?? {}) as { session_id?: string }
  const start = { session_id, platform: 'telegram', sender_id: 'u1', metadata: { chat_type: 'dm' } }
  const told = [
    { hook: 'on_session_start', at: (plain[0]?.at ?? 0) - 5, payload: start },
    ...plain,
    { hook: 'on_session_end', at: (plain.at(-1)?.at ?? 0) + 5, payload: { session_id, platform: 'telegram' } },
  ]
  return { plain, told }
}

async function treeOf(records: readonly FedRecord[]): Promise<string> {
  const plugin = createTestPlugin({ host: 'hermes' })
  feed(plugin, records)
  await plugin.shutdown()
  return plugin.tree({ attributes: SHOWN })
}

test.each(['tool', 'parallel', 'denied', 'tools-fail'])('builds the same tree for %s', async scenario => {
  const { plain, told } = turnOf(scenario)
  expect(await treeOf(told)).toBe(await treeOf(plain))
})

test('records the sender and the kind of channel if enabled', async () => {
  for (const capture_sender_id of [false, true]) {
    const plugin = createTestPlugin({ host: 'hermes', capture_sender_id })
    feed(plugin, turnOf('tool').told)
    await plugin.shutdown()
    const root = plugin.spans().find(({ parentSpanId }) => parentSpanId === undefined)
    expect(root?.attributes['user.id']).toBe(capture_sender_id ? 'telegram:u1' : undefined)
    expect(root?.attributes['metadata']).toBe('{"chat_type":"dm"}')
    expect(root?.attributes['hermes.platform']).toBe('telegram')
  }
})

test('ends a failed turn when the gateway reports it, which Hermes does not report to plugins', () => {
  const { plain, told } = turnOf('fatal')
  const open = (records: readonly FedRecord[]): number => {
    const plugin = createTestPlugin({ host: 'hermes' })
    feed(plugin, records)
    return plugin.stats().spansOpen
  }
  expect(open(plain)).toBeGreaterThan(0)
  expect(open(told)).toBe(0)
})

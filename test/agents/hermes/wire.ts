import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hermes, type WireHook } from '../../../src/agents/hermes/receiver-adapter.ts'
import { hookRecordMachine } from '../../../src/agents/hook-records.ts'
import type { HookDelivery } from '../../../src/agents/receiver-adapter.ts'
import { createTestPlugin } from '../../../src/testing.ts'
import type { FedRecord } from '../../support/feed.ts'
import { feed } from '../../support/feed.ts'
import { FIXTURES, SHOWN } from '../shown.ts'

/** The tree of hook records, without durations: each way has its own clock. */
export async function treeOf(records: readonly FedRecord[]): Promise<string> {
  const plugin = createTestPlugin({ host: 'hermes', content_capture: 'full' })
  feed(plugin, records)
  await plugin.shutdown()
  return `${plugin.tree({ attributes: SHOWN })}\n`
}

/** What the receiver makes of deliveries to `/hermes`. */
export function recordsFrom(deliveries: readonly HookDelivery[]): FedRecord[] {
  return deliveries.flatMap(hermes.events).flatMap(event => hookRecordMachine.accept(event) ?? [])
}

/** Bodies of a real Hermes 0.22.2. */
export function captured(name: 'webhook' | 'shell'): HookDelivery[] {
  const text = readFileSync(join(FIXTURES, 'hermes', 'wire', `${name}.jsonl`), 'utf8')
  const lines = text.trimEnd().split('\n')
  return lines.map(line => ({ headers: {}, ...(JSON.parse(line) as Pick<HookDelivery, 'at' | 'body'>) }))
}

interface Keywords {
  readonly [name: string]: unknown
  readonly tool_name?: string
  readonly args?: object
  readonly session_id?: string
  readonly parent_session_id?: string
}

/** What Hermes writes to a shell hook, in place of calling a plugin in Python. */
export function shellBody({ hook, payload }: FedRecord): WireHook {
  const { tool_name = null, args = null, session_id, parent_session_id, ...extra } = (payload ?? {}) as Keywords
  return {
    hook_event_name: hook,
    tool_name,
    tool_input: args,
    session_id: session_id || parent_session_id || '',
    cwd: '/home/user',
    extra,
  }
}

/** What it posts to an outbound webhook. */
export function webhookBody(record: FedRecord, number: number): WireHook {
  const timestamp = new Date(record.at ?? 0).toISOString().replace('Z', '000Z')
  return { ...shellBody(record), delivery_id: number.toString(16).padStart(32, '0'), timestamp }
}

import type { HookRecord } from '../../../src/contract/index.ts'
import { createTestPlugin, type TestPlugin } from '../../../src/testing.ts'
import { SHOWN } from '../shown.ts'

export interface DrawnRecords {
  readonly plugin: TestPlugin
  /** Spans that were still open after the last record. */
  readonly leftOpen: number
  readonly tree: string
}

/** Hook records, as an agent tells them to the receiver, through the plugin. */
export async function drawRecords(records: readonly HookRecord[]): Promise<DrawnRecords> {
  const plugin = createTestPlugin({ host: 'locus', content_capture: 'full' })
  for (const { hook, payload, ...meta } of records) void plugin.emitUntyped(hook, payload, meta)
  const leftOpen = plugin.stats().spansOpen
  await plugin.shutdown()
  return { plugin, leftOpen, tree: plugin.tree({ attributes: SHOWN }) }
}

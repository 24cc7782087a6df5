import type { HostEvent } from '../../../src/agents/host-event.ts'
import { OpenAiAgentsMachine } from '../../../src/agents/openai-agents/events.ts'
import type { HookRecord } from '../../../src/contract/index.ts'
import { createTestPlugin, type TestPlugin } from '../../../src/testing.ts'

const HOST = 'openai-agents'

/** What the scenes are about. */
const SHOWN: readonly string[] = [
  'gen_ai.agent.name',
  'gen_ai.tool.call.id',
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.output_tokens',
  'http.response.status_code',
  'hermes.tool.outcome',
  'hermes.approval.choice',
  'hermes.turn.number',
  'hermes.turn.final_status',
  'hermes.turn.exit_reason',
]

export interface Replay {
  readonly plugin: TestPlugin
  readonly records: readonly HookRecord[]
  /** Spans that were open when the host had nothing more to say. */
  readonly leftOpen: number
  readonly tree: string
}

/** Raw events through this host's machine alone, and what it says through the plugin. */
export async function replay(events: Iterable<HostEvent>): Promise<Replay> {
  const machine = new OpenAiAgentsMachine()
  const plugin = createTestPlugin({ host: HOST, content_capture: 'full' })
  const records: HookRecord[] = []
  const tell = (record: HookRecord): void => {
    const { hook, payload, ...meta } = record
    records.push(record)
    void plugin.on(hook, payload, { ...meta, host: HOST })
  }
  let lastAt = 0
  for (const event of events) {
    lastAt = event.at ?? lastAt
    for (const record of machine.accept({ ...event, at: lastAt }) ?? []) tell(record)
  }
  for (const record of machine.end(lastAt)) tell(record)
  const leftOpen = plugin.stats().spansOpen
  await plugin.shutdown()
  return { plugin, records, leftOpen, tree: plugin.tree({ attributes: SHOWN }) }
}

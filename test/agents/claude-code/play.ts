import { ClaudeCodeMachine } from '../../../src/agents/claude-code/events.ts'
import type { HostEvent, HostMachine } from '../../../src/agents/host-event.ts'
import { createTestPlugin, type TestPlugin } from '../../../src/testing.ts'

export interface Played {
  readonly plugin: TestPlugin
  /** Spans that were open when nothing more came. */
  readonly leftOpen: number
  readonly tree: string
}

const SHOWN = ['gen_ai.usage.input_tokens', 'hermes.tool.outcome', 'hermes.approval.choice', 'hermes.turn.final_status']

/** Raw events through the machine and the core. */
export async function play(events: readonly HostEvent[], shown: readonly string[] = SHOWN): Promise<Played> {
  const plugin = createTestPlugin({ host: 'claude-code', content_capture: 'full' })
  const machine = new ClaudeCodeMachine()
  for (const event of events) tell(plugin, machine.accept(event), event)
  const lastAt = events.findLast(event => typeof event.at === 'number')?.at ?? 0
  tell(plugin, machine.end(lastAt))
  const leftOpen = plugin.stats().spansOpen
  await plugin.shutdown()
  return { plugin, leftOpen, tree: plugin.tree({ attributes: shown }) }
}

function tell(plugin: TestPlugin, records: ReturnType<HostMachine['accept']>, event?: HostEvent): void {
  if (records === undefined) void plugin.emitUntyped(`claude-code:${event?.event}`)
  for (const { hook, payload, ...meta } of records ?? []) void plugin.on(hook, payload, meta)
}

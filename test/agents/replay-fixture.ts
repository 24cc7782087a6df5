import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HostEvent } from '../../src/agents/host-event.ts'
import { RawEvents } from '../../src/cli/hook-records.ts'
import type { HookName } from '../../src/contract/index.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { FIXTURES, SHOWN } from './shown.ts'

export { FIXTURES } from './shown.ts'

export interface Fixture {
  readonly host: string
  readonly scenario: string
  readonly events: readonly HostEvent[]
}

function readFixture(host: string, scenario: string): Fixture {
  const [, ...lines] = readFileSync(join(FIXTURES, host, `${scenario}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n')
  return { host, scenario, events: lines.map(line => JSON.parse(line) as HostEvent) }
}

export function fixturesOf(host: string): Fixture[] {
  const files = readdirSync(join(FIXTURES, host)).filter(name => name.endsWith('.jsonl'))
  return files.toSorted().map(name => readFixture(host, name.slice(0, -'.jsonl'.length)))
}

export interface Replayed {
  readonly plugin: TestPlugin
  /** Names of the hook records that were told, in order. */
  readonly hooks: readonly HookName[]
  /** Spans that were still open when the last event had been read: none, after a run that went to its end. */
  readonly leftOpen: number
  readonly tree: string
}

/** Events of a host through its adapter and the plugin, as `hookspan replay` does it. */
export async function replayEvents(host: string, events: readonly HostEvent[]): Promise<Replayed> {
  const run = RawEvents.of(host)
  if (run === undefined) throw new Error(`no adapter for ${host}`)
  const plugin = createTestPlugin({ host, content_capture: 'full' })
  const hooks: HookName[] = []
  const feed = ({ hook, payload, meta }: ReturnType<RawEvents['read']>[number]): void => {
    hooks.push(hook as HookName)
    void plugin.emitUntyped(hook, payload, meta)
  }
  for (const event of events) for (const record of run.read(event)) feed(record)
  for (const record of run.end()) feed(record)
  const leftOpen = plugin.stats().spansOpen
  await plugin.shutdown()
  return { plugin, hooks, leftOpen, tree: plugin.tree({ attributes: SHOWN }) }
}

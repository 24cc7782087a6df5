/** Agents share one plugin in a process. Here each test has its own. */
import { afterEach, beforeEach } from 'vitest'
import type { Plugin } from '../../src/index.ts'

type Running = ReadonlyMap<string, { readonly plugin: Plugin }>

const RUNNING = Symbol.for('hookspan.hosts')
export const ENDINGS = ['beforeExit', 'exit'] as const
const shared = globalThis as Record<symbol, unknown>

let started: Plugin[] = []

/** As in another process from here on. */
export function forgetHosts(): void {
  const running = shared[RUNNING] as Running | undefined
  started.push(...[...(running?.values() ?? [])].map(({ plugin }) => plugin))
  for (const key of Object.getOwnPropertySymbols(shared)) {
    if (key.description?.startsWith('hookspan.')) delete shared[key]
  }
}

/** For a file whose tests attach to agents. */
export function freshHostsEachTest(): void {
  let listening: unknown[] = []
  const listeners = () => ENDINGS.flatMap(ending => process.listeners(ending as 'exit'))

  beforeEach(() => {
    started = []
    listening = listeners()
  })

  afterEach(async () => {
    forgetHosts()
    await Promise.all(started.map(plugin => plugin.shutdown()))
    for (const ending of ENDINGS) {
      for (const added of process.listeners(ending as 'exit')) {
        // A plugin's own goes with the plugin: one that is left is seen at the end of the file.
        if (added.name === 'endRun' && !listening.includes(added)) process.removeListener(ending, added)
      }
    }
  })
}

import { ignoreErrors } from '../contract/foreign.ts'
import type { Plugin } from './plugin.ts'

type AtSignal = Pick<Plugin, 'shutdown' | 'flush'>

const waiting = new Set<Plugin['shutdown']>()
const saving = new Set<() => void>()
const signalled = new Set<AtSignal>()

/**
 * `beforeExit` is emitted again whenever a listener started work, so each listener may run only once. Otherwise a flush that
 * starts a flush would keep the process alive for ever. One listener serves all plugins of the process.
 */
function onBeforeExit(): void {
  for (const shutdown of [...waiting]) void shutdown()
}

/**
 * Runs on `process.exit()` or an uncaught error. Asynchronous work is not possible any more. An exception would change the
 * host's exit code, and keep the other plugins from saving.
 */
function onExit(): void {
  for (const save of [...saving]) {
    ignoreErrors(save)
  }
}

export function saveAtExit(save: () => void): () => void {
  if (saving.size === 0) process.once('exit', onExit)
  saving.add(save)
  return () => {
    if (saving.delete(save) && saving.size === 0) process.removeListener('exit', onExit)
  }
}

/**
 * True if `process.exit()` and a natural end run exit listeners. opencode's server, which runs under Bun, ended without them.
 */
export const RUNS_EXIT_LISTENERS: boolean = ['bun', 'deno', 'electron'].every(name => !(name in process.versions))

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

function onSignal(signal: NodeJS.Signals): void {
  // A host with its own listener has received the signal and decides what it does. Raising it again would deliver it twice.
  if (process.listeners(signal).some(listener => listener !== onSignal)) {
    for (const { flush } of signalled) void flush()
    return
  }
  for (const name of SIGNALS) process.removeListener(name, onSignal)
  const raise = (): boolean => process.kill(process.pid, signal)
  void Promise.all([...signalled].map(plugin => plugin.shutdown())).then(raise, raise)
}

export function shutdownAtExit(plugin: AtSignal, handleSignals: boolean): () => void {
  const { shutdown } = plugin
  if (waiting.size === 0) process.once('beforeExit', onBeforeExit)
  waiting.add(shutdown)
  if (handleSignals) {
    // Prepended, because a `once` listener of the host that ran before ours would no longer be listed.
    if (signalled.size === 0) for (const name of SIGNALS) process.prependListener(name, onSignal)
    signalled.add(plugin)
  }
  return () => {
    if (waiting.delete(shutdown) && waiting.size === 0) process.removeListener('beforeExit', onBeforeExit)
    if (signalled.delete(plugin) && signalled.size === 0) {
      for (const name of SIGNALS) process.removeListener(name, onSignal)
    }
  }
}

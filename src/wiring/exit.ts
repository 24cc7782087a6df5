type Shutdown = () => Promise<void>

const waiting = new Set<Shutdown>()
const saving = new Set<() => void>()
const signalled = new Set<Shutdown>()
async function shutdownAll(shutdowns: ReadonlySet<Shutdown>): Promise<void> {
  await Promise.all([...shutdowns].map(shutdown => shutdown()))
}

/**
 * `beforeExit` fires again whenever something was still to be done in it, so it must be listened to once: a flush that
 * starts a flush would keep the process for ever. One listener serves all plugins of the process.
 */
function onBeforeExit(): void {
  void shutdownAll(new Set(waiting))
}

/** `process.exit()` right after the answer, or an error that nobody caught: nothing is waited for any more. */
function onExit(): void {
  for (const save of [...saving]) {
    try {
      save()
    } catch {
      // An exception here would change the exit code of the host, and keep the others from saving.
    }
  }
}

/** Has a plugin save what it holds when its process ends without asking anybody. Returns what takes it back. */
export function saveAtExit(save: () => void): () => void {
  if (saving.size === 0) process.once('exit', onExit)
  saving.add(save)
  return () => {
    if (saving.delete(save) && saving.size === 0) process.removeListener('exit', onExit)
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

function onSignal(signal: NodeJS.Signals): void {
  for (const name of SIGNALS) process.removeListener(name, onSignal)
  // The host decides what a signal does: after our flush it is raised again, with us no longer listening.
  const raise = (): boolean => process.kill(process.pid, signal)
  void shutdownAll(new Set(signalled)).then(raise, raise)
}

/** Has a plugin shut down when its process ends. Returns what takes it back. */
export function shutdownAtExit(shutdown: Shutdown, handleSignals: boolean): () => void {
  if (waiting.size === 0) process.once('beforeExit', onBeforeExit)
  waiting.add(shutdown)
  if (handleSignals) {
    if (signalled.size === 0) for (const name of SIGNALS) process.on(name, onSignal)
    signalled.add(shutdown)
  }
  return () => {
    if (waiting.delete(shutdown) && waiting.size === 0) process.removeListener('beforeExit', onBeforeExit)
    if (signalled.delete(shutdown) && signalled.size === 0) {
      for (const name of SIGNALS) process.removeListener(name, onSignal)
    }
  }
}

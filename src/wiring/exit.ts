type Shutdown = () => Promise<void>

const waiting = new Set<Shutdown>()
const saving = new Set<() => void>()
const signalled = new Set<AtSignal>()

/** What a plugin does when a signal comes. */
interface AtSignal {
  readonly shutdown: Shutdown
  /** Sends what was recorded; never rejects. */
  readonly flush: () => Promise<void>
}

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
  // A host that listens itself decides what the signal does, and has been told: raised again, it would be told twice.
  if (process.listeners(signal).some(listener => listener !== onSignal)) {
    for (const { flush } of signalled) void flush()
    return
  }
  for (const name of SIGNALS) process.removeListener(name, onSignal)
  // After our flush the signal does what it would have done without us.
  const raise = (): boolean => process.kill(process.pid, signal)
  void shutdownAll(new Set([...signalled].map(({ shutdown }) => shutdown))).then(raise, raise)
}

/** Has a plugin shut down when its process ends. Returns what takes it back. */
export function shutdownAtExit(plugin: AtSignal, handleSignals: boolean): () => void {
  const { shutdown } = plugin
  if (waiting.size === 0) process.once('beforeExit', onBeforeExit)
  waiting.add(shutdown)
  if (handleSignals) {
    // First in the list: who listens only once is gone from it when it is our turn.
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

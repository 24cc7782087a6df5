import { uptime } from 'node:os'
import { join } from 'node:path'
import type { ReceiverEndpoint } from '../agents/receiver-endpoints.ts'
import { acquireLock, type Lock, type Owner } from '../delivery/trace-log/index.ts'
import type { ConfiguredHooks } from '../guards/configured-hooks.ts'
import { inTime } from '../guards/in-time.ts'
import type { Environment } from '../plugin/config/paths.ts'
import { hookProblems, resolveConfig } from '../plugin/config/resolve.ts'
import type { Resolution, ResolvedConfig } from '../plugin/config/types.ts'
import type { DecisionTrace } from './hook-decisions.ts'
import { LIMITS, type ReceiverLimits } from './limits.ts'
import { ReceiverListeners } from './listeners.ts'
import { type Clock, type ReceiverOptions, ReceiverServer, SYSTEM_CLOCK } from './receiver.ts'
import type { ReceiverFiles } from './receiver-files.ts'
import { addressOf, ensureToken, lastPort, receiverFiles, rememberPort, secretOf } from './receiver-files.ts'
import type { openRecorder } from './recorder.ts'
import { RequestJournal } from './request-journal.ts'
import { type Health, isNewer, ReceiverClient } from './running-receiver.ts'

/** A module that never finishes loading must not block events. */
const LOAD_MILLIS = 12_000

export type LoadedHookSet = Pick<ConfiguredHooks, 'hooks' | 'lines' | 'close'>

/** Undefined if there are no hooks. Their code is then not loaded, because a receiver is mostly idle. */
async function loadDecisionMakers(options: StartReceiverOptions, resolution: Resolution) {
  const { loadHooks, loadMillis = LOAD_MILLIS, say } = options
  if (loadHooks === undefined) return undefined
  const failed = (why: string): LoadedHookSet => {
    return { hooks: undefined, lines: [`hooks: they ${why}`], close: () => undefined }
  }
  let found: LoadedHookSet | undefined
  try {
    const loaded = await inTime(loadHooks(resolution.config), loadMillis)
    found = typeof loaded === 'symbol' ? failed(`are not loaded after ${loadMillis} ms`) : loaded
  } catch (error) {
    found = failed(`cannot be loaded: ${error instanceof Error ? error.message : String(error)}`)
  }
  // An unreadable configuration may contain guards that the user relies on.
  const lines = [...hookProblems(resolution), ...(found?.lines ?? [])]
  const { hooks, close } = found ?? {}
  if (hooks === undefined && lines.length === 0) return undefined
  for (const line of lines) say(line)
  const isComplete = lines.length === 0
  if (!isComplete)
    say('guards are missing, or may be: agents that are set up with --guards closed do nothing until then')
  const { HookDecisions } = await import('./hook-decisions.ts')
  return { close, deciderFor: (trace: DecisionTrace) => new HookDecisions({ hooks, isComplete, trace, report: say }) }
}

export interface StartReceiverOptions {
  readonly env: Environment
  readonly home: string
  readonly version: string
  readonly endpoints: Readonly<Record<string, ReceiverEndpoint>>
  readonly port?: number | undefined
  readonly idleMillis?: number | undefined
  readonly limits?: Partial<ReceiverLimits>
  readonly clock?: Clock
  readonly openRecorder: typeof openRecorder
  readonly loadHooks?: ((config: ResolvedConfig) => Promise<LoadedHookSet | undefined>) | undefined
  readonly loadMillis?: number | undefined
  say(line: string): void
}

export type Started = { readonly receiver: ReceiverServer } | { readonly already: Health }

const AGAIN_MILLIS = 20
/** Clocks are corrected shortly after a machine has started. */
const BOOT_SLACK_MILLIS = 60_000

/** Replaces an older running receiver. One of the same or a newer version stays. @throws Error in one line */
export async function startReceiver(options: StartReceiverOptions): Promise<Started> {
  const { env, home, say, clock = SYSTEM_CLOCK } = options
  const limits = { ...LIMITS, ...options.limits }
  const lines: string[] = []
  const tell = (line: string): void => {
    lines.push(line)
    if (lines.length > 100) lines.shift()
    say(line)
  }
  const reported = new Set<string>()
  const sayOnce = (line: string): void => {
    if (!reported.has(line)) tell(line)
    reported.add(line)
  }
  const place = receiverFiles(env, home)
  const token = ensureToken(place, tell)
  const turn = await waitForTurn(place, token, options.version, limits, clock)
  if (turn.already !== undefined) return { already: turn.already }
  try {
    return { receiver: await start(turn, { ...options, say: tell }, { place, token, limits, clock, lines, sayOnce }) }
  } catch (error) {
    turn.lock.release()
    throw error
  }
}

interface Turn {
  readonly lock: Lock
  /** The older receiver that handed over, and may still listen on our addresses. */
  readonly before: ReceiverClient | undefined
}

async function waitForTurn(place: ReceiverFiles, token: string, version: string, limits: ReceiverLimits, clock: Clock) {
  const until = performance.now() + limits.startMillis
  let before: ReceiverClient | undefined
  for (;;) {
    const lock = acquireLock(place.directory, clock.now)
    if (!('pid' in lock)) return { lock, before: before ?? leftBehind(place, token) }
    const address = addressOf(place, lock)
    const peer = address === undefined ? undefined : new ReceiverClient(address, token)
    const health = await peer?.health()
    if (health !== undefined && !isNewer(version, health.version)) return { already: health }
    if (health !== undefined && (await peer?.command('replace', { version }))) before = peer
    else if (performance.now() > until) throw new Error(whyNotOver(place, lock, health))
    else await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
  }
}

/** A receiver whose successor died before it asked for the listeners. If there is none, requests to it fail. */
function leftBehind(place: ReceiverFiles, token: string): ReceiverClient | undefined {
  const address = addressOf(place)
  return address === undefined || address.socket === null ? undefined : new ReceiverClient(address, token)
}

function whyNotOver({ directory }: ReceiverFiles, { pid }: Owner, health: Health | undefined): string {
  const what =
    health === undefined
      ? `a receiver holds ${directory} (pid ${pid}) and does not answer`
      : `the receiver that runs (pid ${pid}, version ${health.version}) does not hand over`
  return `${what}; stop it with "hookspan serve --stop", or "kill ${pid}", and run this again`
}

async function start(
  { lock, before }: Turn,
  options: StartReceiverOptions,
  around: Pick<ReceiverOptions, 'place' | 'token' | 'limits' | 'clock' | 'lines' | 'sayOnce'>,
): Promise<ReceiverServer> {
  const { env, home, version, idleMillis, say, endpoints } = options
  const { place, limits, sayOnce } = around
  const debug = (line: string): void => (env['HOOKSPAN_DEBUG'] === '1' ? say(line) : undefined)
  const report = { warn: say, error: say, debug }
  const resolution = resolveConfig({ env, home })
  const { content_capture, capture_conversation_history } = resolution.config
  const deciders = await loadDecisionMakers(options, resolution)
  const recorder = await options.openRecorder({
    env,
    home,
    stateDirectory: place.directory,
    report,
    bootedAt: Date.now() - uptime() * 1000 - BOOT_SLACK_MILLIS,
  })
  const requests = new RequestJournal(join(place.directory, 'journal'), report)
  const receiver = new ReceiverServer({
    ...around,
    version,
    lock,
    recorder,
    requests,
    deciderFor: deciders?.deciderFor,
    idleMillis,
    isAllWanted: content_capture === 'full' || capture_conversation_history,
    endpoints: new Map(Object.entries(endpoints)),
    say,
    secretOf: path => secretOf(place, path, sayOnce),
  })
  try {
    await before?.command('leave')
    const listening = await ReceiverListeners.start({
      sockets: place.sockets,
      port: options.port,
      lastPort: before?.address.port ?? lastPort(place),
      limits,
      counts: receiver.counts,
      listenerFor: port => receiver.requests.listener(port),
      say,
      sayOnce,
    })
    receiver.start(listening)
    void receiver.closed.then(deciders?.close)
    rememberPort(place, listening.port)
    return receiver
  } catch (error) {
    deciders?.close?.()
    requests.close()
    await recorder.close('handover')
    throw error
  }
}

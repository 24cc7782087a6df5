import { uptime } from 'node:os'
import { join } from 'node:path'
import { acquireLock, type Lock, type Owner } from '../delivery/trace-log/index.ts'
import type { Environment } from '../plugin/config/paths.ts'
import { resolveConfig } from '../plugin/config/resolve.ts'
import { addressOf, lastPort, readAddress, rememberPort } from './address.ts'
import { type Clock, SYSTEM_CLOCK } from './clock.ts'
import { LIMITS, type Limits } from './limits.ts'
import { Listening } from './listening.ts'
import { decidersOf, type LoadOptions } from './load-hooks.ts'
import { type Health, Peer } from './peer.ts'
import { makePlace, type Place, placeOf, readSecret, tokenOf } from './place.ts'
import { Receiver } from './receiver.ts'
import type { openRecorder } from './recorder.ts'
import { RequestJournal } from './request-journal.ts'
import { isNewer } from './version.ts'
import type { Endpoint } from './work-queue.ts'

export interface StartOptions extends LoadOptions {
  readonly env: Environment
  /** An absolute path. Empty if the system knows no home directory. */
  readonly home: string
  readonly version: string
  readonly endpoints: Readonly<Record<string, Endpoint>>
  /** 0 = any free port. Default: the port of the last run. */
  readonly port?: number | undefined
  readonly idleMillis?: number | undefined
  readonly limits?: Partial<Limits>
  readonly clock?: Clock
  readonly openRecorder: typeof openRecorder
  say(line: string): void
}

export type Started = { readonly receiver: Receiver } | { readonly already: Health }

const AGAIN_MILLIS = 20
/** Clocks are corrected shortly after a machine has started. */
const BOOT_SLACK_MILLIS = 60_000

/**
 * Starts the receiver of this user and replaces an older running one. A running one of the same or a newer version stays.
 *
 * @throws Error in one line
 */
export async function startReceiver(options: StartOptions): Promise<Started> {
  const { env, home, say, clock = SYSTEM_CLOCK } = options
  const limits = { ...LIMITS, ...options.limits }
  const lines: string[] = []
  const tell = (line: string): void => {
    lines.push(line)
    if (lines.length > 100) lines.shift()
    say(line)
  }
  const place = placeOf(env, home)
  makePlace(place, tell)
  const token = tokenOf(place, tell)
  const turn = await waitForTurn(place, token, options.version, limits, clock)
  if ('already' in turn) return turn
  try {
    return { receiver: await start(turn, { ...options, say: tell }, { place, token, limits, clock, lines }) }
  } catch (error) {
    turn.lock.release()
    throw error
  }
}

interface Turn {
  readonly lock: Lock
  /** The older receiver that handed over, and may still listen on our addresses. */
  readonly before: Peer | undefined
}

interface Surroundings {
  readonly place: Place
  readonly token: string
  readonly limits: Limits
  readonly clock: Clock
  readonly lines: readonly string[]
}

/** Acquires the lock, from an older receiver if one holds it. */
async function waitForTurn(
  place: Place,
  token: string,
  version: string,
  { startMillis }: Limits,
  { now }: Clock,
): Promise<Turn | { readonly already: Health }> {
  const until = performance.now() + startMillis
  let before: Peer | undefined
  for (;;) {
    const lock = acquireLock(place.directory, now)
    if (!isHeld(lock)) return { lock, before: before ?? leftBehind(place, token) }
    const address = addressOf(place, lock)
    const peer = address === undefined ? undefined : new Peer(address, token)
    const health = await peer?.health()
    if (health !== undefined && !isNewer(version, health.version)) return { already: health }
    if (health !== undefined && (await peer?.replace(version))) before = peer
    else if (performance.now() > until) throw new Error(whyNotOver(place, lock, health))
    else await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
  }
}

/** A receiver whose successor died before it asked for the listeners. If there is none, requests to it fail. */
function leftBehind(place: Place, token: string): Peer | undefined {
  const address = readAddress(place)
  return address === undefined || address.socket === null ? undefined : new Peer(address, token)
}

function isHeld(lock: Lock | Owner): lock is Owner {
  return 'pid' in lock
}

function whyNotOver({ directory }: Place, { pid }: Owner, health: Health | undefined): string {
  const what =
    health === undefined
      ? `a receiver holds ${directory} (pid ${pid}) and does not answer`
      : `the receiver that runs (pid ${pid}, version ${health.version}) does not hand over`
  return `${what}; stop it with "hookspan serve --stop", or "kill ${pid}", and run this again`
}

async function start({ lock, before }: Turn, options: StartOptions, around: Surroundings): Promise<Receiver> {
  const { env, home, version, idleMillis, say, endpoints } = options
  const { place, limits } = around
  const debug = (line: string): void => (env['HOOKSPAN_DEBUG'] === '1' ? say(line) : undefined)
  const report = { warn: say, error: say, debug }
  const deciders = await decidersOf(options, say)
  const recorder = await options.openRecorder({
    env,
    home,
    stateDirectory: place.directory,
    report,
    bootedAt: Date.now() - uptime() * 1000 - BOOT_SLACK_MILLIS,
  })
  const receiver = new Receiver({
    ...around,
    version,
    lock,
    recorder,
    requests: new RequestJournal(join(place.directory, 'journal'), report),
    deciderFor: deciders?.deciderFor,
    idleMillis,
    isAllWanted: isAllWanted(env, home),
    endpoints: new Map(Object.entries(endpoints)),
    say,
    secretOf: secrets(place, say),
  })
  try {
    await before?.leave()
    const listening = await Listening.start({
      sockets: place.sockets,
      port: options.port,
      lastPort: before?.address.port ?? lastPort(place),
      limits,
      counts: receiver.counts,
      listenerFor: port => receiver.answering.listener(port),
      say,
    })
    receiver.start(listening)
    void receiver.closed.then(deciders?.close)
    rememberPort(place, listening.port)
    return receiver
  } catch (error) {
    await recorder.close('handover')
    throw error
  }
}

function isAllWanted(env: Environment, home: string): boolean {
  const { content_capture, capture_conversation_history } = resolveConfig({ env, home }).config
  return content_capture === 'full' || capture_conversation_history
}

/**
 * Reads the secret for each request, because it may be created or removed while the receiver runs. If the file is unreadable,
 * requests are refused: they are checked against a random secret.
 */
function secrets(place: Place, say: (line: string) => void): (path: string) => string | undefined {
  const said = new Set<string>()
  return path => {
    try {
      return /^\/[\w-]+$/.test(path) ? readSecret(place, path.slice(1)) : undefined
    } catch (error) {
      const line = `${(error as Error).message}; until then what is sent to ${path} by a path with the token is refused`
      if (!said.has(line)) say(line)
      said.add(line)
      return crypto.randomUUID()
    }
  }
}

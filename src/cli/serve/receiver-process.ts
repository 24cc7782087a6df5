import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { ignoreErrors } from '../../contract/foreign.ts'
import { isOnThisHost, lockHolder, type Owner } from '../../delivery/trace-log/index.ts'
import { PACKAGE_VERSION } from '../../plugin/package-facts.ts'
import type { ReceiverFiles } from '../../receiver/receiver-files.ts'
import { addressOf, ensureToken, fileKind, readToken, receiverFiles } from '../../receiver/receiver-files.ts'
import { type Health, isNewer, ReceiverClient } from '../../receiver/running-receiver.ts'
import { type CommandIo, EXIT } from '../command.ts'

export interface RunningReceiver {
  readonly peer: ReceiverClient
  readonly health: Health
}

/** Undefined if none answers. @throws Error in one line if the token cannot be read */
export async function findRunning(place: ReceiverFiles): Promise<RunningReceiver | undefined> {
  const holder = ownerIn(place)
  const address = holder && addressOf(place, holder)
  const token = address && readToken(place)
  if (address === undefined || token === undefined) return undefined
  const peer = new ReceiverClient(address, token)
  const health = await peer.health()
  return health === undefined ? undefined : { peer, health }
}

/** The process on this machine with the receiver's lock, even if it does not answer. @throws Error in one line */
function holderOf(place: ReceiverFiles): number | undefined {
  const holder = ownerIn(place)
  return holder !== undefined && isOnThisHost(holder) ? holder.pid : undefined
}

function ownerIn({ directory }: ReceiverFiles): Owner | undefined {
  return fileKind(directory) === undefined ? undefined : lockHolder(directory, Date.now)
}

const AGAIN_MILLIS = 20

async function comesTrue(isTrue: () => boolean | Promise<boolean>, millis: number): Promise<boolean> {
  const until = performance.now() + millis
  while (!(await isTrue())) {
    if (performance.now() > until) return false
    await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
  }
  return true
}

/** Longer than an older receiver takes to hand over. */
const START_MILLIS = 60_000
const STOP_MILLIS = 30_000

/** Starts a detached receiver and waits until it answers. @param program the arguments of `node` for `hookspan serve` */
export async function startDetached(program: readonly string[], io: CommandIo): Promise<number> {
  const place = receiverFiles(io.env, io.home)
  ensureToken(place, line => io.stderr.write(`hookspan serve: ${line}\n`))
  const before = await findCurrent(place)
  if (before !== undefined) return sayRunning(before, io)
  const child = spawn(process.execPath, program, {
    // Not in the user's folder, which could then not be unmounted.
    cwd: place.directory,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    windowsHide: true,
    env: io.env,
  })
  // Its output before it is detached. Later output is not read.
  let [failure, message] = ['', '']
  child.on('error', error => {
    failure = `${process.execPath} cannot be started: ${error.message}`
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    message = text.trim().replace(/^hookspan serve: /, '') || message
  })
  let running: RunningReceiver | undefined
  const isOver = async (): Promise<boolean> => {
    // Exit code 0 means that another receiver runs, which may be slow to answer.
    const isLost = (child.exitCode ?? 0) !== 0 || child.signalCode !== null || failure !== ''
    running = await findCurrent(place)
    return isLost || running !== undefined
  }
  await comesTrue(isOver, START_MILLIS)
  child.stderr?.destroy()
  child.unref()
  if (running !== undefined) return sayRunning(running, io)
  throw new Error(failure || message || 'the receiver does not answer; run "hookspan serve" to see why')
}

/** The running receiver, unless it is older than this version. */
async function findCurrent(place: ReceiverFiles): Promise<RunningReceiver | undefined> {
  const running = await findRunning(place)
  return running !== undefined && isNewer(PACKAGE_VERSION, running.health.version) ? undefined : running
}

function sayRunning({ peer: { address }, health }: RunningReceiver, io: CommandIo): number {
  io.stdout.write(`Receiver running: version ${health.version}, pid ${health.pid}, ${where(address)}\n`)
  return EXIT.ok
}

export async function stopRunning(io: CommandIo): Promise<number> {
  const place = receiverFiles(io.env, io.home)
  const [running, holder] = [await findRunning(place), holderOf(place)]
  const pid = running?.health.pid ?? holder
  if (pid === undefined) {
    io.stdout.write('Nothing to do: no receiver is running.\n')
    return EXIT.ok
  }
  // The pid is certainly the receiver's: the lock detects a reused pid.
  if (!(await running?.peer.command('stop')) && holder !== undefined) process.kill(holder, 'SIGTERM')
  if (await comesTrue(() => holderOf(place) === undefined, STOP_MILLIS)) {
    const rest = running?.health.openTurns === 0 ? '' : ' The next receiver continues open turns.'
    io.stdout.write(`Stopped (pid ${pid}).${rest}\n`)
    return EXIT.ok
  }
  const kill = process.platform === 'win32' ? 'taskkill /F /PID' : 'kill -9'
  throw new Error(
    `the receiver (pid ${pid}) does not exit; run "${kill} ${pid}". The next receiver continues open turns`,
  )
}

export function where({ socket, port }: { readonly socket: string | null; readonly port: number | null }): string {
  return [...(port === null ? [] : [`http://127.0.0.1:${port}`]), ...(socket === null ? [] : [socket])].join('  ')
}

const REFUSED: Readonly<Record<string, string>> = {
  cutOff: 'cut off',
  json: 'invalid JSON',
  protobuf: 'invalid protobuf',
  gzip: 'invalid gzip',
  service: 'spans of an unsupported service',
  rate: 'rate limit',
  busy: 'too many pending',
  size: 'too large',
  token: 'missing or wrong token',
  host: 'wrong Host header',
  origin: 'from a web page',
  path: 'unknown path',
  older: 'from a newer hookspan',
  connections: 'too many connections',
  spoolFile: 'files in the spool',
  spoolPlace: 'spool is not a directory',
}

/** Prints whether a receiver runs and its counters. Exit code 1 if none answers. */
export async function showStatus(io: CommandIo): Promise<number> {
  const place = receiverFiles(io.env, io.home)
  const running = await findRunning(place)
  if (running !== undefined) {
    for (const line of whatRuns(running)) io.stdout.write(`${line}\n`)
    return EXIT.ok
  }
  const holder = holderOf(place)
  const names = ignoreErrors(() => readdirSync(place.spool)) ?? []
  const waiting = names.filter(name => /^\d{13}-.*\.json$/.test(name)).length
  if (holder === undefined) io.stdout.write('No receiver is running; start one with "hookspan serve --detach".\n')
  else io.stdout.write(`The receiver (pid ${holder}) does not answer; stop it with "hookspan serve --stop".\n`)
  if (waiting > 0) io.stdout.write(`${count(waiting, 'event')} pending in ${place.spool}\n`)
  return EXIT.failed
}

function whatRuns({ peer: { address }, health }: RunningReceiver): string[] {
  const { counts, lines, waiting } = health
  const received = [
    count(counts.deliveries, 'delivery', 'deliveries'),
    ...(counts.spooled > 0 ? [`${counts.spooled} from the spool`] : []),
    ...(counts.duplicates > 0 ? [`${counts.duplicates} duplicates ignored`] : []),
    ...(counts.unreadable > 0 ? [`${counts.unreadable} could not be read`] : []),
    ...(waiting > 0 ? [`${waiting} queued`] : []),
  ]
  const refused = Object.entries(counts.refused).map(([why, number]) => `${REFUSED[why] ?? why}: ${number}`)
  const ignored = Object.entries(health.recorder.agents).flatMap(([host, { hooks }]) =>
    hooks.ignored > 0 ? [`${count(hooks.ignored, 'event')}${host === '' ? '' : ` of ${host}`}`] : [],
  )
  return [
    `Receiver running: version ${health.version}, pid ${health.pid}, since ${new Date(health.startedAt).toISOString()}`,
    `  address  ${where(address)}`,
    `  open     ${count(health.openTurns, 'turn')}`,
    `  received ${received.join(', ')}`,
    ...(ignored.length > 0 ? [`  ignored  ${ignored.join(', ')}`] : []),
    ...(refused.length > 0 ? [`  refused  ${refused.join(', ')}`] : []),
    ...(counts.dropped > 0
      ? [`  lost     ${count(counts.dropped, 'event')}: no receiver was running, and the spool was full`]
      : []),
    ...Object.entries(health.lostHooks ?? {}).map(
      ([host, number]) => `  lost     ${count(number, 'hook')} of ${host}: sent and never received`,
    ),
    ...(lines.length > 0 ? ['  messages', ...lines.map(line => `    ${line}`)] : []),
  ]
}

function count(number: number, one: string, several = `${one}s`): string {
  return `${number} ${number === 1 ? one : several}`
}

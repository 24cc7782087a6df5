import { type ChildProcess, spawn } from 'node:child_process'
import { isOnThisHost, lockHolder, type Owner } from '../../delivery/trace-log/index.ts'
import { PACKAGE_VERSION } from '../../plugin/package-facts.ts'
import {
  addressOf,
  createReceiverFolders,
  ensureToken,
  fileKind,
  type ReceiverFiles,
  readToken,
  receiverFiles,
} from '../../receiver/receiver-files.ts'
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

/** The process on this machine that owns the receiver's lock, whether it answers or not. @throws Error in one line */
export function holderOf(place: ReceiverFiles): number | undefined {
  const holder = ownerIn(place)
  return holder !== undefined && isOnThisHost(holder) ? holder.pid : undefined
}

function ownerIn({ directory }: ReceiverFiles): Owner | undefined {
  // No receiver has ever run here.
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
  createReceiverFolders(place, line => io.stderr.write(`hookspan serve: ${line}\n`))
  ensureToken(place, line => io.stderr.write(`hookspan serve: ${line}\n`))
  const before = await findRunning(place)
  if (before !== undefined && !isOlder(before)) return sayRunning(before, io)
  const child = spawn(process.execPath, program, {
    // Not in the user's folder, which could then not be unmounted.
    cwd: place.directory,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    windowsHide: true,
    env: io.env,
  })
  const error = errorOf(child)
  let running: RunningReceiver | undefined
  const isOver = async (): Promise<boolean> => {
    // Exit code 0 means that another receiver runs, which may be slow to answer.
    const isLost = (child.exitCode ?? 0) !== 0 || child.signalCode !== null || error.failed !== undefined
    running = await findRunning(place)
    return isLost || (running !== undefined && !isOlder(running))
  }
  await comesTrue(isOver, START_MILLIS)
  child.stderr?.destroy()
  child.unref()
  if (running !== undefined && !isOlder(running)) return sayRunning(running, io)
  throw new Error(error.failed ?? error.said ?? 'the receiver does not answer; run "hookspan serve" to see why')
}

function isOlder({ health }: RunningReceiver): boolean {
  return isNewer(PACKAGE_VERSION, health.version)
}

/** The messages before the receiver is detached. Its later output is not read. */
function errorOf(child: ChildProcess): { said?: string; failed?: string } {
  const found: { said?: string; failed?: string } = {}
  child.on('error', error => {
    found.failed = `${process.execPath} cannot be started: ${error.message}`
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    const line = text.trim().replace(/^hookspan serve: /, '')
    if (line !== '') found.said = line
  })
  return found
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
  if (!(await running?.peer.stop()) && holder !== undefined) process.kill(holder, 'SIGTERM')
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

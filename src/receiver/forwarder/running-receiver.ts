import { futimesSync, lstatSync, writeSync } from 'node:fs'
import { connect } from 'node:net'
import { isAbsolute } from 'node:path'
import { OPEN, readOwnFile, withOwnFile } from '../../delivery/trace-log/private-file.ts'
import { type ReceiverPlace, TOKEN } from '../../plugin/config/paths.ts'

export interface RunningAddress {
  readonly token: string
  readonly to: { readonly path: string } | { readonly host: string; readonly port: number }
}

const LOOPBACK = '127.0.0.1'

/** @throws an error if no receiver has written its address, or the files belong to another user */
export function runningAddress(place: ReceiverPlace): RunningAddress {
  const token = readOwnFile(place.token).toString('latin1').trim()
  if (!TOKEN.test(token)) throw new Error('no token')
  const { socket, port } = JSON.parse(readOwnFile(place.address).toString()) as {
    socket?: unknown
    port?: unknown
  }
  if (process.platform !== 'win32' && typeof socket === 'string') return { token, to: { path: ownSocket(socket) } }
  if (typeof port === 'number' && Number.isInteger(port)) return { token, to: { host: LOOPBACK, port } }
  throw new Error('no address')
}

/** Refuses a socket of another user, or a link to one: it would receive the agent's data. */
function ownSocket(path: string): string {
  const stats = lstatSync(path)
  if (!isAbsolute(path) || !stats.isSocket() || stats.uid !== process.geteuid?.()) throw new Error('not our socket')
  return path
}

const TRY_AGAIN_MILLIS = 10_000

/**
 * Starts a receiver as a separate process, without waiting for it. If several start at once, only one stays.
 *
 * @param program path of the hookspan command
 * @throws the error of the file system
 */
export async function startReceiver(place: ReceiverPlace, program: string): Promise<void> {
  if (!mayStart(place)) return
  // Loaded only now: usually a receiver is running, and the agent must not wait for this module.
  const { spawn } = await import('node:child_process')
  // `serve --detach` would start Node again while the agent may wait. `cwd` is ours: the agent's could not be unmounted.
  const child = spawn(process.execPath, [program, 'serve'], {
    cwd: place.directory,
    detached: true,
    stdio: 'ignore',
    windowsHide: true,
  })
  child.on('error', () => undefined)
  child.unref()
}

/**
 * True if no start was tried for a while, or the receiver started last has come up and is gone again. Records this attempt. An
 * agent fires dozens of hooks while a receiver starts, or if none can start.
 */
function mayStart({ address, starting }: ReceiverPlace): boolean {
  return withOwnFile(starting, OPEN.append, (descriptor, { size, mtimeMs }) => {
    const now = Date.now()
    const cameUpAt = lstatSync(address, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (size > 0 && Math.abs(now - mtimeMs) < TRY_AGAIN_MILLIS && cameUpAt <= mtimeMs) return false
    if (size === 0) writeSync(descriptor, '\n')
    futimesSync(descriptor, now / 1000, now / 1000)
    return true
  })
}

/** A receiver starts within half a second, or longer on a busy machine. Agents wait for five seconds. */
const MAX_MILLIS = 3000
const AGAIN_MILLIS = 20

export async function waitUntilUp(place: ReceiverPlace, millis: number = MAX_MILLIS): Promise<void> {
  const until = Date.now() + millis
  while (!(await isUp(place)) && Date.now() < until) await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
}

function isUp(place: ReceiverPlace): Promise<boolean> {
  return new Promise(resolve => {
    try {
      const socket = connect(runningAddress(place).to)
      const finish = (isThere: boolean): void => {
        socket.destroy()
        resolve(isThere)
      }
      socket.on('connect', () => finish(true)).on('error', () => finish(false))
    } catch {
      resolve(false)
    }
  })
}

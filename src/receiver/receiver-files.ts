import { randomBytes } from 'node:crypto'
import { fchmodSync, linkSync, lstatSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { ignoreErrors } from '../contract/foreign.ts'
import { isOnThisHost, type Owner } from '../delivery/trace-log/index.ts'
import {
  fileErrorReason,
  makePrivateDirectory,
  OPEN,
  PRIVATE_FILE,
  readOwnFile,
  withOwnFile,
  writePrivate,
} from '../delivery/trace-log/private-file.ts'
import type { Environment, ReceiverPlace } from '../plugin/config/paths.ts'
import { receiverPlace, stateHome, TOKEN, variable } from '../plugin/config/paths.ts'

/** The files of a user's receiver. None exist before it has run once. `sockets`: candidates for the socket path, best first. */
export interface ReceiverFiles extends ReceiverPlace {
  readonly sockets: readonly string[]
}

/** The limit of a socket path: 107 bytes on Linux, 103 on macOS, which has the lowest. */
const MAX_PATH = process.platform === 'linux' ? 107 : 103

export function receiverFiles(env: Environment, home: string): ReceiverFiles {
  const state = stateHome(env, home)
  if (state === undefined) throw new Error('there is no home directory; set XDG_STATE_HOME to a directory of yours')
  const place = receiverPlace(state)
  const runtime = variable(env, 'XDG_RUNTIME_DIR')
  const own = runtime !== undefined && isAbsolute(runtime) ? [join(runtime, 'hookspan', 'receiver.sock')] : []
  return { ...place, sockets: [...own, join(place.directory, 'receiver.sock')] }
}

export function createReceiverFolders({ directory, spool }: ReceiverFiles, say: (line: string) => void): void {
  try {
    makePrivateDirectory(directory, say)
    if (fileKind(spool) !== 'link') makePrivateDirectory(spool, say)
  } catch (error) {
    throw new Error(`${(error as NodeJS.ErrnoException).path ?? directory} cannot be used: ${fileErrorReason(error)}`, {
      cause: error,
    })
  }
}

export function fileKind(path: string): 'link' | 'directory' | 'socket' | 'other' | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  if (found.isSymbolicLink()) return 'link'
  if (found.isDirectory()) return 'directory'
  return found.isSocket() ? 'socket' : 'other'
}

/** Undefined if there is none. @throws Error in one line if the file belongs to another user, or hookspan did not write it */
export function readToken({ token: path }: ReceiverFiles): string | undefined {
  const text = readPrivate(path)?.trim()
  if (text === undefined || TOKEN.test(text)) return text
  throw new Error(
    `${path} is not a token that hookspan wrote; delete it, and run "hookspan init" for your agents again`,
  )
}

/** Creates the folders, and the token if there is none. @param fresh that token */
export function ensureToken(
  place: ReceiverFiles,
  say: (line: string) => void,
  fresh: string = randomBytes(32).toString('hex'),
): string {
  createReceiverFolders(place, say)
  const path = place.token
  const found = readToken(place)
  if (found !== undefined) {
    restrictToOwner(path, say)
    return found
  }
  try {
    // If two processes race, the second reads the token of the first.
    writeWhole(path, `${fresh}\n`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new Error(`cannot write ${path}: ${fileErrorReason(error)}`)
  }
  return readToken(place) ?? ''
}

/** Atomic, because other processes may look meanwhile. @throws also if the file exists */
function writeWhole(path: string, text: string): void {
  const unfinished = `${path}.${randomBytes(8).toString('hex')}`
  writeFileSync(unfinished, text, { mode: PRIVATE_FILE, flag: 'wx' })
  try {
    linkSync(unfinished, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error
    // Some file systems have no hard links. There the file is empty for a moment.
    writeFileSync(path, text, { mode: PRIVATE_FILE, flag: 'wx' })
  } finally {
    unlinkSync(unfinished)
  }
}

function restrictToOwner(path: string, say: (line: string) => void): void {
  const isRead = withOwnFile(path, OPEN.read, (descriptor, { mode }) => {
    if (process.platform === 'win32' || (mode & 0o077) === 0) return false
    fchmodSync(descriptor, PRIVATE_FILE)
    return true
  })
  if (!isRead) return
  const then = 'If this machine has other users, delete it, and run "hookspan init" for your agents again'
  say(`others could read ${path}; its permissions are restricted now. ${then}`)
}

export function readSecret({ directory }: ReceiverFiles, endpoint: string): string | undefined {
  return readPrivate(join(directory, `${endpoint}-secret`))?.trim() || undefined
}

/** Read for each request, because it may change meanwhile. If it is unreadable, a random secret refuses the request. */
export function secretOf(place: ReceiverFiles, path: string, sayOnce: (line: string) => void): string | undefined {
  try {
    return /^\/[\w-]+$/.test(path) ? readSecret(place, path.slice(1)) : undefined
  } catch (error) {
    sayOnce(`${(error as Error).message}; until then what is sent to ${path} by a path with the token is refused`)
    return crypto.randomUUID()
  }
}

function readPrivate(path: string): string | undefined {
  try {
    return readOwnFile(path).toString('utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new Error(`cannot read ${path}: ${fileErrorReason(error)}`, { cause: error })
  }
}

export function socketPathProblem(path: string): string | undefined {
  const bytes = Buffer.byteLength(path)
  if (bytes > MAX_PATH)
    return `${path} is ${bytes} bytes long, and a socket's path may have ${MAX_PATH}; set XDG_RUNTIME_DIR to a shorter one`
  const found = fileKind(path)
  if (found === undefined || found === 'socket') return undefined
  return `${path} is ${found === 'link' ? 'a symbolic link' : 'no socket'}, which hookspan did not put there; move it away`
}

/** `socket`, `port`: null if absent. `content_capture`: whole conversations are recorded; otherwise clients omit content. */
export interface Address {
  readonly pid: number
  readonly startedAt: number
  readonly version: string
  readonly socket: string | null
  readonly port: number | null
  readonly content_capture?: 'full'
}

export function readAddress(place: ReceiverFiles): Address | undefined {
  const found = ignoreErrors(() => JSON.parse(readPrivate(place.address) ?? 'null') as Partial<Address> | null)
  const { pid, startedAt, version, socket = null, port = null, content_capture } = found ?? {}
  const isWhole = typeof pid === 'number' && typeof startedAt === 'number' && typeof version === 'string'
  if (!isWhole) return undefined
  return { pid, startedAt, version, socket, port, ...(content_capture === 'full' && { content_capture }) }
}

/** Ignores an address that is not the lock holder's: a dead receiver left it, and another program may own that port by now. */
export function addressOf(place: ReceiverFiles, holder?: Owner): Address | undefined {
  const address = readAddress(place)
  return holder && isOnThisHost(holder) && address?.pid !== holder.pid ? undefined : address
}

export function writeAddress(place: ReceiverFiles, address: Address): void {
  writePrivate(place.pid, `${address.pid}\n`)
  writePrivate(place.address, `${JSON.stringify(address)}\n`)
}

/** Removes the address at an orderly shutdown. Keeps the address of a successor. */
export function removeAddress(place: ReceiverFiles, pid: number): void {
  if (readAddress(place)?.pid !== pid) return
  rmSync(place.pid, { force: true })
  rmSync(place.address, { force: true })
}

/** The port that agents are configured with. The next receiver listens there, too, if the port is free. */
export function lastPort({ directory }: ReceiverFiles): number | undefined {
  const port = Number(readPrivate(join(directory, 'port')) ?? 0)
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined
}

export function rememberPort({ directory }: ReceiverFiles, port: number): void {
  writePrivate(join(directory, 'port'), `${port}\n`)
}

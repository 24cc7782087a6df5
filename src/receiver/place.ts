import { randomBytes } from 'node:crypto'
import { fchmodSync, linkSync, lstatSync, unlinkSync, writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import {
  makePrivateDirectory,
  OPEN,
  PRIVATE_FILE,
  readOwnFile,
  reason,
  withOwnFile,
} from '../delivery/trace-log/private-place.ts'
import {
  type Environment,
  type ReceiverPlace,
  receiverPlace,
  stateHome,
  TOKEN,
  variable,
} from '../plugin/config/paths.ts'

/** The files of a user's receiver. None exist before it has run once. */
export interface Place extends ReceiverPlace {
  /** Candidates for the socket path, best first. */
  readonly sockets: readonly string[]
}

/** The limit of a socket path: 107 bytes on Linux, 103 on macOS, which has the lowest. */
const MAX_PATH = process.platform === 'linux' ? 107 : 103

/** @throws Error in one line if there is no home directory */
export function placeOf(env: Environment, home: string): Place {
  const state = stateHome(env, home)
  if (state === undefined) throw new Error('there is no home directory; set XDG_STATE_HOME to a directory of yours')
  const place = receiverPlace(state)
  const runtime = variable(env, 'XDG_RUNTIME_DIR')
  const own = runtime !== undefined && isAbsolute(runtime) ? [join(runtime, 'hookspan', 'receiver.sock')] : []
  return { ...place, sockets: [...own, join(place.directory, 'receiver.sock')] }
}

/** @throws Error in one line if other users could write there */
export function makePlace({ directory, spool }: Place, say: (line: string) => void): void {
  try {
    makePrivateDirectory(directory, say)
    if (isThere(spool) !== 'link') makePrivateDirectory(spool, say)
  } catch (error) {
    throw new Error(`${(error as NodeJS.ErrnoException).path ?? directory} cannot be used: ${reason(error)}`, {
      cause: error,
    })
  }
}

/** The kind of file at a path. Links are not followed. */
export function isThere(path: string): 'link' | 'directory' | 'socket' | 'other' | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  if (found.isSymbolicLink()) return 'link'
  if (found.isDirectory()) return 'directory'
  return found.isSocket() ? 'socket' : 'other'
}

/** Undefined if there is none. @throws Error in one line if the file belongs to another user, or hookspan did not write it */
export function readToken({ token: path }: Place): string | undefined {
  const text = readPrivate(path)?.trim()
  if (text === undefined || TOKEN.test(text)) return text
  throw new Error(
    `${path} is not a token that hookspan wrote; delete it, and run "hookspan init" for your agents again`,
  )
}

/** Creates the token if there is none, as `fresh`. @throws as `readToken` */
export function tokenOf(
  place: Place,
  say: (line: string) => void,
  fresh: string = randomBytes(32).toString('hex'),
): string {
  const path = place.token
  const found = readToken(place)
  if (found !== undefined) {
    takeFromOthers(path, say)
    return found
  }
  try {
    // If two processes race, the second reads the token of the first.
    writeWhole(path, `${fresh}\n`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw new Error(`cannot write ${path}: ${reason(error)}`)
  }
  return readToken(place) ?? ''
}

/**
 * Creates the file with its content in one step, because other processes may look meanwhile. @throws also if the file exists
 */
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

function takeFromOthers(path: string, say: (line: string) => void): void {
  const isRead = withOwnFile(path, OPEN.read, (descriptor, { mode }) => {
    if (process.platform === 'win32' || (mode & 0o077) === 0) return false
    fchmodSync(descriptor, PRIVATE_FILE)
    return true
  })
  if (!isRead) return
  const then = 'If this machine has other users, delete it, and run "hookspan init" for your agents again'
  say(`others could read ${path}; that is taken from them. ${then}`)
}

/** The secret with which a sender signs, if one was agreed. Read from the file `<endpoint>-secret`. @throws as `readToken` */
export function readSecret({ directory }: Place, endpoint: string): string | undefined {
  return readPrivate(join(directory, `${endpoint}-secret`))?.trim() || undefined
}

/** Undefined if the file does not exist. @throws Error in one line */
export function readPrivate(path: string): string | undefined {
  try {
    return readOwnFile(path).toString('utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new Error(`cannot read ${path}: ${reason(error)}`, { cause: error })
  }
}

/** The reason why there can be no socket at this path. Undefined if there can. */
export function whyNoSocket(path: string): string | undefined {
  const bytes = Buffer.byteLength(path)
  if (bytes > MAX_PATH) {
    return `${path} is ${bytes} bytes long, and a socket's path may have ${MAX_PATH}; set XDG_RUNTIME_DIR to a shorter one`
  }
  const found = isThere(path)
  if (found === undefined || found === 'socket') return undefined
  return `${path} is ${found === 'link' ? 'a symbolic link' : 'no socket'}, which hookspan did not put there; move it away`
}

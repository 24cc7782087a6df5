import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { acquireLock, isOnThisHost, type Lock, type Owner } from '../../delivery/trace-log/index.ts'
import {
  fileErrorReason,
  makePrivateDirectory,
  readOwnFile,
  writePrivate,
} from '../../delivery/trace-log/private-file.ts'
import { type Environment, stateHome } from '../../plugin/config/paths.ts'
import type { TraceSource } from '../trace-index/trace-index.ts'
import { type PageFiles, startServer, type ViewServer } from './server.ts'

type ViewAddress = Readonly<{ pid: number; port: number; token: string }>

export function viewDirectory(env: Environment, home: string): string {
  const state = stateHome(env, home)
  if (state === undefined) throw new Error('there is no home directory; set XDG_STATE_HOME to a directory of yours')
  return join(state, 'view')
}

function addressFile(directory: string): string {
  return join(directory, 'address.json')
}

/**
 * The address of the lock's holder. An address left by a dead process is ignored: its port may belong to another program by now.
 */
export function addressOf(directory: string, holder: Owner): ViewAddress | undefined {
  const address = readAddress(directory)
  return isOnThisHost(holder) && address?.pid !== holder.pid ? undefined : address
}

function readAddress(directory: string): ViewAddress | undefined {
  try {
    const found = JSON.parse(readOwnFile(addressFile(directory)).toString('utf8')) as Partial<ViewAddress> | null
    const { pid, port, token } = found ?? {}
    if (typeof pid !== 'number' || typeof port !== 'number' || typeof token !== 'string') return undefined
    return /^[\w-]{20,100}$/.test(token) ? { pid, port, token } : undefined
  } catch {
    return undefined
  }
}

/** Removes the address at an orderly shutdown, unless it belongs to a later viewer. */
function removeAddress(directory: string, token: string): void {
  if (readAddress(directory)?.token === token) rmSync(addressFile(directory), { force: true })
}

/** The URL for the user. The token is in the fragment: browsers do not send it, and the page keeps it out of the history. */
export function urlOf({ port, token }: Pick<ViewAddress, 'port' | 'token'>, path = '/'): string {
  return `http://127.0.0.1:${port}${path}#k=${token}`
}

export interface ViewerOptions {
  /**
   * The directory that records the running viewer, so that a second call finds it. Undefined: every call starts a viewer of its
   * own.
   */
  readonly directory: string | undefined
  readonly port: number | undefined
  readonly page: PageFiles
  readonly version: string
  /** Called only if this process serves the data. */
  openSource(): Promise<TraceSource>
  /** Called as soon as the page can be loaded, which waits for the source. */
  showUrl?(url: string): void
  now(): number
  say(line: string): void
}

export type RunningView = Readonly<{ url: string; close: () => Promise<void> }>

export type OtherView = Readonly<{ already: ViewAddress }>

const TOKEN_BYTES = 24
/** Interval of renewing the lock, for processes in other containers or machines that cannot check this pid. */
const TOUCH_MILLIS = 60_000
const AGAIN_MILLIS = 20
/** Time limit for the other process between taking its lock and writing its address. */
const START_MILLIS = 5_000

export async function startView(options: ViewerOptions): Promise<RunningView | OtherView> {
  const { directory, now, say } = options
  if (directory === undefined) return serve(options, undefined)
  try {
    makePrivateDirectory(directory, say)
  } catch (error) {
    // Other users could write there.
    throw new Error(`${directory} cannot be used: ${fileErrorReason(error)}`, { cause: error })
  }
  const taken = acquireLock(directory, now)
  if ('release' in taken) return serve(options, taken)
  for (let waited = 0; waited < START_MILLIS; waited += AGAIN_MILLIS) {
    const already = addressOf(directory, taken)
    if (already !== undefined) return { already }
    await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
  }
  throw new Error(`process ${taken.pid} holds ${directory} and does not say where it answers; end it, and try again`)
}

async function serve(options: ViewerOptions, lock: Lock | undefined): Promise<RunningView> {
  const { directory, showUrl } = options
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const opening = options.openSource()
  const listening = listen(options, opening, token)
  // The browser loads the page while the index is opened.
  const shown = listening.then(({ port }) => {
    const address = { pid: process.pid, port, token }
    if (directory !== undefined) writePrivate(addressFile(directory), `${JSON.stringify(address)}\n`)
    showUrl?.(urlOf({ port, token }))
  })
  const [server, source] = await Promise.all([listening, opening, shown]).catch(async error => {
    for (const each of await Promise.allSettled([listening, opening])) {
      if (each.status === 'fulfilled') await each.value.close()
    }
    if (directory !== undefined) removeAddress(directory, token)
    lock?.release()
    throw error
  })
  const touching = setInterval(() => ignoreMissing(() => lock?.touch()), TOUCH_MILLIS).unref()
  const close = async (): Promise<void> => {
    clearInterval(touching)
    if (directory !== undefined) removeAddress(directory, token)
    await server.close()
    await source.close()
    ignoreMissing(() => lock?.release())
  }
  return { url: urlOf({ port: server.port, token }), close }
}

/** If the user deletes the directory, the viewer serves on. The next one does not find it. */
function ignoreMissing(act: () => void): void {
  try {
    act()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

async function listen(options: ViewerOptions, source: Promise<TraceSource>, token: string): Promise<ViewServer> {
  const { port = 0, page, version, now } = options
  try {
    return await startServer({ source, page, token, port, version, now })
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    throw new Error(`port ${port} cannot be used: ${PORT_PROBLEMS[code] ?? message}`, { cause: error })
  }
}

const PORT_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there; choose another with --port, or leave it out',
  EACCES: 'this user may not listen there; choose one above 1023 with --port',
}

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { isOnThisHost, type Owner } from '../../delivery/trace-log/index.ts'
import {
  fileErrorReason,
  makePrivateDirectory,
  readOwnFile,
  writePrivate,
} from '../../delivery/trace-log/private-file.ts'
import { type Environment, stateHome } from '../../plugin/config/paths.ts'

export interface ViewAddress {
  readonly pid: number
  readonly port: number
  readonly token: string
}

export function viewDirectory(env: Environment, home: string): string {
  const state = stateHome(env, home)
  if (state === undefined) throw new Error('there is no home directory; set XDG_STATE_HOME to a directory of yours')
  return join(state, 'view')
}

/** @throws Error in one line when other users could write there */
export function makeViewDirectory(directory: string, say: (line: string) => void): void {
  try {
    makePrivateDirectory(directory, say)
  } catch (error) {
    throw new Error(`${directory} cannot be used: ${fileErrorReason(error)}`, { cause: error })
  }
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

export function writeAddress(directory: string, address: ViewAddress): void {
  writePrivate(addressFile(directory), `${JSON.stringify(address)}\n`)
}

/** Removes the address at an orderly shutdown, unless it belongs to a later viewer. */
export function removeAddress(directory: string, token: string): void {
  if (readAddress(directory)?.token === token) rmSync(addressFile(directory), { force: true })
}

/** The URL for the user. The token is in the fragment: browsers do not send it, and the page keeps it out of the history. */
export function urlOf({ port, token }: Pick<ViewAddress, 'port' | 'token'>, path = '/'): string {
  return `http://127.0.0.1:${port}${path}#k=${token}`
}

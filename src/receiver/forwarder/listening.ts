import { lstatSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { readOwnFile } from '../../delivery/trace-log/private-place.ts'
import { type ReceiverPlace, TOKEN } from '../../plugin/config/paths.ts'

export interface Listening {
  readonly token: string
  readonly to: { readonly path: string } | { readonly host: string; readonly port: number }
}

const LOOPBACK = '127.0.0.1'

/** @throws an error if no receiver has written its address, or the files belong to another user */
export function listening(place: ReceiverPlace): Listening {
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

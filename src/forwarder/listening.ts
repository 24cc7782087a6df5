import { lstatSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { type ReceiverPlace, TOKEN } from '../config/receiver-place.ts'
import { readOwnFile } from '../trace-log/private-place.ts'

/** How the receiver that listens is spoken to. */
export interface Listening {
  readonly token: string
  /** What `connect` of `node:net` takes. */
  readonly to: { readonly path: string } | { readonly host: string; readonly port: number }
}

const LOOPBACK = '127.0.0.1'

/** @throws an error where no receiver has said that it listens, or what is there is not ours */
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

/** Another user's, or a link to one, would be told what the agent does. */
function ownSocket(path: string): string {
  const stats = lstatSync(path)
  if (!isAbsolute(path) || !stats.isSocket() || stats.uid !== process.geteuid?.()) throw new Error('not our socket')
  return path
}

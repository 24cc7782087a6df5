import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, renameSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, type NetConnectOpts, type Socket } from 'node:net'
import { PRIVATE_FILE } from '../../delivery/trace-log/private-file.ts'

export type ListenAddress = { readonly path: string } | { readonly port: number }

/** `headersMillis`: from the connection or previous answer. `patienceMillis`: for accepted clients after the door is shut. */
export interface ListenerLimits {
  readonly connections: number
  readonly headersMillis: number
  readonly requestMillis: number
  readonly keepAliveMillis: number
  readonly checkMillis: number
  readonly patienceMillis: number
}

const HEADER_BYTES = 16 * 1024

export interface LoopbackListener {
  /** The port, chosen by the system if 0 was requested. Undefined for a socket. */
  readonly port: number | undefined
  /**
   * Accepts the connections in the queue, and no later ones. A client may have written already, without waiting for an answer.
   * If the server were closed at once, this data would be lost. `ended` resolves when all accepted connections have closed.
   * Wait for it before exiting.
   */
  close(): Promise<void>
  readonly ended: Promise<void>
}

const ADDRESS = '127.0.0.1'
/** Suffix for the renamed socket. The name is not longer than the original, so that the path is valid. */
const LEAVING = '.left'

export async function openListener(
  where: ListenAddress,
  listenerFor: (port: () => number | undefined) => RequestListener,
  limits: ListenerLimits,
  counts: { countRefusal(why: 'connections' | 'slow' | 'request'): void },
): Promise<LoopbackListener> {
  let port: number | undefined
  const options = {
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: limits.headersMillis,
    requestTimeout: limits.requestMillis,
    keepAliveTimeout: limits.keepAliveMillis,
    connectionsCheckingInterval: limits.checkMillis,
    // Clients of the socket may omit the Host header. For the port, `admit` checks it.
    requireHostHeader: false,
  }
  const answer = listenerFor(() => port)
  const server = createServer(options, answer)
  server.maxConnections = limits.connections
  // A client may close its side after writing. Decompressing its request takes a moment longer.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('drop', () => counts.countRefusal('connections'))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const isSlow = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') counts.countRefusal(isSlow ? 'slow' : 'request')
    if (socket.writable)
      socket.end(`HTTP/1.1 ${isSlow ? '408 Request Timeout' : '400 Bad Request'}\r\nConnection: close\r\n\r\n`)
    socket.destroySoon()
  })
  server.listen('path' in where ? where : { ...where, host: ADDRESS })
  // Rejects if the server emits an error first.
  await once(server, 'listening')
  // A connection that fails before it is accepted concerns no request.
  server.on('error', () => undefined)
  if ('path' in where) chmodSync(where.path, PRIVATE_FILE)
  else port = (server.address() as AddressInfo).port
  const ended = new Promise<void>(resolve => server.once('close', resolve))
  return { port, ended, close: () => closeListener(server, where, port, limits.patienceMillis) }
}

async function closeListener(server: Server, where: ListenAddress, port: number | undefined, patienceMillis: number) {
  if ('path' in where) {
    // No new client finds the socket. Earlier ones are ahead in the queue.
    const left = where.path.replace(/\.[^./]*$/, '') + LEAVING
    let path = left
    try {
      renameSync(where.path, left)
    } catch {
      path = where.path
    }
    await acceptQueued({ path }, patienceMillis)
    rmSync(left, { force: true })
  } else await acceptQueued({ host: ADDRESS, port: port ?? 0 }, patienceMillis)
  const timer = setTimeout(() => server.closeAllConnections(), patienceMillis)
  server.close(() => clearTimeout(timer))
}

/** Resolves when every queued connection has been accepted. Connects as the last in the queue, and waits to be accepted. */
function acceptQueued(to: NetConnectOpts, patienceMillis: number): Promise<void> {
  return new Promise(resolve => {
    const last = connect(to)
    const timer = setTimeout(() => last.destroy(), patienceMillis)
    last.once('connect', () => last.end()).resume()
    last.on('error', () => undefined)
    last.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** Compares in constant time, so that the duration does not reveal the position of a difference. */
export function isSameSecret(given: unknown, secret: string): boolean {
  if (typeof given !== 'string' || given.length !== secret.length) return false
  return timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(secret, 'latin1'))
}

import { chmodSync, renameSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, type NetConnectOpts, type Socket } from 'node:net'
import { PRIVATE_FILE } from '../trace-log/private-place.ts'

/** Where a server listens. */
export type Where = { readonly path: string } | { readonly port: number }

/** What nobody who comes by a door may go beyond. */
export interface DoorLimits {
  /** At once. */
  readonly connections: number
  /** From the connection, or the answer before, to the end of the headers. */
  readonly headersMillis: number
  /** From the first byte of a request to the last. */
  readonly requestMillis: number
  /** How long a connection may stay unused. */
  readonly keepAliveMillis: number
  /** How often connections are looked at. */
  readonly checkMillis: number
  /** For who has been let in, when the door is shut. */
  readonly patienceMillis: number
}

/** Is told of what never becomes a request. */
export interface DoorCounts {
  refuse(why: 'connections' | 'slow' | 'request'): void
}

/** Headers of a request, together. */
const HEADER_BYTES = 16 * 1024

/** A way into a server of this machine. */
export interface Door {
  /** The system's choice, where 0 was asked for; undefined for a socket. */
  readonly port: number | undefined
  /**
   * Lets in who has knocked, and nobody any more. Who connects is in a queue before we know of it, may write at once, and may
   * wait for no answer: closed at once, that would be lost.
   */
  shut(): Promise<void>
  /** Resolves when all are gone who were let in, which is what has to be waited for before the end. */
  readonly ended: Promise<void>
}

const ADDRESS = '127.0.0.1'
/** Beside the socket: as long a name, so that it is as good a path. */
const LEAVING = '.left'

/** @throws the error of the system when it cannot listen there */
export async function openDoor(
  where: Where,
  listenerFor: (port: () => number | undefined) => RequestListener,
  limits: DoorLimits,
  counts: DoorCounts,
): Promise<Door> {
  let port: number | undefined
  const server = serverFor(
    listenerFor(() => port),
    limits,
    counts,
  )
  await listening(server, where)
  if ('path' in where) chmodSync(where.path, PRIVATE_FILE)
  else port = (server.address() as AddressInfo).port
  const ended = new Promise<void>(resolve => server.once('close', resolve))
  return { port, ended, shut: () => shut(server, where, port, limits.patienceMillis) }
}

function serverFor(listener: RequestListener, limits: DoorLimits, counts: DoorCounts): Server {
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES,
      headersTimeout: limits.headersMillis,
      requestTimeout: limits.requestMillis,
      keepAliveTimeout: limits.keepAliveMillis,
      connectionsCheckingInterval: limits.checkMillis,
      // A client of the socket need not say whom it means; who comes by the port is asked at the gate.
      requireHostHeader: false,
    },
    listener,
  )
  server.maxConnections = limits.connections
  // Who has written and closes has said all; what is packed takes a moment longer than that.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('drop', () => counts.refuse('connections'))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const isSlow = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') counts.refuse(isSlow ? 'slow' : 'request')
    if (socket.writable)
      socket.end(`HTTP/1.1 ${isSlow ? '408 Request Timeout' : '400 Bad Request'}\r\nConnection: close\r\n\r\n`)
    socket.destroySoon()
  })
  return server
}

function listening(server: Server, where: Where): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    const isListening = (): void => {
      server.off('error', reject)
      // A connection that fails before it is one is nobody's.
      server.on('error', () => undefined)
      resolve()
    }
    if ('path' in where) server.listen(where.path, isListening)
    else server.listen(where.port, ADDRESS, isListening)
  })
}

async function shut(server: Server, where: Where, port: number | undefined, patienceMillis: number): Promise<void> {
  if ('path' in where) {
    // Nobody finds it from now on; who has found it stands before us in the queue.
    const left = where.path.replace(/\.[^./]*$/, '') + LEAVING
    const isAway = isDone(() => renameSync(where.path, left))
    await letIn({ path: isAway ? left : where.path }, patienceMillis)
    rmSync(left, { force: true })
  } else await letIn({ host: ADDRESS, port: port ?? 0 }, patienceMillis)
  const timer = setTimeout(() => server.closeAllConnections(), patienceMillis)
  server.close(() => clearTimeout(timer))
}

/** Resolves when all who stood in the queue have been let in: we stand behind them, and go when it is our turn. */
function letIn(to: NetConnectOpts, patienceMillis: number): Promise<void> {
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

function isDone(act: () => void): boolean {
  try {
    act()
    return true
  } catch {
    return false
  }
}

import type { Agent, ClientRequest } from 'node:http'
import type { Socket } from 'node:net'
import { http, https } from './sdk.ts'

/** An address that swallows packets would otherwise hold the process for the minutes that the system tries. */
const CONNECT_MILLIS = 3000

/** One connection at a time and a spare: a backend has one request in flight per signal. */
const MAX_SOCKETS = 2

export function createAgent(url: string, certificate: Buffer | undefined): Agent {
  const options = { keepAlive: true, maxSockets: MAX_SOCKETS }
  if (!url.startsWith('https:')) return new (http().Agent)(options)
  return new (https().Agent)(certificate ? { ...options, ca: certificate } : options)
}

/**
 * Keeps a request from holding the process: a host that has finished must be able to end although a collector hangs.
 * Whoever wants to wait for the request keeps the process alive itself.
 */
export function leaveProcessFree(request: ClientRequest): void {
  request.on('socket', socket => {
    // The agent takes the socket's reference back whenever it hands a kept one out again, so this is done per request.
    socket.unref()
    if (socket.connecting) boundConnect(socket)
  })
}

function boundConnect(socket: Socket): void {
  const give = setTimeout(() => socket.destroy(connectTimeout()), CONNECT_MILLIS).unref()
  socket.once('connect', () => clearTimeout(give))
  socket.once('close', () => clearTimeout(give))
}

function connectTimeout(): Error {
  return Object.assign(new Error('connect timed out'), { code: 'ETIMEDOUT' })
}

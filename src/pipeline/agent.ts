import type { Agent, ClientRequest } from 'node:http'
import type { AgentOptions } from 'node:https'
import type { Socket } from 'node:net'
import { http, https } from './sdk.ts'

/** An address that swallows packets would otherwise hold the process for the minutes that the system tries. */
const CONNECT_MILLIS = 3000

/** One connection at a time and a spare: a backend has one request in flight per signal. */
const MAX_SOCKETS = 2

/** Sees each request before it is sent. What it throws is thrown at whoever makes the request. */
export type RequestWatch = (request: ClientRequest) => void

/** What node:http calls an agent's part in a request by; the types of Node leave it out. */
interface Dispatcher {
  addRequest(request: ClientRequest, ...rest: unknown[]): void
}

type AgentClass = new (options: AgentOptions) => Agent & Dispatcher

export function createAgent(
  url: string,
  certificate: Buffer | undefined,
  watch: RequestWatch = () => undefined,
): Agent {
  const { Agent: Base } = url.startsWith('https:') ? https() : http()
  return new (watching(Base as unknown as AgentClass, watch))({
    keepAlive: true,
    maxSockets: MAX_SOCKETS,
    ...(certificate ? { ca: certificate } : {}),
  })
}

function watching(Base: AgentClass, watch: RequestWatch): AgentClass {
  return class extends Base {
    override addRequest(request: ClientRequest, ...rest: unknown[]): void {
      watch(request)
      super.addRequest(request, ...rest)
    }
  }
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

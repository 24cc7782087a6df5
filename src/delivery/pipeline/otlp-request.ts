import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { AgentOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { Delivery, DeliveryFailure } from './delivery.ts'
import { http, https } from './sdk.ts'

/** A response is a few bytes. If it is longer, only its status counts. */
const MAX_ANSWER_BYTES = 65_536

/** An address that swallows packets would otherwise hold the process for minutes, as long as the system retries. */
const CONNECT_MILLIS = 3000

/** A backend has one request in flight per signal. The second socket is a spare. */
const MAX_SOCKETS = 2

/** The time limits of one request. */
export interface Limits {
  readonly timeoutMillis: number
  /** The configured timeout, for the message. `timeoutMillis` is what earlier attempts have left of it. */
  readonly allowedMillis: number
  readonly signal: AbortSignal
}

export interface OtlpRequest extends Limits {
  readonly url: string
  readonly headers: OutgoingHttpHeaders
  readonly agent: Agent
  readonly payload: readonly Uint8Array[]
}

/** The state of one request, for the code that makes it. */
export interface Exchange {
  /** True once the outcome is settled. It does not change any more. */
  isOver(): boolean
  /** Must be called before the request is sent. Throws if the exchange is already over. */
  watch(request: ClientRequest): void
  /** Sets the outcome if there is no response. No effect once the exchange is over. */
  end(delivery: Delivery): void
}

/**
 * Resolves with the outcome of the request that `begin` makes, now or later. Never rejects. Resolves after the timeout at
 * the latest.
 */
export function exchange(limits: Limits, begin: (exchange: Exchange) => void): Promise<Delivery> {
  const startedAt = performance.now()
  return new Promise(resolve => {
    let request: ClientRequest | undefined
    let isOver = false
    const settle = (delivery: Delivery): void => {
      isOver = true
      clearTimeout(expiry)
      limits.signal.removeEventListener('abort', cut)
      resolve(delivery)
    }
    const end = (delivery: Delivery): void => {
      if (isOver) return
      settle(delivery)
      request?.destroy()
    }
    const giveUp = (afterMillis: number): void => end(failed({ kind: 'timeout', afterMillis: Math.round(afterMillis) }))
    const cut = (): void => giveUp(performance.now() - startedAt)
    const expiry = setTimeout(() => giveUp(limits.allowedMillis), limits.timeoutMillis).unref()
    if (limits.signal.aborted) return cut()
    limits.signal.addEventListener('abort', cut)
    const watch = (made: ClientRequest): void => {
      if (isOver) throw new Error('given up before it was sent')
      request = made
      leaveProcessFree(request)
      request.on('error', error => end(failed({ kind: 'network', code: codeOf(error) })))
      request.on('response', response => readAnswer(response, settle))
    }
    begin({ isOver: () => isOver, watch, end })
  })
}

/** Sends once. Never rejects. Resolves after the timeout at the latest. */
export function postOnce(post: OtlpRequest): Promise<Delivery> {
  return exchange(post, ({ watch, end }) => {
    try {
      const { request } = post.url.startsWith('https:') ? https() : http()
      const made = request(post.url, { method: 'POST', headers: post.headers, agent: post.agent })
      watch(made)
      for (const piece of post.payload) made.write(piece)
      made.end()
    } catch (error) {
      // A header contains a line break, usually from a key that was read from a file.
      end(failed({ kind: 'header', code: codeOf(error) }))
    }
  })
}

function readAnswer(response: IncomingMessage, settle: (delivery: Delivery) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  // Read at once: another listener of the response may see modified values (`makeFinal` changes `statusCode`).
  const { statusCode: status = 0, headers } = response
  // The status decides, even if the connection breaks in the middle of the body.
  const done = (): void => settle(deliveryOf(status, headers, Buffer.concat(chunks)))
  response.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= MAX_ANSWER_BYTES) {
      chunks.push(chunk)
      return
    }
    done()
    response.destroy(new Error('the answer is too long'))
  })
  response.on('end', done)
  response.on('error', done)
  response.on('close', done)
}

function deliveryOf(status: number, headers: IncomingMessage['headers'], answer: Buffer): Delivery {
  if (status >= 200 && status < 300) {
    const isPage = headers['content-type']?.startsWith('text/html') === true
    return isPage ? failed({ kind: 'page', status }) : { ok: true, answer }
  }
  const retryAfterMillis = retryAfter(headers['retry-after'])
  const { location } = headers
  const failure: DeliveryFailure = { kind: 'status', status, ...(location === undefined ? {} : { location }) }
  return { ok: false, failure, ...(retryAfterMillis === undefined ? {} : { retryAfterMillis }) }
}

function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const seconds = Number(header)
  const millis = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000
  return Number.isFinite(millis) ? Math.max(0, millis) : undefined
}

export function failed(failure: DeliveryFailure): Delivery {
  return { ok: false, failure }
}

export function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'unknown'
}

/** Sees each request before it is sent. Errors it throws reach the code that makes the request. */
export type RequestWatch = (request: ClientRequest) => void

/** The method that node:http calls on an agent. It is missing in the types of Node. */
interface Dispatcher {
  addRequest(request: ClientRequest, ...rest: unknown[]): void
}

type AgentClass = new (options: AgentOptions) => Agent & Dispatcher

export function createAgent(
  url: string,
  files: Pick<AgentOptions, 'ca' | 'cert' | 'key'>,
  watch: RequestWatch = () => undefined,
): Agent {
  const { Agent: Base } = url.startsWith('https:') ? https() : http()
  return new (watching(Base as unknown as AgentClass, watch))({
    keepAlive: true,
    maxSockets: MAX_SOCKETS,
    ...files,
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
 * Keeps a request from holding the process: a host that has finished must be able to end although a collector hangs. A
 * caller that waits for the request keeps the process alive itself.
 */
function leaveProcessFree(request: ClientRequest): void {
  request.on('socket', socket => {
    // Done per request: the agent calls `ref()` whenever it reuses a kept socket.
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

import type { EventEmitter } from 'node:events'
import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { ZlibOptions } from 'node:zlib'
import type { StringMap } from '../backends/backend-config.ts'
import { codeOf, type DeliveryFailure, type Transport, type TransportResult } from './delivery.ts'
import type { HeadersCommand } from './headers-command.ts'
import { http, https, untraced, zlib } from './sdk.ts'
import type { TlsFiles } from './tls-files.ts'

/** Retried within one delivery, as OTLP demands. The queue retries other temporary statuses (408). */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])
const REFUSES_CREDENTIALS: ReadonlySet<number> = new Set([401, 403])
const CONNECTION_LOST: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])
const FIRST_PAUSE_MILLIS = 500
/** Multiplied by the number of attempts. Applies even if the server requests a shorter pause. */
const MIN_PAUSE_MILLIS = 20
const MAX_PAUSE_MILLIS = 5000
/** A response is a few bytes. If it is longer, only its status counts. */
export const MAX_ANSWER_BYTES = 65_536
const CONNECT_MILLIS = 3000
/** Takes less than half the time of the default level, and leaves little more. */
const GZIP: ZlibOptions = { level: 3 }
/** A backend has one request in flight per signal. The second socket is a spare. */
const MAX_SOCKETS = 2

export interface OtlpTarget {
  readonly url: string
  readonly headers: StringMap
  readonly command?: HeadersCommand | undefined
  readonly gzip: boolean
  readonly timeoutMillis: number
  readonly tls: TlsFiles
}

/**
 * Sends all signals to one URL. OpenTelemetry's own exporters are not used, because they:
 * - merge `OTEL_EXPORTER_OTLP_HEADERS` into the headers of every backend, so that one backend's key reaches another;
 * - hold the process with their retry timer and their sockets;
 * - do not report the status that they retried, nor the pause that the server requested;
 * - do not report a partial success;
 * - serialise spans that are OTLP/JSON in the trace log already.
 */
export class OtlpSender implements Transport {
  readonly #target: OtlpTarget
  #http: typeof import('node:http') | typeof import('node:https') | undefined
  #agent: Agent | undefined

  constructor(target: OtlpTarget) {
    const encoding = target.gzip ? { 'content-encoding': 'gzip' } : {}
    this.#target = { ...target, headers: { ...target.headers, ...encoding } }
  }

  async deliver(payload: readonly Uint8Array[], signal: AbortSignal): Promise<TransportResult> {
    const body = this.#target.gzip ? [await gzipped(payload)] : payload
    return deliverWithRetries(this.#target, signal, this.#post, body)
  }

  async close(): Promise<void> {
    this.#agent?.destroy()
  }

  readonly #post: Post = (body, more, settle, fail) => {
    const { url, tls } = this.#target
    const headers: OutgoingHttpHeaders = { ...this.#target.headers, ...more, 'content-length': byteLengthOf(body) }
    // Kept: `require` resolves a name anew each time.
    this.#http ??= url.startsWith('https:') ? https() : http()
    this.#agent ??= createAgent(url, tls)
    const request: ClientRequest = this.#http.request(url, { method: 'POST', headers, agent: this.#agent })
    request.on('socket', leaveProcessFree)
    request.on('error', error => fail({ kind: 'network', code: codeOf(error) }))
    request.on('response', response => void readAnswer(response).then(settle))
    for (const piece of body) request.write(piece)
    request.end()
    return () => request.destroy()
  }
}

export function gzipped(payload: readonly Uint8Array[]): Promise<Buffer> {
  return promisify(zlib().gzip)(Buffer.concat(payload), GZIP)
}

export function byteLengthOf(body: readonly Uint8Array[]): number {
  let length = 0
  for (const { byteLength } of body) length += byteLength
  return length
}

export type Settle = (delivery: TransportResult) => void
export type Fail = (failure: DeliveryFailure) => void
type Cancel = () => void

/** Sends one request, which is cancelled if it takes too long. Throws if a header is invalid. */
export type Post = (
  body: readonly Uint8Array[],
  more: StringMap,
  settle: Settle,
  fail: Fail,
  leftMillis: number,
) => Cancel

interface TimedRequest {
  readonly timeoutMillis: number
  readonly deadlineAt: number
  readonly signal: AbortSignal
  readonly post: Post
  readonly body: readonly Uint8Array[]
}

/**
 * Retries until the payload is delivered, refused, or the timeout has passed. Pauses do not hold the process. `post` is
 * `OtlpSender.#post` or `GrpcSender.#call`.
 */
export async function deliverWithRetries(
  target: OtlpTarget,
  signal: AbortSignal,
  post: Post,
  body: readonly Uint8Array[],
): Promise<TransportResult> {
  const { command, timeoutMillis } = target
  const deadlineAt = performance.now() + timeoutMillis
  const request = { timeoutMillis, deadlineAt, signal, post, body }
  let earlier: FailedDelivery | undefined
  for (let attempts = 1; ; attempts++) {
    const made = await (command ? postWithCommand(command, request) : postInTime(request, {}))
    if (made.ok) return made
    const pauseMillis = pauseBeforeRetry(made, attempts)
    // If the last attempt timed out, the earlier response of the server is more useful to the user.
    if (pauseMillis === undefined) return made.failure.kind === 'timeout' ? (earlier ?? made) : made
    if (performance.now() + pauseMillis >= deadlineAt) return made
    await pause(pauseMillis, undefined, { ref: false, signal }).catch(() => undefined)
    if (signal.aborted) return made
    earlier = made
  }
}

/** If the backend refuses the headers of a command, they may have expired: the command runs again, once. */
async function postWithCommand(command: HeadersCommand, request: TimedRequest): Promise<TransportResult> {
  const { deadlineAt, signal } = request
  for (let isAgain = false; ; isAgain = true) {
    const own = await untraced(() => command.read(deadlineAt - performance.now(), signal))
    if (!own.ok) return own
    const made = await postInTime(request, own.headers)
    const isRefused = !made.ok && made.failure.kind === 'status' && REFUSES_CREDENTIALS.has(made.failure.status)
    if (isRefused) command.expire(own)
    if (!isRefused || isAgain) return made
  }
}

function postInTime(
  { timeoutMillis, deadlineAt, signal, post, body }: TimedRequest,
  more: StringMap,
): Promise<TransportResult> {
  const startedAt = performance.now()
  const leftMillis = deadlineAt - startedAt
  return new Promise(resolve => {
    let cancel: Cancel | undefined
    let isSettled = false
    const settle = (delivery: TransportResult): void => {
      isSettled = true
      clearTimeout(expiry)
      signal.removeEventListener('abort', cut)
      resolve(delivery)
    }
    const fail = (failure: DeliveryFailure): void => {
      if (isSettled) return
      settle({ ok: false, failure })
      cancel?.()
    }
    const giveUp = (afterMillis: number): void => fail({ kind: 'timeout', afterMillis: Math.round(afterMillis) })
    const cut = (): void => giveUp(performance.now() - startedAt)
    // The message names the configured timeout, of which earlier attempts may have used a part.
    const expiry = setTimeout(() => giveUp(timeoutMillis), leftMillis).unref()
    if (signal.aborted) return cut()
    signal.addEventListener('abort', cut)
    try {
      cancel = untraced(post, body, more, settle, fail, leftMillis)
    } catch (error) {
      // A header contains a line break, usually from a key that was read from a file.
      fail({ kind: 'header', code: codeOf(error) })
    }
  })
}

type FailedDelivery = Extract<TransportResult, { readonly ok: false }>

/**
 * Returns undefined if there is no retry. A lost connection is retried once, immediately: a server may close a kept connection
 * at the moment of reuse. A refused connection is not retried: a user who is starting the backend needs the message now. Over
 * gRPC, an exhausted quota comes back only if the server says when.
 */
function pauseBeforeRetry({ failure, retryAfterMillis }: FailedDelivery, attempts: number): number | undefined {
  if (failure.kind === 'network') return CONNECTION_LOST.has(failure.code) && attempts === 1 ? 0 : undefined
  if (failure.kind !== 'status' || !RETRYABLE.has(failure.status)) return undefined
  if (failure.grpc === 'RESOURCE_EXHAUSTED' && retryAfterMillis === undefined) return undefined
  const growingMillis = Math.min(FIRST_PAUSE_MILLIS * 2 ** (attempts - 1), MAX_PAUSE_MILLIS)
  const ownMillis = growingMillis * (0.8 + Math.random() * 0.4)
  return Math.max(retryAfterMillis ?? ownMillis, MIN_PAUSE_MILLIS * attempts)
}

/** The status decides, even if the connection breaks in the middle of the body. */
async function readAnswer(response: IncomingMessage): Promise<TransportResult> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_ANSWER_BYTES) break
      chunks.push(chunk)
    }
  } catch {
    // The connection broke.
  }
  const { statusCode: status = 0, headers } = response
  if (status >= 200 && status < 300) {
    const isPage = headers['content-type']?.startsWith('text/html') === true
    return isPage ? { ok: false, failure: { kind: 'page', status } } : { ok: true, answer: Buffer.concat(chunks) }
  }
  const failure: DeliveryFailure = { kind: 'status', status, location: headers.location }
  return { ok: false, failure, retryAfterMillis: retryAfter(headers['retry-after']) }
}

export function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const seconds = Number(header)
  const millis = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000
  return Number.isFinite(millis) ? Math.max(0, millis) : undefined
}

export function createAgent(url: string, files: TlsFiles): Agent {
  const { Agent: AgentOfScheme } = url.startsWith('https:') ? https() : http()
  return new AgentOfScheme({ keepAlive: true, maxSockets: MAX_SOCKETS, ...files })
}

/**
 * Keeps a request from holding the process. A caller that waits for the request keeps the process alive itself. Done per
 * request: the agent calls `ref()` whenever it reuses a kept socket.
 */
function leaveProcessFree(socket: Socket): void {
  socket.unref()
  if (socket.connecting) limitConnect(socket)
}

/** An address that swallows packets would otherwise hold the process for minutes, as long as the system retries. */
export function limitConnect(connection: EventEmitter & { destroy(error: Error): unknown }): void {
  const timedOut = (): Error => Object.assign(new Error('connect timed out'), { code: 'ETIMEDOUT' })
  const expiry = setTimeout(() => connection.destroy(timedOut()), CONNECT_MILLIS).unref()
  const clear = (): void => clearTimeout(expiry)
  connection.once('connect', clear).once('close', clear)
}

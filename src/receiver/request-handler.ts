import { createHmac, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { HookReply } from '../agents/guard-protocol.ts'
import type { HookDelivery } from '../agents/receiver-adapter.ts'
import type { ReceiverEndpoint } from '../agents/receiver-endpoints.ts'
import { parseBody, type RequestBody, readBody } from './body.ts'
import type { FailurePolicy } from './hook-decisions.ts'
import { MemoryBudget, RateLimiter, type ReceiverLimits, TEXT_LIMIT } from './limits.ts'
import { isSameSecret } from './loopback/listener.ts'
import { REFUSALS, type ReceiverCounts, type Refusal, RefusedRequest } from './refusal.ts'
import type { ReceivedRequest } from './request-journal.ts'
import { isNewer } from './running-receiver.ts'
import { isProtobuf, readTraces } from './traces.ts'

export interface ReceiverRoutes {
  /**
   * Accepts a request, in order. If this returns true, the request survives a kill. Returns false if it must be sent again.
   *
   * @param done called when nothing of the request is held in memory any more
   */
  acceptRequest(request: ReceivedRequest, deliveries: readonly HookDelivery[], done: () => void): boolean
  /** Undefined if the guards have no answer. Never rejects. @param failing undefined if the sender does not wait for one */
  decide(path: string, body: unknown, failing: FailurePolicy | undefined): Promise<HookReply | undefined> | undefined
  /** Undefined if there is no such path. Resolves to undefined on a refusal. */
  runCommand(path: string, body: unknown): Promise<object | undefined> | undefined
}

interface RequestHandlerOptions {
  readonly token: string
  readonly version: string
  readonly limits: ReceiverLimits
  readonly counts: ReceiverCounts
  /** Those with services accept spans, the others events. */
  readonly endpoints: ReadonlyMap<string, ReceiverEndpoint>
  readonly routes: ReceiverRoutes
  secretOf(path: string): string | undefined
  now(): number
}

/** A refused body is read up to this size, so that its sender can read the answer. */
const DRAINED_BODY_BYTES = 1_000_000
const DAY_MILLIS = 86_400_000
/** 2000-01-01. An older timestamp comes from a clock that was never set. */
const EPOCH_MILLIS = 946_684_800_000
/** Not passed to an adapter, which may store its headers. */
const SECRET_HEADERS = new Set(['x-hookspan-token', 'authorization', 'proxy-authorization', 'cookie'])

export class RequestHandler {
  readonly #options: RequestHandlerOptions
  readonly #rate: RateLimiter
  readonly #memory: MemoryBudget
  readonly #openRequests = new WeakMap<Socket, { count: number }>()
  /** Used for requests without an id. With the request number, the id is unique among all receivers. */
  readonly #id = randomBytes(4).toString('hex')
  #requests = 0
  isClosing = false

  constructor(options: RequestHandlerOptions) {
    this.#options = options
    this.#rate = new RateLimiter(options.limits.eventsPerSecond, options.now)
    this.#memory = new MemoryBudget(options.limits.bytesAtOnce)
  }

  listener(port: () => number | undefined): RequestListener {
    return (request, response) => {
      this.#options.counts.requests++
      const open = this.#openRequests.get(request.socket) ?? { count: 0 }
      this.#openRequests.set(request.socket, open)
      open.count++
      response.on('close', () => open.count--)
      response.sendDate = false
      // Connection errors arrive here, too. The reader of the body handles them by itself.
      request.on('error', () => undefined)
      this.#answer(request, response, port(), open.count).catch((error: unknown) => {
        this.#refuse(request, response, error instanceof RefusedRequest ? error.refusal : 'request')
      })
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, port: number | undefined, underWay: number) {
    const { token, version, limits, endpoints, routes, now } = this.#options
    const arrivedAt = now()
    const { headers } = request
    const admitted = admit(request, port, token)
    const { path } = admitted
    if (underWay > limits.requestsPerConnection) throw new RefusedRequest('busy')
    const endpoint = endpoints.get(path)
    if (endpoint === undefined) return this.#answerCommand(path, request, response)
    const client = headers['x-hookspan-client']
    if (client !== undefined && isNewer(String(client), version)) throw new RefusedRequest('older')
    const { bytes, held } = await readBody(request, limits, this.#memory)
    const values = this.#acceptBody(admitted, headers, { bytes, held, arrivedAt })
    if (endpoint.services !== undefined) {
      // An empty success, in the encoding of the request. An empty protobuf message has no bytes.
      const isBinary = isProtobuf(headers['content-type'])
      response.setHeader('content-type', isBinary ? 'application/x-protobuf' : 'application/json')
      return this.#end(response, 200, isBinary ? undefined : '{}')
    }
    const asked = values.length === 1 ? routes.decide(path, values[0], failurePolicyIn(headers)) : undefined
    if (asked === undefined) return this.#end(response, 204)
    await this.#endWithDecision(response, asked, bytes.length)
  }

  #acceptBody(
    admitted: ReturnType<typeof admit>,
    headers: IncomingHttpHeaders,
    body: RequestBody & { arrivedAt: number },
  ) {
    const { path } = admitted
    const { bytes, held, arrivedAt } = body
    try {
      // Senders with the token in the path cannot send our headers. They sign instead, if a secret was agreed.
      const secret = admitted.isByPath ? this.#options.secretOf(path) : undefined
      if (secret !== undefined) expectSigned(headers, bytes, secret)
      const id = idIn(headers) ?? `~${this.#id}-${++this.#requests}`
      const request = { path, at: arrivedAt, id, headers: inletHeaders(headers), bytes }
      const deliveries = this.deliveriesIn(request)
      if (!this.#rate.consume(deliveries.length)) throw new RefusedRequest('rate')
      if (!this.#options.routes.acceptRequest(request, deliveries, () => this.#memory.free(held)))
        throw new RefusedRequest('busy')
      return deliveries.map(({ body }) => body)
    } catch (error) {
      this.#memory.free(held)
      throw error
    }
  }

  /** @param bytes of the body, which hooks hold. Reserved by a negative `free`, which cannot fail: they are in memory. */
  async #endWithDecision(response: ServerResponse, asked: Promise<HookReply | undefined>, bytes: number) {
    this.#memory.free(-bytes)
    const reply = await asked.finally(() => this.#memory.free(bytes))
    const text = setReply(response, reply)
    this.#end(response, text === undefined ? 204 : 200, text)
  }

  deliveriesIn({ path, at: receivedAt, id, headers, bytes }: ReceivedRequest): readonly HookDelivery[] {
    const sentAt = Number(headers['x-hookspan-at'])
    const at = sentAt > EPOCH_MILLIS && sentAt < receivedAt + DAY_MILLIS ? sentAt : receivedAt
    const { endpoints, limits, counts } = this.#options
    const [type, services] = [headers['content-type'], endpoints.get(path)?.services]
    const traces = services && readTraces(bytes, type, services, limits.values)
    if (traces !== undefined && traces.others > 0) counts.countRefusal('service', traces.others)
    const values = traces?.spans ?? parseBody(bytes, type, limits.values)
    return values.map((body, index) => ({ body, headers, at, id: index === 0 ? id : `${id}/${index}` }))
  }

  async #answerCommand(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { limits, routes } = this.#options
    const { bytes, held } = await readBody(request, { ...limits, bodyBytes: DRAINED_BODY_BYTES }, this.#memory)
    this.#memory.free(held)
    const body = bytes.length === 0 ? undefined : parseBody(bytes, 'application/json', limits.values)[0]
    const asked = routes.runCommand(path, body)
    if (asked === undefined) throw new RefusedRequest('path')
    const answer = await asked
    if (answer === undefined) return this.#end(response, 409)
    response.setHeader('content-type', 'application/json')
    this.#end(response, 200, `${JSON.stringify(answer)}\n`)
  }

  #refuse(request: IncomingMessage, response: ServerResponse, why: Refusal): void {
    this.#options.counts.countRefusal(why)
    const status = REFUSALS[why]
    if (status === 0 || response.headersSent) {
      request.destroy()
      return
    }
    if (status === 503) response.setHeader('retry-after', '1')
    const isRead = request.readableEnded || request.destroyed
    const { 'content-length': length = 0, 'transfer-encoding': encoding } = request.headers
    const isWaitedFor = !isRead && encoding === undefined && Number(length) <= DRAINED_BODY_BYTES
    if (isWaitedFor) request.once('end', () => this.#end(response, status))
    else {
      if (!isRead) response.setHeader('connection', 'close')
      this.#end(response, status)
    }
    request.resume()
  }

  #end(response: ServerResponse, status: number, text?: string): void {
    if (this.isClosing) response.setHeader('connection', 'close')
    response.statusCode = status
    response.end(text)
  }
}

function idIn(headers: IncomingHttpHeaders): string | undefined {
  const id = headers['x-hookspan-delivery'] ?? headers['x-hermes-delivery']
  return typeof id === 'string' && id !== '' && id.length <= TEXT_LIMIT ? id : undefined
}

function inletHeaders(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  const kept: Record<string, string | undefined> = {}
  for (const name in headers) {
    const value = headers[name]
    if (!SECRET_HEADERS.has(name)) kept[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return kept
}

const ERROR_LIMIT = 4000

/** Reads the header of a client that waits for a decision. It says how to decide if the hooks cannot be asked. */
function failurePolicyIn(headers: IncomingHttpHeaders): FailurePolicy | undefined {
  const policy = headers['x-hookspan-decide']
  return policy === 'open' || policy === 'closed' ? policy : undefined
}

/** Sets the exit code and the bounded error as headers, for a command that ends with them. Returns the body. */
export function setReply(response: ServerResponse, reply: HookReply | undefined): string | undefined {
  const { body, exitCode, error } = reply ?? {}
  if (exitCode !== undefined) response.setHeader('x-hookspan-exit', exitCode)
  if (error !== undefined)
    response.setHeader('x-hookspan-error', Buffer.from(error.slice(0, ERROR_LIMIT)).toString('base64url'))
  if (body === undefined) return undefined
  response.setHeader('content-type', 'application/json')
  return JSON.stringify(body)
}

/**
 * Admits requests with the token. Requests of a web page are refused even before that, by their Host or Origin header.
 *
 * @param port the listener's port; undefined for the socket, which file permissions protect
 * @throws Refused
 */
function admit({ method, url = '', headers }: IncomingMessage, port: number | undefined, token: string) {
  if (port !== undefined && !isOurName(headers.host, port)) throw new RefusedRequest('host')
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) throw new RefusedRequest('origin')
  const { given, path } = splitToken(url)
  if (!isSameSecret(given ?? headers['x-hookspan-token'], token)) throw new RefusedRequest('token')
  if (method !== 'POST' && !(method === 'GET' && path === '/healthz')) throw new RefusedRequest('method')
  return { path, isByPath: given !== undefined }
}

const OUR_NAME = /^(127\.0\.0\.1|localhost|\[::1\])(?::(\d+))?$/i

/** Guards against DNS rebinding: another host name that resolves to this address belongs to a foreign page. */
function isOurName(host: string | undefined, port: number): boolean {
  const [, name, given] = OUR_NAME.exec(host ?? '') ?? []
  return name !== undefined && (given === undefined || given === String(port))
}

/** `/t/<token>/v1/hooks?x=1` → the token, and `/v1/hooks` */
function splitToken(url: string): { given: string | undefined; path: string } {
  const path = url.slice(0, TEXT_LIMIT).replace(/[?#].*$/s, '')
  const [, given, rest] = (path.startsWith('/t/') && /^\/t\/([^/]*)(\/.*)$/s.exec(path)) || []
  return { given, path: rest ?? path }
}

/** `sha256=<hex>`, the HMAC of the body as received. @throws Refused if the signature is missing or wrong */
function expectSigned(headers: IncomingHttpHeaders, body: Buffer, secret: string): void {
  const expected = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  if (!isSameSecret(headers['x-hermes-signature-256'], expected)) throw new RefusedRequest('signature')
}

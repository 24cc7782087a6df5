import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { HookReply } from '../agents/guard-protocol.ts'
import type { HookDelivery } from '../agents/receiver-adapter.ts'
import { failingIn, setReply } from './asking.ts'
import { type Body, readBody } from './body.ts'
import { type Counts, REFUSALS, type Refusal, Refused } from './counts.ts'
import type { Failing } from './decider.ts'
import { type Admitted, admit } from './gate.ts'
import { type Limits, Rate, Room, TEXT_LIMIT } from './limits.ts'
import { parseBody } from './parse.ts'
import type { ReceivedRequest } from './request-journal.ts'
import { expectSigned } from './signature.ts'
import { isProtobuf, readTraces } from './traces.ts'
import { isNewer } from './version.ts'

/** The handlers behind the paths of a receiver. */
export interface Behind {
  isEndpoint(path: string): boolean
  /** The services that may send spans to this path. Undefined if the path accepts events instead. */
  servicesOf(path: string): readonly string[] | undefined
  /**
   * Accepts a request, in order. If this returns true, the request survives a kill. Returns false if it must be sent again.
   *
   * @param done called when nothing of the request is held in memory any more
   */
  take(request: ReceivedRequest, deliveries: readonly HookDelivery[], done: () => void): boolean
  /**
   * Asks the guards about an accepted event. Undefined if they have no answer. Never rejects.
   *
   * @param failing undefined if the sender does not wait for an answer
   */
  decide(path: string, body: unknown, failing: Failing | undefined): Promise<HookReply | undefined> | undefined
  /**
   * The answer of a path that does not accept events. Undefined if there is no such path. Resolves to undefined on a refusal.
   */
  ask(path: string, body: unknown): Promise<object | undefined> | undefined
  secretOf(path: string): string | undefined
}

export interface AnsweringOptions {
  readonly token: string
  readonly version: string
  readonly limits: Limits
  readonly counts: Counts
  readonly behind: Behind
  now(): number
}

/** A refused body is read up to this size, so that its sender can read the answer. */
const POLITE_BYTES = 1_000_000
const DAY_MILLIS = 86_400_000
/** 2000-01-01. An older timestamp comes from a clock that was never set. */
const EPOCH_MILLIS = 946_684_800_000
/** Not passed to an inlet, which may store its headers. */
const SECRET_HEADERS = ['x-hookspan-token', 'authorization', 'proxy-authorization', 'cookie']

/** Answers requests from every listener. The limits apply to all of them together. */
export class Answering {
  readonly #options: AnsweringOptions
  readonly #rate: Rate
  readonly #room: Room
  readonly #underWay = new WeakMap<Socket, number>()
  /** Used for requests without an id. With the request number, the id is unique among all receivers. */
  readonly #id = randomBytes(4).toString('hex')
  #requests = 0
  /** The receiver is shutting down: connections are not reused. */
  isLeaving = false

  constructor(options: AnsweringOptions) {
    this.#options = options
    this.#rate = new Rate(options.limits.eventsPerSecond, options.now)
    this.#room = new Room(options.limits.bytesAtOnce)
  }

  listener(port: () => number | undefined): RequestListener {
    return (request, response) => {
      this.#options.counts.requests++
      const underWay = (this.#underWay.get(request.socket) ?? 0) + 1
      this.#underWay.set(request.socket, underWay)
      response.once('close', () => this.#underWay.set(request.socket, (this.#underWay.get(request.socket) ?? 1) - 1))
      response.sendDate = false
      // Connection errors arrive here, too. The reader of the body handles them by itself.
      request.on('error', () => undefined)
      this.#answer(request, response, port(), underWay).catch((error: unknown) => {
        this.#refuse(request, response, error instanceof Refused ? error.why : 'request')
      })
    }
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    port: number | undefined,
    underWay: number,
  ): Promise<void> {
    const { token, version, limits, behind, now } = this.#options
    const arrivedAt = now()
    const { method, url, headers } = request
    const admitted = admit({ method, url, headers, port }, token)
    const { path } = admitted
    if (underWay > limits.requestsPerConnection) throw new Refused('busy')
    if (!behind.isEndpoint(path)) return this.#ask(admitted, request, response)
    const client = headers['x-hookspan-client']
    if (client !== undefined && isNewer(String(client), version)) throw new Refused('older')
    const { bytes, held } = await readBody(request, limits, this.#room)
    const values = this.#taken(admitted, headers, { bytes, held, arrivedAt })
    if (behind.servicesOf(path) !== undefined) this.#endExport(response, headers['content-type'])
    else if (values.length !== 1) this.#end(response, 204)
    else await this.#endAsked(response, behind.decide(path, values[0], failingIn(headers)), bytes.length)
  }

  /** @throws Refused */
  #taken(admitted: Admitted, headers: IncomingHttpHeaders, body: Body & { arrivedAt: number }): readonly unknown[] {
    const { path } = admitted
    const { bytes, held, arrivedAt } = body
    try {
      this.#check(admitted, headers, bytes)
      const id = idIn(headers) ?? `~${this.#id}-${++this.#requests}`
      const request = { path, at: arrivedAt, id, headers: inletHeaders(headers), bytes }
      const deliveries = this.deliveriesIn(request)
      if (!this.#rate.take(deliveries.length)) throw new Refused('rate')
      if (!this.#options.behind.take(request, deliveries, () => this.#room.give(held))) throw new Refused('busy')
      return deliveries.map(({ body }) => body)
    } catch (error) {
      this.#room.give(held)
      throw error
    }
  }

  /** @param bytes size of the body, which hooks hold until they decide */
  async #endAsked(
    response: ServerResponse,
    asked: Promise<HookReply | undefined> | undefined,
    bytes: number,
  ): Promise<void> {
    if (asked === undefined) return this.#end(response, 204)
    // Reserves by a negative `give`, which cannot fail for lack of room: the body is in memory already.
    this.#room.give(-bytes)
    const reply = await asked.finally(() => this.#room.give(bytes))
    const text = setReply(response, reply)
    this.#end(response, text === undefined ? 204 : 200, text)
  }

  /** @throws Refused */
  deliveriesIn({ path, at: receivedAt, id, headers, bytes }: ReceivedRequest): readonly HookDelivery[] {
    const said = Number(headers['x-hookspan-at'])
    const at = said > EPOCH_MILLIS && said < receivedAt + DAY_MILLIS ? said : receivedAt
    const values = this.#valuesIn(bytes, path, headers['content-type'])
    return values.map((body, index) => ({ body, headers, at, id: index === 0 ? id : `${id}/${index}` }))
  }

  #valuesIn(bytes: Buffer, path: string, type: string | undefined): readonly unknown[] {
    const { behind, limits, counts } = this.#options
    const services = behind.servicesOf(path)
    if (services === undefined) return parseBody(bytes, type, limits.values)
    const { spans, others } = readTraces(bytes, type, services, limits.values)
    if (others > 0) counts.refuse('service', others)
    return spans
  }

  /** Answers with an empty success, in the encoding of the request. An empty protobuf message has no bytes. */
  #endExport(response: ServerResponse, type: string | undefined): void {
    response.setHeader('content-type', isProtobuf(type) ? 'application/x-protobuf' : 'application/json')
    this.#end(response, 200, isProtobuf(type) ? undefined : '{}')
  }

  /** Senders with the token in the path cannot send our headers. They sign instead, if a secret was agreed. */
  #check({ path, isByPath }: Admitted, headers: IncomingHttpHeaders, bytes: Buffer): void {
    const secret = isByPath ? this.#options.behind.secretOf(path) : undefined
    if (secret !== undefined) expectSigned(headers, bytes, secret)
  }

  async #ask({ path }: Admitted, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { limits, behind } = this.#options
    const { bytes, held } = await readBody(request, { ...limits, bodyBytes: POLITE_BYTES }, this.#room)
    this.#room.give(held)
    const body = bytes.length === 0 ? undefined : parseBody(bytes, 'application/json', limits.values)[0]
    const asked = behind.ask(path, body)
    if (asked === undefined) throw new Refused('path')
    const answer = await asked
    if (answer === undefined) return this.#end(response, 409)
    response.setHeader('content-type', 'application/json')
    this.#end(response, 200, `${JSON.stringify(answer)}\n`)
  }

  #refuse(request: IncomingMessage, response: ServerResponse, why: Refusal): void {
    this.#options.counts.refuse(why)
    const status = REFUSALS[why]
    if (status === 0 || response.headersSent) {
      request.destroy()
      return
    }
    if (status === 503) response.setHeader('retry-after', '1')
    const isRead = request.readableEnded || request.destroyed
    const isWaitedFor = !isRead && lengthOf(request.headers) <= POLITE_BYTES
    if (isWaitedFor) request.once('end', () => this.#end(response, status))
    else {
      if (!isRead) response.setHeader('connection', 'close')
      this.#end(response, status)
    }
    request.resume()
  }

  #end(response: ServerResponse, status: number, text?: string): void {
    if (this.isLeaving) response.setHeader('connection', 'close')
    response.statusCode = status
    response.end(text)
  }
}

function lengthOf(headers: IncomingHttpHeaders): number {
  if (headers['transfer-encoding'] !== undefined) return Infinity
  return Number(headers['content-length'] ?? 0)
}

function idIn(headers: IncomingHttpHeaders): string | undefined {
  const id = headers['x-hookspan-delivery'] ?? headers['x-hermes-delivery']
  return typeof id === 'string' && id !== '' && id.length <= TEXT_LIMIT ? id : undefined
}

function inletHeaders(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  const kept: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (!SECRET_HEADERS.includes(name)) kept[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return kept
}

import { request } from 'node:http'
import { jsonIn } from '../hosts/event-json.ts'
import type { Address } from './address.ts'
import type { Refusal } from './counts.ts'
import type { RecorderStats } from './recorder.ts'

/** What a receiver says of itself. */
export interface Health {
  readonly version: string
  readonly pid: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly openTurns: number
  readonly counts: {
    readonly requests: number
    readonly deliveries: number
    readonly spooled: number
    readonly duplicates: number
    readonly unreadable: number
    readonly dropped: number
    readonly refused: Readonly<Partial<Record<Refusal, number>>>
  }
  /** `Inlet.lostHooks` by agent, without those that lost none. An older receiver does not report it. */
  readonly lostHooks?: Readonly<Record<string, number>>
  /** Deliveries that are answered and not worked off yet. */
  readonly waiting: number
  readonly recorder: RecorderStats
  /** What it told the person last: nobody may have seen it. */
  readonly lines: readonly string[]
}

const QUESTION_MILLIS = 3_000
/** The older one works off what it has, which is at most what fits into memory. */
const HANDOVER_MILLIS = 30_000
const ANSWER_LIMIT = 1_000_000

/** A receiver that runs already. */
export class Peer {
  readonly address: Address
  readonly #token: string

  constructor(address: Address, token: string) {
    this.address = address
    this.#token = token
  }

  /** Undefined when nobody answers, or somebody else. */
  async health(): Promise<Health | undefined> {
    const found = (await this.#ask('GET', '/healthz', {}, QUESTION_MILLIS)) as Partial<Health> | undefined
    return typeof found?.version === 'string' && typeof found.pid === 'number' ? (found as Health) : undefined
  }

  /** Asks it to take no more for itself, and to lay it by for the next one. False when it does not. */
  async replace(version: string): Promise<boolean> {
    return (await this.#ask('POST', '/v1/replace', { version }, HANDOVER_MILLIS)) !== undefined
  }

  /** Asks it, when it has handed over, to let go of where it listens. */
  async leave(): Promise<boolean> {
    return (await this.#ask('POST', '/v1/leave', {}, HANDOVER_MILLIS)) !== undefined
  }

  async stop(): Promise<boolean> {
    return (await this.#ask('POST', '/v1/stop', {}, HANDOVER_MILLIS)) !== undefined
  }

  /** The answer to it, as JSON; undefined when there is none, or it is a refusal. */
  #ask(method: string, path: string, body: object, millis: number): Promise<unknown> {
    const { socket, port } = this.address
    // Where there is a socket, nobody but its owner can be behind it; at a port it may be anybody, when its owner is dead.
    if (socket !== null) return this.#through({ socketPath: socket }, method, path, body, millis)
    return port === null
      ? Promise.resolve(undefined)
      : this.#through({ host: '127.0.0.1', port }, method, path, body, millis)
  }

  #through(
    where: { socketPath: string } | { host: string; port: number },
    method: string,
    path: string,
    body: object,
    millis: number,
  ): Promise<unknown> {
    return new Promise(resolve => {
      const headers = { 'x-hookspan-token': this.#token, 'content-type': 'application/json', connection: 'close' }
      const asking = request({ ...where, method, path, headers, agent: false }, response => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece
          if (text.length > ANSWER_LIMIT) asking.destroy()
        })
        response.on('end', () => resolve(response.statusCode === 200 ? jsonIn(text) : undefined))
      })
      asking.on('error', () => resolve(undefined))
      asking.on('close', () => resolve(undefined))
      // From the first byte to the last: a timeout of the socket begins anew with each byte.
      const timer = setTimeout(() => asking.destroy(), millis)
      asking.on('close', () => clearTimeout(timer))
      asking.end(method === 'POST' ? JSON.stringify(body) : undefined)
    })
  }
}

import { request } from 'node:http'
import { jsonIn } from '../agents/event-json.ts'
import type { Address } from './address.ts'
import type { Refusal } from './counts.ts'
import type { RecorderStats } from './recorder.ts'

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
  /** `ReceiverAdapter.lostHooks` by agent, without agents that lost none. An older receiver does not report it. */
  readonly lostHooks?: Readonly<Record<string, number>>
  /** Deliveries that are answered but not processed yet. */
  readonly waiting: number
  readonly recorder: RecorderStats
  /** The last lines for the user, who may not have seen them. */
  readonly lines: readonly string[]
}

const QUESTION_MILLIS = 3_000
/** The older receiver first processes its backlog, which is at most what fits into memory. */
const HANDOVER_MILLIS = 30_000
const ANSWER_LIMIT = 1_000_000

export class Peer {
  readonly address: Address
  readonly #token: string

  constructor(address: Address, token: string) {
    this.address = address
    this.#token = token
  }

  /** Returns undefined if no receiver of ours answers. */
  async health(): Promise<Health | undefined> {
    const found = (await this.#ask('GET', '/healthz', {}, QUESTION_MILLIS)) as Partial<Health> | undefined
    return typeof found?.version === 'string' && typeof found.pid === 'number' ? (found as Health) : undefined
  }

  /** Asks the receiver to stop processing new events and to spool them for the next one. Returns false if it does not. */
  async replace(version: string): Promise<boolean> {
    return (await this.#ask('POST', '/v1/replace', { version }, HANDOVER_MILLIS)) !== undefined
  }

  /** Asks the receiver to close its listeners after it has handed over. */
  async leave(): Promise<boolean> {
    return (await this.#ask('POST', '/v1/leave', {}, HANDOVER_MILLIS)) !== undefined
  }

  async stop(): Promise<boolean> {
    return (await this.#ask('POST', '/v1/stop', {}, HANDOVER_MILLIS)) !== undefined
  }

  #ask(method: string, path: string, body: object, millis: number): Promise<unknown> {
    const { socket, port } = this.address
    // Prefers the socket: only its owner can listen there. If the owner is dead, any program may listen at the port.
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
      // Covers the whole request: a socket timeout would restart with each byte.
      const timer = setTimeout(() => asking.destroy(), millis)
      asking.on('close', () => clearTimeout(timer))
      asking.end(method === 'POST' ? JSON.stringify(body) : undefined)
    })
  }
}

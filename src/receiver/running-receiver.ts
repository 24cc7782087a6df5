import { request } from 'node:http'
import { jsonIn } from '../agents/event-json.ts'
import type { Address } from './receiver-files.ts'
import type { RecorderStats } from './recorder.ts'
import type { ReceiverCounts } from './refusal.ts'

export interface Health {
  readonly version: string
  readonly pid: number
  readonly startedAt: number
  readonly openTurns: number
  readonly counts: Readonly<Omit<ReceiverCounts, 'countRefusal'>>
  /** `ReceiverAdapter.lostHooks` by agent, without agents that lost none. An older receiver does not report it. */
  readonly lostHooks?: Readonly<Record<string, number>>
  readonly waiting: number
  readonly recorder: RecorderStats
  readonly lines: readonly string[]
}

const QUESTION_MILLIS = 3_000
/** The older receiver first processes its backlog, which is at most what fits into memory. */
const HANDOVER_MILLIS = 30_000
const ANSWER_LIMIT = 1_000_000

export class ReceiverClient {
  readonly address: Address
  readonly #token: string

  constructor(address: Address, token: string) {
    this.address = address
    this.#token = token
  }

  async health(): Promise<Health | undefined> {
    const found = (await this.#ask('GET', '/healthz', {}, QUESTION_MILLIS)) as Partial<Health> | undefined
    return typeof found?.version === 'string' && typeof found.pid === 'number' ? (found as Health) : undefined
  }

  /** `replace` spools new events for the next receiver, `leave` then closes the listeners, `stop` ends. False if refused. */
  async command(name: 'replace' | 'leave' | 'stop', body: object = {}): Promise<boolean> {
    return (await this.#ask('POST', `/v1/${name}`, body, HANDOVER_MILLIS)) !== undefined
  }

  #ask(method: string, path: string, body: object, millis: number): Promise<unknown> {
    const { socket, port } = this.address
    if (socket === null && port === null) return Promise.resolve(undefined)
    // Prefers the socket: only its owner can listen there. If the owner is dead, any program may listen at the port.
    const where = socket === null ? { host: '127.0.0.1', port } : { socketPath: socket }
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
      // Covers the whole request: a socket timeout would restart with each byte.
      const timer = setTimeout(() => asking.destroy(), millis)
      asking.on('error', () => resolve(undefined))
      asking.on('close', () => {
        clearTimeout(timer)
        resolve(undefined)
      })
      asking.end(method === 'POST' ? JSON.stringify(body) : undefined)
    })
  }
}

const VERSION = /^(\d{1,9}\.\d{1,9}\.\d{1,9})(?:-([\w.-]{1,60}))?(?:\+.*)?$/

/** True if the first version is later: `0.10.0` than `0.9.0`, `1.0.0` than `1.0.0-beta.2`. An invalid version never is. */
export function isNewer(one: string, other: string): boolean {
  const [, release, before] = VERSION.exec(one) ?? []
  const [, otherRelease, otherBefore] = VERSION.exec(other) ?? []
  if (release === undefined || otherRelease === undefined) return false
  const order = release.localeCompare(otherRelease, 'en', { numeric: true })
  if (order !== 0) return order > 0
  if (before === undefined || otherBefore === undefined) return before === undefined && otherBefore !== undefined
  return before.localeCompare(otherBefore, 'en', { numeric: true }) > 0
}

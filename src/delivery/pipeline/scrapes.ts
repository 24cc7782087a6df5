import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { MetricReader } from '@opentelemetry/sdk-metrics'
import { type LeftOut, prometheusText } from './prometheus-text.ts'
import type { Report } from './settings.ts'

export interface ScrapeLimits {
  readonly connections: number
  /** Maximum number of series in one response. */
  readonly series: number
  /** Time for a client to send its request, and again to read the response. */
  readonly clientMillis: number
}

/** Responses kept for clients that read slowly, including the newest. */
const HELD_ANSWERS = 2

interface Answer {
  readonly pieces: Promise<readonly Buffer[]>
  isBuilt: boolean
  clients: number
}

/**
 * Serves scrapes. Concurrent clients share one text, which is built and written in pieces, so that the host runs in
 * between. A client that does not read, or sends another request before the response, is disconnected.
 */
export class Scrapes {
  readonly #reader: MetricReader
  readonly #limits: ScrapeLimits
  readonly #report: Report
  readonly #said = new Set<string>()
  readonly #held = new Set<Answer>()
  /** Sockets whose request has not been fully answered. */
  readonly #busy = new WeakSet<object>()
  #newest: Answer | undefined

  constructor(reader: MetricReader, limits: ScrapeLimits, report: Report) {
    this.#reader = reader
    this.#limits = limits
    this.#report = report
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    if (this.#busy.has(socket)) {
      socket.destroy()
      return
    }
    this.#busy.add(socket)
    response.once('close', () => this.#busy.delete(socket))
    if (isScrape(request)) void this.#answer(response)
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('metrics are at /metrics\n')
  }

  /** Warns the user, once per cause. */
  say(cause: string, line: string): void {
    if (this.#said.has(cause)) return
    this.#said.add(cause)
    this.#report.warn(`prometheus: ${line}`)
  }

  async #answer(response: ServerResponse): Promise<void> {
    const answer = this.#current()
    answer.clients += 1
    const over = (): void => {
      answer.clients -= 1
      if (answer.clients === 0) this.#held.delete(answer)
    }
    const pieces = await answer.pieces.catch(() => undefined)
    if (pieces !== undefined) this.#send(response, pieces, over)
    else {
      over()
      response.writeHead(503, { 'content-type': 'text/plain' }).end('the metrics cannot be collected\n')
    }
  }

  /** Returns a new response, unless one is being built or slow clients hold the maximum number. */
  #current(): Answer {
    const newest = this.#newest
    if (newest !== undefined && this.#held.has(newest) && (!newest.isBuilt || this.#held.size >= HELD_ANSWERS))
      return newest
    const answer: Answer = { pieces: this.#build(), isBuilt: false, clients: 0 }
    const built = (): void => {
      answer.isBuilt = true
    }
    answer.pieces.then(built, built)
    this.#held.add(answer)
    this.#newest = answer
    return answer
  }

  async #build(): Promise<Buffer[]> {
    const { resourceMetrics } = await this.#reader.collect()
    const text = prometheusText(resourceMetrics, this.#limits.series)
    const pieces: Buffer[] = []
    for (let next = text.next(); ; next = text.next()) {
      if (next.done) {
        this.#sayLeftOut(next.value)
        return pieces
      }
      pieces.push(Buffer.from(next.value))
      await setImmediate()
    }
  }

  #send(response: ServerResponse, pieces: readonly Buffer[], over: () => void): void {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': length })
    const { clientMillis } = this.#limits
    const deadline = setTimeout(() => {
      response.destroy()
      this.say('slow', `a client that had not read its answer after ${clientMillis / 1000} s was cut off`)
    }, clientMillis)
    deadline.unref()
    pipeline(Readable.from(pieces), response, () => {
      clearTimeout(deadline)
      over()
    })
  }

  #sayLeftOut(leftOut: readonly LeftOut[]): void {
    if (leftOut.length === 0) return
    const labelSets = leftOut.reduce((sum, left) => sum + left.labelSets, 0)
    const names = leftOut.map(({ metric }) => metric).join(', ')
    this.say(
      'series',
      `${labelSets} label sets are left out of what is scraped (${names}): it has room for ${this.#limits.series} series. ` +
        'A backend gets all of them',
    )
  }
}

function isScrape(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.url?.split('?')[0] === '/metrics'
}

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'

const CHANNEL = 'http.client.response.finish'
/** A `Date` header is cut to whole seconds. */
const HALF_A_SECOND = 500

/** How far ahead of this machine's the clock of a server is; negative: behind. */
export interface ClockSkew {
  readonly host: string
  readonly millis: number
}

/**
 * Reads the time off all answers that this process gets while it listens: also of those requests that the pipeline
 * makes, which keeps the answers to itself.
 */
export class AnswerDates {
  readonly #skews = new Map<string, number>()

  constructor() {
    subscribe(CHANNEL, this.#note)
  }

  /** Of each server that told the time, its last answer. */
  get skews(): readonly ClockSkew[] {
    return [...this.#skews].map(([host, millis]) => ({ host, millis }))
  }

  close(): void {
    unsubscribe(CHANNEL, this.#note)
  }

  readonly #note = (message: unknown): void => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage }
    const at = Date.parse(response.headers.date ?? '')
    if (!Number.isNaN(at)) this.#skews.set(String(request.getHeader('host')), at + HALF_A_SECOND - Date.now())
  }
}

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { humanDuration } from '../../reading/human-figures.ts'
import { type Finding, finding } from './finding.ts'

const CHANNEL = 'http.client.response.finish'
/** The `Date` header is truncated to whole seconds. */
const HALF_A_SECOND = 500

/** The offset of a server's clock from this machine's. Positive: ahead. */
export interface ClockSkew {
  readonly host: string
  readonly millis: number
}

/**
 * Reads the `Date` header of every response that this process receives. Listens on a diagnostics channel, because the pipeline
 * does not expose its responses.
 */
export class AnswerDates {
  readonly #skews = new Map<string, number>()

  constructor() {
    subscribe(CHANNEL, this.#note)
  }

  /** The last measured skew of each server. */
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

const MAX_MILLIS = 30_000
const REMEDY = 'set the one that is wrong, best by NTP (on Linux: timedatectl set-ntp true)'

/** Compares the clocks of servers with this machine's. Empty if no server sent a date. */
export function checkClocks(skews: readonly ClockSkew[]): readonly Finding[] {
  const wrong = skews.filter(({ millis }) => Math.abs(millis) > MAX_MILLIS)
  if (wrong.length > 0) return wrong.map(skewFinding)
  if (skews.length === 0) return []
  const hosts = skews.map(({ host }) => host).join(', ')
  const what = `${hosts}: within ${MAX_MILLIS / 1000} s of this machine`
  return [finding('ok', 'Clocks', what)]
}

function skewFinding({ host, millis }: ClockSkew): Finding {
  const [side, place] = millis > 0 ? ['ahead of', 'past'] : ['behind', 'future']
  const what = `the clock of ${host} is ${humanDuration(Math.abs(millis))} ${side} this machine's: spans show up in its ${place}, or not at all`
  return finding('warn', 'Clocks', what, REMEDY)
}

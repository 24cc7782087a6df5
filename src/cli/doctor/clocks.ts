import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { humanDuration } from '../../viewer/human-figures.ts'
import { type Finding, finding } from './finding.ts'

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

const MOST_MILLIS = 30_000
const REMEDY = 'set the one that is wrong, best by NTP (on Linux: timedatectl set-ntp true)'

/** Whether servers agree with this machine about the time. Nothing where none of them told it. */
export function checkClocks(skews: readonly ClockSkew[]): readonly Finding[] {
  const wrong = skews.filter(({ millis }) => Math.abs(millis) > MOST_MILLIS)
  if (wrong.length > 0) return wrong.map(skewFinding)
  if (skews.length === 0) return []
  const hosts = skews.map(({ host }) => host).join(', ')
  const what = `${hosts}: within ${MOST_MILLIS / 1000} s of this machine`
  return [finding('ok', 'Clocks', what)]
}

function skewFinding({ host, millis }: ClockSkew): Finding {
  const [side, place] = millis > 0 ? ['ahead of', 'past'] : ['behind', 'future']
  const what = `the clock of ${host} is ${humanDuration(Math.abs(millis))} ${side} this machine's: spans show up in its ${place}, or not at all`
  return finding('warn', 'Clocks', what, REMEDY)
}

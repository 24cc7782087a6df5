import type { ListenerLimits } from './loopback/listener.ts'

const KIBI = 1024
const MEBI = 1024 * KIBI

/**
 * `bytesAtOnce` limits all requests together that are being read or wait to be processed. `values`: JSON values in one request:
 * each costs memory, however short it is. `deliveries`: remembered ones, at least half of this number; a repeated one is
 * recognised. `moreMillis`: for reading more about an event from an agent's files and its telemetry.
 */
export interface ReceiverLimits extends ListenerLimits {
  readonly bodyBytes: number
  readonly bytesAtOnce: number
  readonly values: number
  readonly eventsPerSecond: number
  readonly requestsPerConnection: number
  readonly deliveries: number
  readonly moreMillis: number
  readonly startMillis: number
}

export const LIMITS: ReceiverLimits = {
  bodyBytes: 64 * MEBI,
  bytesAtOnce: 128 * MEBI,
  values: 2_000_000,
  eventsPerSecond: 50_000,
  connections: 256,
  requestsPerConnection: 64,
  headersMillis: 10_000,
  requestMillis: 60_000,
  // Agents keep a connection as long as they run, and lose an event if it closes under them.
  keepAliveMillis: 600_000,
  checkMillis: 5_000,
  deliveries: 40_000,
  patienceMillis: 5_000,
  moreMillis: 15_000,
  startMillis: 20_000,
}

export const TEXT_LIMIT = 256

/** A token bucket that holds at most one second's worth. A single request may exceed that if the bucket is full. */
export class RateLimiter {
  readonly #perSecond: number
  readonly #now: () => number
  #left: number
  #at: number

  constructor(perSecond: number, now: () => number) {
    this.#perSecond = perSecond
    this.#now = now
    this.#left = perSecond
    this.#at = now()
  }

  consume(count: number): boolean {
    const now = this.#now()
    const millis = Math.max(0, now - this.#at)
    this.#at = now
    this.#left = Math.min(this.#perSecond, this.#left + (millis * this.#perSecond) / 1000)
    if (this.#left < Math.min(count, this.#perSecond)) return false
    this.#left -= count
    return true
  }
}

export class MemoryBudget {
  readonly #limit: number
  #held = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Returns false, and reserves no bytes, if there is no room. A lone request always has room. */
  reserve(bytes: number): boolean {
    if (this.#held > 0 && this.#held + bytes > this.#limit) return false
    this.#held += bytes
    return true
  }

  free(bytes: number): void {
    this.#held -= bytes
  }
}

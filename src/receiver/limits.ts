import type { DoorLimits } from '../loopback/door.ts'

const KIBI = 1024
const MEBI = 1024 * KIBI

/** What nobody may go beyond. Whatever does is refused and counted. */
export interface Limits extends DoorLimits {
  /** Of one request, as it comes and when it is inflated. */
  readonly bodyBytes: number
  /** Of all requests that are being read or wait to be worked off. */
  readonly bytesAtOnce: number
  /** Values in the JSON of one request: each costs memory, however short it is. */
  readonly values: number
  readonly eventsPerSecond: number
  /** Being answered at once on one connection. */
  readonly requestsPerConnection: number
  /** Delivery ids that are remembered. */
  readonly deliveries: number
  /** For what an agent's files and its telemetry say more. */
  readonly moreMillis: number
  /** For the receiver that is there to answer, or to hand over. */
  readonly startMillis: number
}

export const LIMITS: Limits = {
  bodyBytes: 64 * MEBI,
  bytesAtOnce: 128 * MEBI,
  values: 2_000_000,
  eventsPerSecond: 50_000,
  connections: 256,
  requestsPerConnection: 64,
  headersMillis: 10_000,
  requestMillis: 60_000,
  // Agents keep a connection for as long as they run, and lose an event when it closes under it.
  keepAliveMillis: 600_000,
  checkMillis: 5_000,
  deliveries: 20_000,
  patienceMillis: 5_000,
  moreMillis: 15_000,
  startMillis: 20_000,
}

/** Of a path, of a delivery id. */
export const TEXT_LIMIT = 256

/** So many in a second and no more, with a second's worth in store. */
export class Rate {
  readonly #perSecond: number
  readonly #now: () => number
  #left: number
  #at: number

  /** @param now epoch milliseconds; may jump */
  constructor(perSecond: number, now: () => number) {
    this.#perSecond = perSecond
    this.#now = now
    this.#left = perSecond
    this.#at = now()
  }

  /** Whether there was room for so many, which is taken. One request may have more than a second's worth, when nothing was before it. */
  take(count: number): boolean {
    const now = this.#now()
    const millis = Math.max(0, now - this.#at)
    this.#at = now
    this.#left = Math.min(this.#perSecond, this.#left + (millis * this.#perSecond) / 1000)
    if (this.#left < Math.min(count, this.#perSecond)) return false
    this.#left -= count
    return true
  }
}

/** Bytes that are held in memory at once. */
export class Room {
  readonly #limit: number
  #held = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get held(): number {
    return this.#held
  }

  /** False, and nothing taken, when there is no room. One that is alone always has. */
  take(bytes: number): boolean {
    if (this.#held > 0 && this.#held + bytes > this.#limit) return false
    this.#held += bytes
    return true
  }

  give(bytes: number): void {
    this.#held -= bytes
  }
}

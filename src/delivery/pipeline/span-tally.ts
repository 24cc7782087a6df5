/** The source of the spans: memory (`live`), the log of this process (`own`) or of a dead one (`adopted`). */
export type Origin = 'live' | 'own' | 'adopted'

/** Counts of spans by outcome. */
export interface SpanCounts {
  /** Spans of this process that were delivered. */
  readonly delivered: number
  /** Lost spans. */
  readonly dropped: number
  /** Waiting in memory, or in flight. */
  readonly queued: number
  /** Not delivered yet, but in the trace log for later delivery. */
  readonly spooled: number
  /** Total number of spans ever kept in the trace log for later. */
  readonly spooledEver: number
  /** Spans sent again, counted for each attempt. */
  readonly retried: number
  /** Delivered spans that other processes had left in the trace log. */
  readonly recovered: number
}

export class SpanTally {
  readonly #onLoss: (spans: number, reason: string) => void
  accepted = 0
  retried = 0
  #delivered = 0
  #dropped = 0
  #recovered = 0
  #othersDropped = 0
  #spooled = 0
  #spooledEver = 0

  constructor(onLoss: (spans: number, reason: string) => void = () => undefined) {
    this.#onLoss = onLoss
  }

  get settled(): number {
    return this.#delivered + this.#dropped
  }

  delivered(spans: number, origin: Origin): void {
    if (origin === 'adopted') this.#recovered += spans
    else this.#delivered += spans
    if (origin === 'own') this.#spooled -= spans
  }

  dropped(spans: number, reason: string, origin: Origin = 'live'): void {
    if (spans === 0) return
    if (origin === 'adopted') this.#othersDropped += spans
    else this.#dropped += spans
    if (origin === 'own') this.#spooled -= spans
    this.#onLoss(spans, reason)
  }

  spooled(spans: number): void {
    this.#spooled += spans
    this.#spooledEver += spans
  }

  counts(): SpanCounts {
    return {
      delivered: this.#delivered,
      dropped: this.#dropped + this.#othersDropped,
      queued: this.accepted - this.settled - this.#spooled,
      spooled: this.#spooled,
      spooledEver: this.#spooledEver,
      retried: this.retried,
      recovered: this.#recovered,
    }
  }
}

interface Waiter {
  readonly until: number
  readonly resolve: () => void
}

/** Promises that resolve when the given number of spans has been delivered or dropped. */
export class FlushWaiters {
  readonly #waiters: Waiter[] = []

  add(until: number): Promise<void> {
    return new Promise(resolve => this.#waiters.push({ until, resolve }))
  }

  settled(count: number): void {
    for (const waiter of this.#waiters.splice(0)) {
      if (waiter.until <= count) waiter.resolve()
      else this.#waiters.push(waiter)
    }
  }
}

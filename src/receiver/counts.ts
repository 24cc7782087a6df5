import type { Refusal } from './refusal.ts'

export class ReceiverCounts {
  requests = 0
  deliveries = 0
  spooled = 0
  duplicates = 0
  unreadable = 0
  /** Events that clients dropped: no receiver answered and the spool was full. */
  dropped = 0
  readonly #refused = new Map<Refusal, number>()

  countRefusal(refusal: Refusal, count = 1): void {
    this.#refused.set(refusal, (this.#refused.get(refusal) ?? 0) + count)
  }

  get refused(): Readonly<Partial<Record<Refusal, number>>> {
    return Object.fromEntries(this.#refused)
  }

  toJSON(): object {
    const { requests, deliveries, spooled, duplicates, unreadable, dropped, refused } = this
    return { requests, deliveries, spooled, duplicates, unreadable, dropped, refused }
  }
}

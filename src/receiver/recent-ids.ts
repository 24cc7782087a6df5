/** A delivery that is sent again comes soon, or out of a spool. */
const MOST_IDS = 10_000
/** For the receiver that comes next. */
const MOST_KEPT = 1000

/** Ids of deliveries that were taken; the oldest are forgotten. */
export class RecentIds {
  readonly #ids = new Set<string>()

  /** False when it was there already. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false
    this.#ids.add(id)
    if (this.#ids.size > MOST_IDS) for (const oldest of this.#ids) return this.#ids.delete(oldest)
    return true
  }

  newest(): readonly string[] {
    return [...this.#ids].slice(-MOST_KEPT)
  }
}

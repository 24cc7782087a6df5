/** A repeated delivery comes soon, or from a spool. */
const MAX_IDS = 10_000
/** Ids passed on to the next receiver. */
const MAX_KEPT = 1000

/** Ids of accepted deliveries. The oldest are dropped. */
export class RecentIds {
  readonly #ids = new Set<string>()

  add(id: string): boolean {
    if (this.#ids.has(id)) return false
    this.#ids.add(id)
    if (this.#ids.size > MAX_IDS) for (const oldest of this.#ids) return this.#ids.delete(oldest)
    return true
  }

  newest(): readonly string[] {
    return [...this.#ids].slice(-MAX_KEPT)
  }
}

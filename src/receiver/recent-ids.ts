/** At most `limit` ids, at least half of them. Two generations: removing the oldest id of a set skips all removed before. */
export class RecentIds {
  readonly #half: number
  #ids = new Set<string>()
  #older = new Set<string>()

  constructor(limit: number) {
    this.#half = limit / 2
  }

  /** Returns false if the id is known. */
  addId(id: string): boolean {
    if (this.#ids.has(id) || this.#older.has(id)) return false
    if (this.#ids.size >= this.#half) {
      this.#older = this.#ids
      this.#ids = new Set()
    }
    this.#ids.add(id)
    return true
  }

  newest(most: number): readonly string[] {
    return [...this.#older, ...this.#ids].slice(-most)
  }
}

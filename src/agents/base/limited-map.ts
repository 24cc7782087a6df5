/** A Map that drops its oldest entry over a limit, so that it does not grow while an agent runs. */
export class LimitedMap<Key, Value> extends Map<Key, Value> {
  readonly #limit: number

  constructor(limit: number) {
    super()
    this.#limit = limit
  }

  override set(key: Key, value: Value): this {
    super.set(key, value)
    if (this.size <= this.#limit) return this
    for (const oldest of this.keys()) {
      this.delete(oldest)
      return this
    }
    return this
  }
}

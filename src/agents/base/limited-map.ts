/** A Map that drops its oldest entry over a limit, so that it does not grow while an agent runs. */
export class LimitedMap<Key, Value> extends Map<Key, Value> {
  readonly #limit: number

  constructor(limit: number) {
    super()
    this.#limit = limit
  }

  override set(key: Key, value: Value): this {
    super.set(key, value)
    if (this.size > this.#limit) this.delete(this.keys().next().value as Key)
    return this
  }

  refresh(key: Key, value: Value): void {
    this.delete(key)
    this.set(key, value)
  }

  /** Returns the entry, which becomes the newest one, and creates it if there is none. */
  recall(key: Key, create: () => Value): Value {
    const value = this.get(key) ?? create()
    this.refresh(key, value)
    return value
  }
}

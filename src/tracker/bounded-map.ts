/** A Map with a size limit. It drops its oldest entry and passes it to `onEvict`, so that no entry is lost silently. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #limit: number
  readonly #onEvict: ((value: Value, key: Key) => void) | undefined

  constructor(limit: number, onEvict?: (value: Value, key: Key) => void) {
    super()
    this.#limit = limit
    this.#onEvict = onEvict
  }

  /** Makes the entry the youngest, also if the key is known. */
  override set(key: Key, value: Value): this {
    this.delete(key)
    super.set(key, value)
    if (this.size <= this.#limit) return this
    for (const [oldestKey, oldest] of this) {
      this.delete(oldestKey)
      this.#onEvict?.(oldest, oldestKey)
      break
    }
    return this
  }
}

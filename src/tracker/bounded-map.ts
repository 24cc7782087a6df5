/** A Map with a size limit. It drops its oldest entry and passes it to `onEvict`, so that no entry is lost silently. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>()
  readonly #limit: number
  readonly #onEvict: ((value: Value, key: Key) => void) | undefined

  constructor(limit: number, onEvict?: (value: Value, key: Key) => void) {
    this.#limit = limit
    this.#onEvict = onEvict
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  has(key: Key): boolean {
    return this.#entries.has(key)
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#limit) return
    for (const [oldestKey, oldest] of this.#entries) {
      this.#entries.delete(oldestKey)
      this.#onEvict?.(oldest, oldestKey)
      return
    }
  }

  delete(key: Key): boolean {
    return this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }

  values(): IterableIterator<Value> {
    return this.#entries.values()
  }

  dropIf(isDue: (value: Value) => boolean): void {
    for (const [key, value] of this.#entries) if (isDue(value)) this.#entries.delete(key)
  }
}

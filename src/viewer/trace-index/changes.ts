import type { Change } from './answers.ts'

const MIN_MILLIS = 250
const MAX_NAMED = 1_000

/** A stream of changes for one follower. Changes that come faster than the rate limit are merged into one. */
export class Changes implements AsyncIterableIterator<Change> {
  readonly #onEnd: (changes: Changes) => void
  readonly #traceIds = new Set<string>()
  #isMore = false
  #hasChanged = false
  #isOver = false
  #toldAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #waiting: ((result: IteratorResult<Change>) => void)[] = []

  constructor(onEnd: (changes: Changes) => void) {
    this.#onEnd = onEnd
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  add({ traceIds, isMore }: Change): void {
    for (const id of traceIds) if (this.#traceIds.size < MAX_NAMED) this.#traceIds.add(id)
    this.#isMore ||= isMore || traceIds.some(id => !this.#traceIds.has(id))
    this.#hasChanged = true
    this.#tell()
  }

  next(): Promise<IteratorResult<Change>> {
    return new Promise(resolve => {
      this.#waiting.push(resolve)
      this.#tell()
    })
  }

  async return(): Promise<IteratorResult<Change>> {
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#onEnd(this)
    this.#tell()
    return { done: true, value: undefined }
  }

  #tell(): void {
    if (this.#isOver) {
      for (const resolve of this.#waiting.splice(0)) resolve({ done: true, value: undefined })
      return
    }
    if (!this.#hasChanged || this.#waiting.length === 0) return
    const early = this.#toldAt + MIN_MILLIS - performance.now()
    if (early > 0) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined
        this.#tell()
      }, early)
      return
    }
    this.#toldAt = performance.now()
    const value = { traceIds: [...this.#traceIds], isMore: this.#isMore }
    this.#traceIds.clear()
    this.#isMore = false
    this.#hasChanged = false
    this.#waiting.shift()?.({ done: false, value })
  }
}

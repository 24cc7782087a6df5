import type { TraceChange } from './answers.ts'

const MIN_MILLIS = 250
const MAX_NAMED = 1_000

/** A stream of changes for one follower. Changes that come faster than the rate limit are merged into one. */
export class ChangeStream implements AsyncIterableIterator<TraceChange> {
  readonly #onEnd: (changes: ChangeStream) => void
  readonly #traceIds = new Set<string>()
  #isMore = false
  #hasChanged = false
  #hasEnded = false
  #emittedAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #readers: ((result: IteratorResult<TraceChange>) => void)[] = []

  constructor(onEnd: (changes: ChangeStream) => void) {
    this.#onEnd = onEnd
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  addChange({ traceIds, isMore }: TraceChange): void {
    for (const id of traceIds) if (this.#traceIds.size < MAX_NAMED) this.#traceIds.add(id)
    this.#isMore ||= isMore || traceIds.some(id => !this.#traceIds.has(id))
    this.#hasChanged = true
    this.#emit()
  }

  next(): Promise<IteratorResult<TraceChange>> {
    return new Promise(resolve => {
      this.#readers.push(resolve)
      this.#emit()
    })
  }

  async return(): Promise<IteratorResult<TraceChange>> {
    this.#hasEnded = true
    clearTimeout(this.#timer)
    this.#onEnd(this)
    this.#emit()
    return { done: true, value: undefined }
  }

  #emit(): void {
    if (this.#hasEnded) {
      for (const resolve of this.#readers.splice(0)) resolve({ done: true, value: undefined })
      return
    }
    if (!this.#hasChanged || this.#readers.length === 0) return
    const early = this.#emittedAt + MIN_MILLIS - performance.now()
    if (early > 0) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined
        this.#emit()
      }, early)
      return
    }
    this.#emittedAt = performance.now()
    const value = { traceIds: [...this.#traceIds], isMore: this.#isMore }
    this.#traceIds.clear()
    this.#isMore = false
    this.#hasChanged = false
    this.#readers.shift()?.({ done: false, value })
  }
}

import { type Batch, isInLog, sizeOf } from '../trace-log/index.ts'

/** Spans in memory that wait for one backend, in order. */
export class LiveQueue {
  #batches: Batch[] = []
  #size = 0

  /** Spans. */
  get size(): number {
    return this.#size
  }

  get batches(): readonly Batch[] {
    return this.#batches
  }

  push(batch: Batch): void {
    this.#batches.push(batch)
    this.#size += sizeOf(batch.lines)
  }

  /** The first ones: at most so many spans, or one batch; all of them in the log, or none of them. */
  take(most: number): Batch[] {
    const [first] = this.#batches
    let [count, size] = [0, 0]
    for (const batch of this.#batches) {
      if (first && isInLog(batch) !== isInLog(first)) break
      const spans = sizeOf(batch.lines)
      if (count > 0 && size + spans > most) break
      count++
      size += spans
    }
    this.#size -= size
    return this.#batches.splice(0, count)
  }

  /** Lets go of those that are in the log. Returns how many spans that were. */
  dropKept(): number {
    const before = this.#size
    this.#batches = this.#batches.filter(batch => !isInLog(batch))
    this.#size = this.#batches.reduce((sum, { lines }) => sum + sizeOf(lines), 0)
    return before - this.#size
  }

  /** Lets go of everything. Returns how many spans that were. */
  clear(): number {
    const size = this.#size
    this.#batches = []
    this.#size = 0
    return size
  }
}

import { isInLog, type Parcel } from './trace-log/parcel.ts'
import { sizeOf } from './trace-log/span-line.ts'

/** Spans in memory that wait for one backend, in order. */
export class LiveQueue {
  #parcels: Parcel[] = []
  #size = 0

  /** Spans. */
  get size(): number {
    return this.#size
  }

  get parcels(): readonly Parcel[] {
    return this.#parcels
  }

  push(parcel: Parcel): void {
    this.#parcels.push(parcel)
    this.#size += sizeOf(parcel.lines)
  }

  /** The first ones: at most so many spans, or one parcel; all of them in the log, or none of them. */
  take(most: number): Parcel[] {
    const [first] = this.#parcels
    let [count, size] = [0, 0]
    for (const parcel of this.#parcels) {
      if (first && isInLog(parcel) !== isInLog(first)) break
      const spans = sizeOf(parcel.lines)
      if (count > 0 && size + spans > most) break
      count++
      size += spans
    }
    this.#size -= size
    return this.#parcels.splice(0, count)
  }

  /** Lets go of those that are in the log. Returns how many spans that were. */
  dropKept(): number {
    const before = this.#size
    this.#parcels = this.#parcels.filter(parcel => !isInLog(parcel))
    this.#size = this.#parcels.reduce((sum, { lines }) => sum + sizeOf(lines), 0)
    return before - this.#size
  }

  /** Lets go of everything. Returns how many spans that were. */
  clear(): number {
    const size = this.#size
    this.#parcels = []
    this.#size = 0
    return size
  }
}

import { LiveQueue } from './live-queue.ts'
import type { BatchSettings } from './settings.ts'
import type { SpanTally } from './span-tally.ts'
import type { Owed } from './trace-log/owed.ts'
import { isInLog, type Parcel } from './trace-log/parcel.ts'
import type { Segment } from './trace-log/segment.ts'
import { SpanLine, sizeOf, spansOf } from './trace-log/span-line.ts'
import { grouped, Work } from './work.ts'

/** Of one request, roughly: serialising more at a time would hold the event loop for too long. */
const REQUEST_BYTES = 1_048_576

/** What the log holds for one backend, of this process and of others. */
export interface OwedLogs {
  readonly own: Owed
  readonly adopted: Owed
}

export interface OutgoingParts {
  readonly backend: string
  readonly batch: BatchSettings
  /** Absent = what does not fit into memory is dropped. */
  readonly log: OwedLogs | undefined
  readonly tally: SpanTally
}

/**
 * What goes to one backend next. Straight from memory, as a rule. A backend that has fallen behind gets everything from the
 * log, in order, until it has caught up; then, when there is nothing else, what other processes have left.
 */
export class Outgoing {
  readonly #parts: OutgoingParts
  readonly #live = new LiveQueue()
  /** What is being sent. */
  #working: readonly Parcel[] = []
  #isBehind = false
  /** Up to where somebody wants everything sent, whether it fills a request or not. */
  #wanted = 0

  constructor(parts: OutgoingParts) {
    this.#parts = parts
  }

  /** Spans that wait in memory. */
  get waiting(): number {
    return this.#live.size
  }

  /** Returns whether it will be sent; false when there is no room for it. */
  take(parcel: Parcel): boolean {
    const { log, batch } = this.#parts
    const size = sizeOf(parcel.lines)
    const place = log && parcel.place
    const isFull = this.#live.size + size > batch.maxQueueSize
    if (place === undefined) {
      if (!isFull) this.#live.push({ lines: parcel.lines })
      return !isFull
    }
    log?.own.add(place.segment)
    if (place.segment.isStuck(this.#parts.backend)) this.#parts.tally.spooled(size)
    else if (!isFull && !this.#isBehind) this.#live.push(parcel)
    else this.fallBehind(size)
    return true
  }

  adopt(segment: Segment): void {
    this.#parts.log?.adopted.add(segment)
  }

  get hasAdopted(): boolean {
    return this.#parts.log?.adopted.isCaughtUp === false
  }

  /** Spans of a segment that are in memory, and will be sent even if the segment goes. */
  inMemoryOf(segment: Segment): number {
    return sizeIn([...this.#working, ...this.#live.parcels], segment)
  }

  /** From now on the log is read instead of memory; `more` spans that are in it come with it. */
  fallBehind(more = 0): void {
    this.#isBehind = true
    this.#parts.tally.spooled(this.#live.dropKept() + more)
  }

  /** Everything that was recorded until now is to be sent. */
  want(): void {
    this.#wanted = this.#parts.tally.accepted
  }

  /** Whether there is something that is not to wait for more of its kind. */
  get isDue(): boolean {
    const { size } = this.#live
    const isWanted = size > 0 && this.#parts.tally.settled < this.#wanted
    return this.#isBehind || isWanted || size >= this.#parts.batch.maxExportBatchSize
  }

  get hasAny(): boolean {
    return this.#live.size > 0 || this.#isBehind || this.hasAdopted
  }

  /** Undefined when nothing is due. `withAdopted`: nobody waits for this process to end. */
  async next(withAdopted: () => boolean): Promise<Work | undefined> {
    const { log, batch } = this.#parts
    for (;;) {
      const hasAdopted = this.hasAdopted && withAdopted()
      if (this.#isBehind && log) {
        const read = await log.own.next(batch.maxExportBatchSize)
        if (read) return this.#workOf('own', [read])
        if (log.own.isCaughtUp) this.#isBehind = false
      } else if (this.isDue || (hasAdopted && this.#live.size > 0)) {
        return this.#workOf('live', this.#live.take(batch.maxExportBatchSize))
      } else {
        const read = hasAdopted ? await log?.adopted.next(batch.maxExportBatchSize) : undefined
        if (read) return this.#workOf('adopted', [read])
        if (!this.isDue) return undefined
      }
    }
  }

  /** Nothing is sent any more. Returns the spans that are in memory only, and so lost. */
  giveUp(): number {
    this.#parts.tally.spooled(this.#live.dropKept())
    return this.#live.clear()
  }

  /** What was being sent is not being sent any more. */
  letGo(): void {
    for (const { place } of this.#working) place?.segment.putBack(this.#parts.backend)
    this.#working = []
  }

  async close(): Promise<void> {
    const { log } = this.#parts
    await Promise.all([log?.own.close(), log?.adopted.close()])
  }

  #workOf(origin: Work['origin'], parcels: readonly Parcel[]): Work {
    const { batch, backend } = this.#parts
    const most = { spans: batch.maxExportBatchSize, bytes: REQUEST_BYTES }
    this.#working = parcels
    const isKept = (): boolean => parcels.every(isInLog)
    const onDone = (): void => {
      for (const { place, lines } of parcels) {
        if (lines.some(({ isDamaged }) => isDamaged)) place && this.#parts.log?.own.sayDamaged(place.segment)
        place?.segment.passed(backend, place.end, sizeOf(lines))
      }
      this.#working = []
    }
    return new Work(grouped(linesOf(parcels), most), { origin, isKept, onDone })
  }
}

/** What was never in the log is not in lines: each span came by itself. */
function linesOf(parcels: readonly Parcel[]): readonly SpanLine[] {
  const lines = parcels.flatMap(parcel => parcel.lines)
  return parcels.some(({ place }) => place !== undefined) ? lines : [SpanLine.of(spansOf(lines))]
}

function sizeIn(parcels: readonly Parcel[], segment: Segment): number {
  return parcels.reduce((sum, { lines, place }) => sum + (place?.segment === segment ? sizeOf(lines) : 0), 0)
}

import { type Batch, type Cursor, isInLog, type Segment, SpanLine, sizeOf, spansOf } from '../trace-log/index.ts'
import { Attempt, grouped } from './attempt.ts'
import type { BatchSettings } from './settings.ts'
import type { SpanTally } from './span-tally.ts'

/** Of one request, roughly: serialising more at a time would hold the event loop for too long. */
const REQUEST_BYTES = 1_048_576

/** What the log holds for one backend, of this process and of others. */
export interface Cursors {
  readonly own: Cursor
  readonly adopted: Cursor
}

export interface OutgoingParts {
  readonly backend: string
  readonly batch: BatchSettings
  /** Absent = what does not fit into memory is dropped. */
  readonly log: Cursors | undefined
  readonly tally: SpanTally
  /** As in `SpanQueueParts`. */
  readonly burstBytes: number | undefined
}

/**
 * What goes to one backend next. Straight from memory, as a rule. A backend that has fallen behind gets everything from the
 * log, in order, until it has caught up; then, when there is nothing else, what other processes have left.
 */
export class Outgoing {
  readonly #parts: OutgoingParts
  readonly #live = new LiveQueue()
  /** What is being sent. */
  #working: readonly Batch[] = []
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
  take(batch: Batch): boolean {
    const { log, batch: limits } = this.#parts
    const size = sizeOf(batch.lines)
    const position = log && batch.position
    const isFull = this.#live.size + size > limits.maxQueueSize && !this.#isBurst
    if (position === undefined) {
      if (!isFull) this.#push({ lines: batch.lines })
      return !isFull
    }
    log?.own.add(position.segment)
    if (position.segment.isStuck(this.#parts.backend)) this.#parts.tally.spooled(size)
    else if (!isFull && !this.#isBehind) this.#push(batch)
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
    return sizeIn([...this.#working, ...this.#live.batches], segment)
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
  async next(withAdopted: () => boolean): Promise<Attempt | undefined> {
    const { log, batch } = this.#parts
    for (;;) {
      const hasAdopted = this.hasAdopted && withAdopted()
      if (this.#isBehind && log) {
        const read = await log.own.next(batch.maxExportBatchSize)
        if (read) return this.#attemptOf('own', [read])
        if (log.own.isCaughtUp) this.#isBehind = false
      } else if (this.isDue || (hasAdopted && this.#live.size > 0)) {
        return this.#attemptOf('live', this.#live.take(batch.maxExportBatchSize))
      } else {
        const read = hasAdopted ? await log?.adopted.next(batch.maxExportBatchSize) : undefined
        if (read) return this.#attemptOf('adopted', [read])
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
    for (const { position } of this.#working) position?.segment.putBack(this.#parts.backend)
    this.#working = []
  }

  async close(): Promise<void> {
    const { log } = this.#parts
    await Promise.all([log?.own.close(), log?.adopted.close()])
  }

  /** Whether what waits is no more than may come at once. */
  get #isBurst(): boolean {
    const { burstBytes } = this.#parts
    return burstBytes !== undefined && this.#live.bytes <= burstBytes
  }

  #push(batch: Batch): void {
    this.#live.push(batch, this.#parts.burstBytes === undefined ? 0 : bytesOf(batch))
  }

  #attemptOf(origin: Attempt['origin'], batches: readonly Batch[]): Attempt {
    const { batch, backend } = this.#parts
    const most = { spans: batch.maxExportBatchSize, bytes: REQUEST_BYTES }
    this.#working = batches
    const isKept = (): boolean => batches.every(isInLog)
    const onDone = (): void => {
      for (const { position, lines } of batches) {
        if (lines.some(({ isDamaged }) => isDamaged)) position && this.#parts.log?.own.sayDamaged(position.segment)
        position?.segment.passed(backend, position.end, sizeOf(lines))
      }
      this.#working = []
    }
    return new Attempt(grouped(linesOf(batches), most), { origin, isKept, onDone })
  }
}

/** What was never in the log is not in lines: each span came by itself. */
function linesOf(batches: readonly Batch[]): readonly SpanLine[] {
  const lines = batches.flatMap(batch => batch.lines)
  return batches.some(({ position }) => position !== undefined) ? lines : [SpanLine.of(spansOf(lines))]
}

function sizeIn(batches: readonly Batch[], segment: Segment): number {
  return batches.reduce((sum, { lines, position }) => sum + (position?.segment === segment ? sizeOf(lines) : 0), 0)
}

function bytesOf({ lines }: Batch): number {
  return lines.reduce((sum, { bytes }) => sum + bytes, 0)
}

interface Waiting {
  readonly batch: Batch
  readonly spans: number
  readonly bytes: number
}

/** Spans in memory that wait for one backend, in order. */
class LiveQueue {
  #waiting: Waiting[] = []
  #size = 0
  #bytes = 0

  /** Spans. */
  get size(): number {
    return this.#size
  }

  /** Of those that were weighed. */
  get bytes(): number {
    return this.#bytes
  }

  get batches(): readonly Batch[] {
    return this.#waiting.map(({ batch }) => batch)
  }

  /** @param bytes 0 where nobody asks for them: to weigh takes time */
  push(batch: Batch, bytes: number): void {
    const spans = sizeOf(batch.lines)
    this.#waiting.push({ batch, spans, bytes })
    this.#size += spans
    this.#bytes += bytes
  }

  /** The first ones: at most so many spans, or one batch; all of them in the log, or none of them. */
  take(most: number): Batch[] {
    const [first] = this.#waiting
    let [count, size] = [0, 0]
    for (const { batch, spans } of this.#waiting) {
      if (first && isInLog(batch) !== isInLog(first.batch)) break
      if (count > 0 && size + spans > most) break
      count++
      size += spans
    }
    const taken = this.#waiting.splice(0, count)
    this.#size -= size
    for (const { bytes } of taken) this.#bytes -= bytes
    return taken.map(({ batch }) => batch)
  }

  /** Lets go of those that are in the log. Returns how many spans that were. */
  dropKept(): number {
    const before = this.#size
    this.#keep(this.#waiting.filter(({ batch }) => !isInLog(batch)))
    return before - this.#size
  }

  /** Lets go of everything. Returns how many spans that were. */
  clear(): number {
    const size = this.#size
    this.#keep([])
    return size
  }

  #keep(waiting: Waiting[]): void {
    this.#waiting = waiting
    this.#size = waiting.reduce((sum, { spans }) => sum + spans, 0)
    this.#bytes = waiting.reduce((sum, { bytes }) => sum + bytes, 0)
  }
}

import { type Batch, type Cursor, isInLog, type LogSegment, SpanLine, sizeOf, spansOf } from '../trace-log/index.ts'
import { ExportBatch, groupLines } from './attempt.ts'
import type { BatchSettings } from './settings.ts'
import type { SpanTally } from './span-tally.ts'

/** Approximate size of one request. Serialising more at a time would block the event loop for too long. */
const REQUEST_BYTES = 1_048_576

/** Positions of one backend in the log of this process (`own`) and in those of others (`adopted`). */
export interface Cursors {
  readonly own: Cursor
  readonly adopted: Cursor
}

export interface SendSchedulerOptions {
  readonly backend: string
  readonly batch: BatchSettings
  /** If absent, spans that do not fit into memory are dropped. */
  readonly log: Cursors | undefined
  readonly tally: SpanTally
  readonly burstBytes: number | undefined
}

/**
 * Selects the spans that one backend gets next. They usually come from memory. A backend that has fallen behind is served
 * from the log, in order, until it has caught up. Spans of other processes come last.
 */
export class SendScheduler {
  readonly #parts: SendSchedulerOptions
  readonly #live = new MemoryQueue()
  #inFlight: readonly Batch[] = []
  #isBehind = false
  /** Flush target: everything up to this count is sent, even if it does not fill a request. */
  #flushTarget = 0

  constructor(parts: SendSchedulerOptions) {
    this.#parts = parts
  }

  /** Spans waiting in memory. */
  get waiting(): number {
    return this.#live.size
  }

  /** Returns false if there is no room for the batch, which is then not sent. */
  enqueueBatch(batch: Batch): boolean {
    const { log, batch: limits } = this.#parts
    const size = sizeOf(batch.lines)
    const position = log && batch.position
    const isFull = this.#live.size + size > limits.maxQueueSize && !this.#isBurst
    if (position === undefined) {
      if (!isFull) this.#enqueueInMemory({ lines: batch.lines })
      return !isFull
    }
    log?.own.addSegment(position.segment)
    if (position.segment.isUnreadableFor(this.#parts.backend)) this.#parts.tally.spooled(size)
    else if (!isFull && !this.#isBehind) this.#enqueueInMemory(batch)
    else this.fallBehind(size)
    return true
  }

  enqueueSegment(segment: LogSegment): void {
    this.#parts.log?.adopted.addSegment(segment)
  }

  get hasRecovered(): boolean {
    return this.#parts.log?.adopted.isCaughtUp === false
  }

  /** Spans of a segment that are in memory. They are sent even if the segment is removed. */
  inMemoryOf(segment: LogSegment): number {
    return sizeIn([...this.#inFlight, ...this.#live.batches], segment)
  }

  /**
   * Switches from memory to the log.
   * @param more additional spans that are only in the log
   */
  fallBehind(more = 0): void {
    this.#isBehind = true
    this.#parts.tally.spooled(this.#live.dropLogged() + more)
  }

  /** Marks everything recorded until now for sending. */
  requestFlush(): void {
    this.#flushTarget = this.#parts.tally.accepted
  }

  /** True if something must be sent without waiting for a full batch. */
  get isDue(): boolean {
    const { size } = this.#live
    const isWanted = size > 0 && this.#parts.tally.settled < this.#flushTarget
    return this.#isBehind || isWanted || size >= this.#parts.batch.maxExportBatchSize
  }

  get hasAny(): boolean {
    return this.#live.size > 0 || this.#isBehind || this.hasRecovered
  }

  /**
   * Resolves with undefined if nothing is due.
   * @param withAdopted returns true if spans of other processes may be sent, which must not delay the end of this process
   */
  async nextBatch(withAdopted: () => boolean): Promise<ExportBatch | undefined> {
    const { log, batch } = this.#parts
    for (;;) {
      const hasAdopted = this.hasRecovered && withAdopted()
      if (this.#isBehind && log) {
        const read = await log.own.readBatch(batch.maxExportBatchSize)
        if (read) return this.#exportBatchOf('own', [read])
        if (log.own.isCaughtUp) this.#isBehind = false
      } else if (this.isDue || (hasAdopted && this.#live.size > 0)) {
        return this.#exportBatchOf('live', this.#live.shiftBatches(batch.maxExportBatchSize))
      } else {
        const read = hasAdopted ? await log?.adopted.readBatch(batch.maxExportBatchSize) : undefined
        if (read) return this.#exportBatchOf('adopted', [read])
        if (!this.isDue) return undefined
      }
    }
  }

  /** Stops sending. Returns the number of spans that are only in memory, and so lost. */
  dropMemory(): number {
    this.#parts.tally.spooled(this.#live.dropLogged())
    return this.#live.clear()
  }

  /** Releases the batches that were being sent. */
  releaseInFlight(): void {
    for (const { position } of this.#inFlight) position?.segment.clearInFlight(this.#parts.backend)
    this.#inFlight = []
  }

  async close(): Promise<void> {
    const { log } = this.#parts
    await Promise.all([log?.own.close(), log?.adopted.close()])
  }

  /** True if the waiting spans fit into the allowance for a burst. */
  get #isBurst(): boolean {
    const { burstBytes } = this.#parts
    return burstBytes !== undefined && this.#live.bytes <= burstBytes
  }

  #enqueueInMemory(batch: Batch): void {
    this.#live.push(batch, this.#parts.burstBytes === undefined ? 0 : bytesOf(batch))
  }

  #exportBatchOf(origin: ExportBatch['origin'], batches: readonly Batch[]): ExportBatch {
    const { batch, backend } = this.#parts
    const most = { spans: batch.maxExportBatchSize, bytes: REQUEST_BYTES }
    this.#inFlight = batches
    const isKept = (): boolean => batches.every(isInLog)
    const onDone = (): void => {
      for (const { position, lines } of batches) {
        if (lines.some(({ isDamaged }) => isDamaged)) position && this.#parts.log?.own.reportDamaged(position.segment)
        position?.segment.acknowledge(backend, position.end, sizeOf(lines))
      }
      this.#inFlight = []
    }
    return new ExportBatch(groupLines(linesOf(batches), most), { origin, isInLog: isKept, onDone })
  }
}

/** Spans that were never in the log came one by one. They are merged into one line. */
function linesOf(batches: readonly Batch[]): readonly SpanLine[] {
  const lines = batches.flatMap(batch => batch.lines)
  return batches.some(({ position }) => position !== undefined) ? lines : [SpanLine.of(spansOf(lines))]
}

function sizeIn(batches: readonly Batch[], segment: LogSegment): number {
  return batches.reduce((sum, { lines, position }) => sum + (position?.segment === segment ? sizeOf(lines) : 0), 0)
}

function bytesOf({ lines }: Batch): number {
  return lines.reduce((sum, { bytes }) => sum + bytes, 0)
}

interface QueuedBatch {
  readonly batch: Batch
  readonly spans: number
  readonly bytes: number
}

/** The spans in memory that wait for one backend, in order. */
class MemoryQueue {
  #waiting: QueuedBatch[] = []
  #size = 0
  #bytes = 0

  /** Number of spans. */
  get size(): number {
    return this.#size
  }

  /** Size of the weighed batches only. */
  get bytes(): number {
    return this.#bytes
  }

  get batches(): readonly Batch[] {
    return this.#waiting.map(({ batch }) => batch)
  }

  /** @param bytes 0 if not needed, because weighing takes time */
  push(batch: Batch, bytes: number): void {
    const spans = sizeOf(batch.lines)
    this.#waiting.push({ batch, spans, bytes })
    this.#size += spans
    this.#bytes += bytes
  }

  /** Removes the first batches: at most this many spans, or one batch. Either all of them are in the log, or none. */
  shiftBatches(most: number): Batch[] {
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

  /** Drops batches that are in the log. Returns their number of spans. */
  dropLogged(): number {
    const before = this.#size
    this.#replace(this.#waiting.filter(({ batch }) => !isInLog(batch)))
    return before - this.#size
  }

  /** Drops everything. Returns the number of spans. */
  clear(): number {
    const size = this.#size
    this.#replace([])
    return size
  }

  #replace(waiting: QueuedBatch[]): void {
    this.#waiting = waiting
    this.#size = waiting.reduce((sum, { spans }) => sum + spans, 0)
    this.#bytes = waiting.reduce((sum, { bytes }) => sum + bytes, 0)
  }
}

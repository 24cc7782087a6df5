import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import {
  type Batch,
  type Cursor,
  estimatedBytes,
  isInLog,
  type LogSegment,
  SpanLine,
  sizeOf,
  spansOf,
} from '../trace-log/index.ts'
import type { DeliveryFailure } from './delivery.ts'
import type { BatchSettings } from './settings.ts'
import type { Origin, SpanTally } from './span-tally.ts'

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
  readonly log: Cursors | undefined
  readonly tally: SpanTally
  readonly burstBytes: number | undefined
}

/** Selects the next spans: from memory, or from the log in order while the backend is behind. Other processes' come last. */
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

  get waiting(): number {
    return this.#live.size
  }

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

  /** Switches from memory to the log. `more` spans are only in the log. */
  fallBehind(more = 0): void {
    this.#isBehind = true
    this.#parts.tally.spooled(this.#live.dropLogged() + more)
  }

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

  /** Undefined if nothing is due. Spans of other processes must not delay the end of this one. */
  async nextBatch(withAdopted: () => boolean): Promise<SendRequest | undefined> {
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

  dropMemory(): number {
    this.#parts.tally.spooled(this.#live.dropLogged())
    return this.#live.clear()
  }

  releaseInFlight(): void {
    for (const { position } of this.#inFlight) position?.segment.clearInFlight(this.#parts.backend)
    this.#inFlight = []
  }

  async close(): Promise<void> {
    const { log } = this.#parts
    await Promise.all([log?.own.close(), log?.adopted.close()])
  }

  get #isBurst(): boolean {
    const { burstBytes } = this.#parts
    return burstBytes !== undefined && this.#live.bytes <= burstBytes
  }

  #enqueueInMemory(batch: Batch): void {
    this.#live.push(batch, this.#parts.burstBytes === undefined ? 0 : bytesOf(batch))
  }

  #exportBatchOf(origin: SendRequest['origin'], batches: readonly Batch[]): SendRequest {
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
    return new SendRequest(groupLines(linesOf(batches), most), { origin, isInLog: isKept, onDone })
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

class MemoryQueue {
  #waiting: QueuedBatch[] = []
  #size = 0
  #bytes = 0

  get size(): number {
    return this.#size
  }

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

  dropLogged(): number {
    const before = this.#size
    this.#replace(this.#waiting.filter(({ batch }) => !isInLog(batch)))
    return before - this.#size
  }

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

const MAX_DEFERRED = 3
/** A server that has accepted other spans gets a refused span this many times, with long pauses. */
const PATIENT_TRIES = 3
export const TOO_LARGE = 413

type LineGroup = readonly SpanLine[]

/** Spans to be delivered. If a server does not accept them together, they are split into several requests. */
export class SendRequest {
  readonly origin: Origin
  tries = 0
  /** The server has accepted a request and has not failed since. A span that it refuses now is at fault itself. */
  isServerProven = false
  #deferred = 0
  readonly #groups: LineGroup[]
  readonly #isInLog: () => boolean
  readonly #onDone: () => void

  constructor(
    groups: readonly LineGroup[],
    { origin, isInLog: isKept, onDone }: { origin: Origin; isInLog: () => boolean; onDone: () => void },
  ) {
    this.#groups = [...groups]
    this.origin = origin
    this.#isInLog = isKept
    this.#onDone = onDone
    if (this.isDone) onDone()
  }

  /** True if the spans are also in the log. They stay there until they are delivered, unless the log is pruned. */
  get isKept(): boolean {
    return this.#isInLog()
  }

  get size(): number {
    return this.#groups.reduce((sum, group) => sum + sizeOf(group), 0)
  }

  get isDone(): boolean {
    return this.#groups.length === 0
  }

  get group(): LineGroup {
    return this.#groups[0] ?? []
  }

  /** Parses lines that would be sent as they stand in the log, and drops damaged ones. */
  parseLines(): void {
    const [group = []] = this.#groups
    this.#groups[0] = group.filter(line => line.spans.length > 0)
  }

  /** True if the refused span itself is at fault. False if the server would refuse any span. */
  isAtFault(failure: DeliveryFailure, hasTaken: boolean): boolean {
    if (failure.kind !== 'status' || failure.status === TOO_LARGE || this.isServerProven) return true
    // Some servers refuse empty requests, too, so the server cannot be proven. After enough tries the refusal counts:
    // otherwise the span would block all others.
    return hasTaken && failure.status < 500 && this.tries >= PATIENT_TRIES
  }

  removeGroup(): void {
    this.#groups.shift()
    this.tries = 0
    if (this.isDone) this.#onDone()
  }

  /**
   * Moves the first group to the end, so that the others are tried first. Returns false if enough groups have been
   * deferred: a server that accepts none of several groups accepts none at all, and is not asked about each.
   */
  deferGroup(): boolean {
    if (this.#groups.length <= this.#deferred + 1 || this.#deferred >= MAX_DEFERRED) {
      const deferred = this.#groups.splice(this.#groups.length - this.#deferred, this.#deferred)
      this.#groups.unshift(...deferred)
      this.#deferred = 0
      return false
    }
    this.#deferred++
    const [group = []] = this.#groups.splice(0, 1)
    this.#groups.push(group)
    return true
  }

  /** Splits the first group in two: by lines, or by the spans of its only line. It must have more than one span. */
  splitGroup(): void {
    const [group = []] = this.#groups.splice(0, 1)
    const [line] = group
    const [one, other] =
      line && group.length === 1 ? halves(line.spans).map(spans => [SpanLine.of(spans)]) : halves(group)
    this.#groups.unshift(one ?? [], other ?? [])
    this.tries = 0
  }
}

function halves<Element>(list: readonly Element[]): readonly (readonly Element[])[] {
  const half = Math.ceil(list.length / 2)
  return [list.slice(0, half), list.slice(half)]
}

interface GroupLimits {
  readonly spans: number
  readonly bytes: number
}

function groupLines(lines: readonly SpanLine[], most: GroupLimits): LineGroup[] {
  const groups: SpanLine[][] = []
  let [group, spans, bytes] = [[] as SpanLine[], 0, 0]
  for (const line of lines.flatMap(line => splitLine(line, most))) {
    if (group.length > 0 && (spans + line.size > most.spans || bytes + line.bytes > most.bytes)) {
      groups.push(group)
      group = []
      spans = 0
      bytes = 0
    }
    group.push(line)
    spans += line.size
    bytes += line.bytes
  }
  if (group.length > 0) groups.push(group)
  return groups
}

function splitLine(line: SpanLine, most: GroupLimits): readonly SpanLine[] {
  if (line.size <= 1 || (line.size <= most.spans && line.bytes <= most.bytes)) return [line]
  const parts: ReadableSpan[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const span of line.spans) {
    const size = estimatedBytes(span)
    const part = parts.at(-1)
    if (part !== undefined && part.length < most.spans && bytes + size <= most.bytes) {
      part.push(span)
      bytes += size
    } else {
      parts.push([span])
      bytes = size
    }
  }
  return parts.map(spans => SpanLine.of(spans))
}

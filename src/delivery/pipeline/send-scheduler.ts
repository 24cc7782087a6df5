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

/** A batch in memory, with its sizes at that time. */
interface QueuedBatch extends Batch {
  readonly spans: number
  /** 0 if not needed, because weighing takes time. */
  readonly bytes: number
}

/** Selects the next spans: from memory, or from the log in order while the backend is behind. Other processes' come last. */
export class SendScheduler {
  readonly #parts: SendSchedulerOptions
  #live: QueuedBatch[] = []
  /** Spans and bytes of `#live`. */
  #size = 0
  #bytes = 0
  #inFlight: readonly Batch[] = []
  #isBehind = false
  /** Flush target: everything up to this count is sent, even if it does not fill a request. */
  #flushTarget = 0

  constructor(parts: SendSchedulerOptions) {
    this.#parts = parts
  }

  get waiting(): number {
    return this.#size
  }

  get isBehind(): boolean {
    return this.#isBehind
  }

  enqueueBatch(batch: Batch, size: number): boolean {
    const { backend, log, batch: limits, tally, burstBytes } = this.#parts
    const { lines } = batch
    const position = log && isInLog(batch) ? batch.position : undefined
    const isBurst = burstBytes !== undefined && this.#bytes <= burstBytes
    const isFull = this.#size + size > limits.maxQueueSize && !isBurst
    if (position === undefined && isFull) return false
    if (position !== undefined) {
      log?.own.addSegment(position.segment)
      const isUnreadable = position.segment.unreadableFor.has(backend)
      if (isUnreadable) tally.spooled(size)
      else if (isFull || this.#isBehind) this.fallBehind(size)
      if (isUnreadable || this.#isBehind) return true
    }
    const bytes = burstBytes === undefined ? 0 : lines.reduce((sum, line) => sum + line.bytes, 0)
    this.#live.push({ lines, position, spans: size, bytes })
    this.#size += size
    this.#bytes += bytes
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
    const batches = [...this.#inFlight, ...this.#live].filter(({ position }) => position?.segment === segment)
    return batches.reduce((sum, { lines }) => sum + sizeOf(lines), 0)
  }

  /** Switches from memory to the log. `more` spans are only in the log. */
  fallBehind(more = 0): void {
    this.#isBehind = true
    for (const segment of new Set(this.#live.map(({ position }) => position?.segment))) segment?.lookUp()
    this.#parts.tally.spooled(this.#dropLogged() + more)
  }

  requestFlush(): void {
    this.#flushTarget = this.#parts.tally.accepted
  }

  /** True if something must be sent without waiting for a full batch. */
  get isDue(): boolean {
    const isWanted = this.#size > 0 && this.#parts.tally.settled < this.#flushTarget
    return this.#isBehind || isWanted || this.#size >= this.#parts.batch.maxExportBatchSize
  }

  get hasAny(): boolean {
    return this.#size > 0 || this.#isBehind || this.hasRecovered
  }

  /** Undefined if nothing is due. Spans of other processes must not delay the end of this one. */
  async nextBatch(withAdopted: () => boolean): Promise<SendRequest | undefined> {
    const { log, batch } = this.#parts
    for (;;) {
      const hasAdopted = this.hasRecovered && withAdopted()
      if (this.#isBehind && log) {
        const read = await log.own.readBatch(batch.maxExportBatchSize)
        if (read) return this.#requestOf('own', [read])
        if (log.own.isCaughtUp) this.#isBehind = false
      } else if (this.isDue || (hasAdopted && this.#size > 0)) {
        return this.#requestOf('live', this.#shiftBatches(batch.maxExportBatchSize))
      } else {
        const read = hasAdopted ? await log?.adopted.readBatch(batch.maxExportBatchSize) : undefined
        if (read) return this.#requestOf('adopted', [read])
        if (!this.isDue) return undefined
      }
    }
  }

  /** Returns the number of spans that were only in memory. */
  dropMemory(): number {
    this.#parts.tally.spooled(this.#dropLogged())
    const size = this.#size
    this.#replaceLive([])
    return size
  }

  releaseInFlight(): void {
    for (const { position } of this.#inFlight) position?.segment.clearInFlight(this.#parts.backend)
    this.#inFlight = []
  }

  async close(): Promise<void> {
    const { log } = this.#parts
    await Promise.all([log?.own.close(), log?.adopted.close()])
  }

  /** Removes the first batches: at most this many spans, or one batch. Either all of them are in the log, or none. */
  #shiftBatches(most: number): readonly Batch[] {
    const [first] = this.#live
    let [count, size] = [0, 0]
    for (const batch of this.#live) {
      if (first && isInLog(batch) !== isInLog(first)) break
      if (count > 0 && size + batch.spans > most) break
      count++
      size += batch.spans
      this.#bytes -= batch.bytes
    }
    this.#size -= size
    return this.#live.splice(0, count)
  }

  #dropLogged(): number {
    const before = this.#size
    this.#replaceLive(this.#live.filter(batch => !isInLog(batch)))
    return before - this.#size
  }

  #replaceLive(live: QueuedBatch[]): void {
    this.#live = live
    this.#size = live.reduce((sum, { spans }) => sum + spans, 0)
    this.#bytes = live.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  #requestOf(origin: Origin, batches: readonly Batch[]): SendRequest {
    const { batch, backend, log } = this.#parts
    this.#inFlight = batches
    const onDone = (): void => {
      for (const { position, lines } of batches) {
        if (position === undefined) continue
        for (const line of lines) if (line.isDamaged) log?.own.reportDamaged(position.segment)
        position.segment.acknowledge(backend, position.end, sizeOf(lines))
      }
      this.#inFlight = []
    }
    return new SendRequest(origin, batches, batch.maxExportBatchSize, onDone)
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
  readonly #batches: readonly Batch[]
  readonly #groups: LineGroup[]
  readonly #onDone: () => void

  constructor(origin: Origin, batches: readonly Batch[], maxSpans: number, onDone: () => void) {
    this.origin = origin
    this.#batches = batches
    this.#groups = groupLines(batches, maxSpans)
    this.#onDone = onDone
    if (this.isDone) onDone()
  }

  /** True if the spans are also in the log. They stay there until they are delivered, unless the log is pruned. */
  get isKept(): boolean {
    return this.#batches.every(isInLog)
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

/** Divides the lines into requests. Spans that were never in the log came one by one, and are merged into one line. */
function groupLines(batches: readonly Batch[], maxSpans: number): LineGroup[] {
  let lines: SpanLine[] = []
  let isStored = false
  for (const batch of batches) {
    lines.push(...batch.lines)
    isStored ||= batch.position !== undefined
  }
  if (!isStored) lines = [SpanLine.of(spansOf(lines))]
  const groups: SpanLine[][] = []
  let [spans, bytes] = [Number.POSITIVE_INFINITY, 0]
  for (const whole of lines) {
    const isTooLarge = whole.size > 1 && (whole.size > maxSpans || whole.bytes > REQUEST_BYTES)
    for (const line of isTooLarge ? splitLine(whole, maxSpans) : [whole]) {
      if (spans + line.size > maxSpans || bytes + line.bytes > REQUEST_BYTES) {
        groups.push([])
        spans = 0
        bytes = 0
      }
      groups.at(-1)?.push(line)
      spans += line.size
      bytes += line.bytes
    }
  }
  return groups
}

function splitLine(line: SpanLine, maxSpans: number): readonly SpanLine[] {
  const parts: ReadableSpan[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const span of line.spans) {
    const size = estimatedBytes(span)
    const part = parts.at(-1)
    if (part !== undefined && part.length < maxSpans && bytes + size <= REQUEST_BYTES) {
      part.push(span)
      bytes += size
    } else {
      parts.push([span])
      bytes = size
    }
  }
  return parts.map(spans => SpanLine.of(spans))
}

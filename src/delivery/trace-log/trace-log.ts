import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { BatchTaker } from './batch.ts'
import type { SegmentManager } from './custody.ts'
import { Heartbeat } from './heartbeat.ts'
import { JsonBytes } from './json-bytes.ts'
import { OpenSpans } from './open-spans.ts'
import type { Segment } from './segment.ts'
import { attempt, failureAt, type SegmentFile } from './segment-file.ts'
import type { BatchSettings, LocalLogSettings, LogFailure, LogReport } from './settings.ts'
import { UNSERIALISABLE } from './settings.ts'
import { writeNote, writeRequest } from './span-json.ts'
import { SpanLine, sizeOf } from './span-line.ts'
import { type Destinations, headerJson, type SegmentMarks } from './stored-line.ts'

const SAMPLED = 1
/** Approximate size of one line. Writing more at a time would block the event loop for too long. */
const LINE_BYTES = 262_144
/** If a write takes longer and there is no room left in memory, the log does not wait for the disk. */
const STALLED_MILLIS = 2000

export interface TraceLogParts {
  readonly settings: LocalLogSettings
  readonly batch: BatchSettings
  readonly marks: SegmentMarks
  readonly destinations: Destinations
  readonly custody: SegmentManager
  readonly takers: readonly BatchTaker[]
  readonly report: LogReport
}

/** The data of one write. */
interface Slice {
  readonly line: SpanLine
  readonly bytes: Uint8Array
  readonly segment: Segment
  readonly file: SegmentFile
  isSettled: boolean
  isStalled: boolean
}

export interface LogCounts {
  readonly stored: number
  readonly dropped: number
  readonly waiting: number
}

/**
 * Records which spans are open and which have ended, and passes ended spans to the backends with their position in the log.
 * Spans that cannot be delivered now can be read again from there.
 */
export class TraceLog implements SpanProcessor {
  readonly #parts: TraceLogParts
  readonly #open = new OpenSpans()
  readonly #heartbeat = new Heartbeat(
    () => this.#parts.custody.touchCurrent(),
    () => this.#open.isAnyNoted,
  )
  readonly #out = new JsonBytes()
  readonly #pending: ReadableSpan[] = []
  #slice: Slice | undefined
  #draining: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #hasWritten = false
  #stored = 0
  #dropped = 0

  constructor(parts: TraceLogParts) {
    this.#parts = parts
  }

  onStart(span: unknown): void {
    if (this.#isClosed || !isSampled(span as ReadableSpan)) return
    this.#open.started(span as ReadableSpan)
    this.#arm()
  }

  onEnd(span: ReadableSpan): void {
    if (!isSampled(span)) return
    this.#open.ended(span)
    if (this.#isClosed) {
      this.#dropped++
      this.#hand({ lines: [SpanLine.of([span])] })
      return
    }
    this.#pending.push(span)
    // If so many spans are pending, they are written synchronously instead of being dropped.
    if (this.#pending.length >= this.#parts.batch.maxQueueSize) this.#makeRoom()
    else this.#arm()
  }

  /** Writes a new note of an open span, because it has new attributes. */
  noteAgain(span: unknown): void {
    if (this.#open.noteAgain(span as ReadableSpan)) this.#arm()
  }

  /** Resolves when everything recorded until now is in the log, or could not be written. Never rejects. */
  forceFlush(): Promise<void> {
    return this.#hasWork() || this.#slice ? this.#drain() : (this.#draining ?? Promise.resolve())
  }

  /** Writes everything synchronously, for a process that ends. */
  saveNow(): void {
    this.#finishSlice()
    while (this.#hasWork()) this.#writeSliceNow()
  }

  async shutdown(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.forceFlush()
    this.#end()
  }

  /** Like `shutdown`, but synchronous. */
  endNow(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.saveNow()
    this.#end()
  }

  #end(): void {
    this.#heartbeat.stop()
    this.#parts.custody.end(this.#open.isEmpty)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  counts(): LogCounts {
    const inFlight = this.#slice?.line.size ?? 0
    return { stored: this.#stored, dropped: this.#dropped, waiting: this.#pending.length + inFlight }
  }

  #hasWork(): boolean {
    return this.#pending.length > 0 || this.#open.hasNotes
  }

  #arm(): void {
    if (this.#timer || this.#draining) return
    // The first spans have already waited for the log to be opened.
    const millis = this.#hasWritten ? this.#parts.settings.flushMillis : 0
    this.#timer = setTimeout(() => void this.#drain(), millis).unref()
  }

  #drain(): Promise<void> {
    this.#draining ??= this.#drainAll()
    return this.#draining
  }

  async #drainAll(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#hasWritten = true
    this.#open.repeatMissing()
    // Serialising spans takes milliseconds, which must not be spent in the hook that ended the last one.
    await new Promise(setImmediate)
    while (this.#hasWork()) await this.#writeSlice().catch(() => this.#broke())
    this.#draining = undefined
  }

  async #writeSlice(): Promise<void> {
    const slice = this.#takeSlice()
    if (slice === undefined) return
    this.#slice = slice
    // A busy host learns late that the write has finished. Only a write still pending after a turn of the event loop is
    // late.
    const late = (): NodeJS.Immediate => setImmediate(() => Object.assign(slice, { isStalled: true }))
    const watch = setTimeout(late, STALLED_MILLIS).unref()
    const failure = await slice.file.append(slice.bytes).then(() => undefined, failureAt(slice.file))
    clearTimeout(watch)
    this.#settle(slice, failure)
  }

  #writeSliceNow(): void {
    try {
      const slice = this.#takeSlice()
      if (slice === undefined) return
      this.#settle(
        slice,
        attempt(slice.file, () => slice.file.appendNow(slice.bytes)),
      )
    } catch {
      this.#broke()
    }
  }

  /** No cause is known. Pending spans are dropped, because another attempt would fail in the same way. */
  #broke(): void {
    this.#slice = undefined
    this.#open.takeNotes(Number.POSITIVE_INFINITY)
    this.#failed(this.#pending.splice(0), UNSERIALISABLE)
  }

  #makeRoom(): void {
    if (this.#slice?.isStalled) {
      const { path } = this.#slice.file
      this.#failed(this.#takeEnded(), { kind: 'file', code: 'ETIMEDOUT', path })
      return
    }
    this.#finishSlice()
    this.#writeSliceNow()
  }

  /** Repeats the pending write of another thread synchronously, so that later spans are handed over after it. */
  #finishSlice(): void {
    const slice = this.#slice
    if (slice === undefined) return
    // The other thread may still be reading the buffer.
    this.#out.letGo()
    const failure = attempt(slice.file, () => slice.file.finishAppend())
    this.#settle(slice, failure)
  }

  /** Returns undefined if there is no segment to write to. The spans are then passed on as failed. */
  #takeSlice(): Slice | undefined {
    const opened = this.#parts.custody.current(() => this.#open.repeatAll())
    if (!opened.ok) {
      this.#open.takeNotes(Number.POSITIVE_INFINITY)
      this.#open.missedSome()
      this.#failed(this.#takeEnded(), opened.failure)
      return undefined
    }
    const { segment, file } = opened
    const out = this.#out
    out.start()
    if (file.bytes === 0) out.json(`${this.#header()}\n`)
    this.#writeNotes(this.#open.takeNotes(this.#parts.batch.maxExportBatchSize))
    const from = out.length
    const spans = this.#writeEnded()
    const bytes = out.written
    // The next line overwrites these bytes.
    const json = spans.length > 0 && this.#parts.takers.length > 0 ? Buffer.from(bytes.subarray(from, -1)) : undefined
    return { line: SpanLine.of(spans, json), bytes, segment, file, isSettled: false, isStalled: false }
  }

  #header(): string {
    const { marks, destinations, settings } = this.#parts
    return headerJson(marks, destinations, settings.continued?.withinMillis, settings.heldBy)
  }

  #writeNotes(notes: readonly ReadableSpan[]): void {
    if (notes.length === 0) return
    writeNote(this.#out, notes)
    this.#out.ascii('\n')
  }

  /** Writes the spans of the next line. */
  #writeEnded(): readonly ReadableSpan[] {
    const before = this.#out.length
    const { written, broken, left } = writeRequest(this.#out, this.#takeEnded(), LINE_BYTES)
    this.#pending.unshift(...left)
    if (broken.length > 0) this.#failed(broken, UNSERIALISABLE)
    if (written.length > 0) this.#out.ascii('\n')
    else this.#out.cutTo(before)
    return written
  }

  #takeEnded(): readonly ReadableSpan[] {
    return this.#pending.splice(0, this.#parts.batch.maxExportBatchSize)
  }

  #settle(slice: Slice, failure: LogFailure | undefined): void {
    if (slice.isSettled) return
    slice.isSettled = true
    if (this.#slice === slice) this.#slice = undefined
    const { line, segment, file } = slice
    if (failure !== undefined) {
      this.#open.missedSome()
      this.#failed(line.spans, failure)
      return
    }
    // Bytes without spans are not pending for any backend.
    if (line.size > 0) segment.bytes = file.bytes
    segment.spans += line.size
    this.#stored += line.size
    this.#parts.report.delivered('traces')
    if (this.#open.isComplete) this.#parts.custody.noted()
    this.#heartbeat.start()
    this.#hand({ lines: [line], position: { segment, end: file.bytes } })
  }

  #failed(spans: readonly ReadableSpan[], failure: LogFailure): void {
    this.#dropped += spans.length
    this.#parts.report.failed('traces', failure, spans.length)
    this.#hand({ lines: [SpanLine.of(spans)] })
  }

  #hand(batch: Parameters<BatchTaker['take']>[0]): void {
    if (sizeOf(batch.lines) === 0) return
    for (const taker of this.#parts.takers) taker.take(batch)
  }
}

function isSampled(span: ReadableSpan): boolean {
  return (span.spanContext().traceFlags & SAMPLED) !== 0
}

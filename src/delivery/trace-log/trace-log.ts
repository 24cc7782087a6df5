import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { JsonBytes } from './json-bytes.ts'
import { type Destinations, headerJson, type SegmentMarks } from './line-parser.ts'
import { attempt, failureAt, type SegmentFile } from './segment-file.ts'
import type { BatchConsumer, LogSegment, SegmentManager } from './segments.ts'
import {
  type BatchSettings,
  type LocalLogSettings,
  type LogFailure,
  type LogReporter,
  UNSERIALISABLE,
} from './settings.ts'
import { writeNote, writeRequest } from './span-json.ts'
import { SpanLine, sizeOf } from './span-line.ts'

const SAMPLED = 1
/** Approximate size of one line. Writing more at a time would block the event loop for too long. */
const LINE_BYTES = 262_144
/** If a write takes longer and there is no room left in memory, the log does not wait for the disk. */
const STALLED_MILLIS = 2000

export interface TraceLogOptions {
  readonly settings: LocalLogSettings
  readonly batch: BatchSettings
  readonly marks: SegmentMarks
  readonly destinations: Destinations
  readonly segments: SegmentManager
  readonly consumers: readonly BatchConsumer[]
  readonly report: LogReporter
}

interface LogWrite {
  readonly line: SpanLine
  readonly bytes: Uint8Array
  readonly segment: LogSegment
  readonly file: SegmentFile
  isSettled: boolean
  isStalled: boolean
}

export interface TraceLogCounts {
  readonly stored: number
  readonly dropped: number
  readonly waiting: number
}

/** Records open and ended spans, and passes ended spans to the backends with their position in the log. */
export class TraceLog implements SpanProcessor {
  readonly #parts: TraceLogOptions
  readonly #open = new OpenSpans()
  readonly #heartbeat = new Heartbeat(
    () => this.#parts.segments.touchCurrent(),
    () => this.#open.isAnyNoted,
  )
  readonly #out = new JsonBytes()
  readonly #pending: ReadableSpan[] = []
  #write: LogWrite | undefined
  #draining: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #hasWritten = false
  #stored = 0
  #dropped = 0

  constructor(parts: TraceLogOptions) {
    this.#parts = parts
  }

  onStart(span: unknown): void {
    if (this.#isClosed || !isSampled(span as ReadableSpan)) return
    this.#open.addSpan(span as ReadableSpan)
    this.#scheduleDrain()
  }

  onEnd(span: ReadableSpan): void {
    if (!isSampled(span)) return
    this.#open.removeSpan(span)
    if (this.#isClosed) {
      this.#dropped++
      this.#enqueueBatch({ lines: [SpanLine.of([span])] })
      return
    }
    this.#pending.push(span)
    // If so many spans are pending, they are written synchronously instead of being dropped.
    if (this.#pending.length >= this.#parts.batch.maxQueueSize) this.#makeRoom()
    else this.#scheduleDrain()
  }

  renewNote(span: unknown): void {
    if (this.#open.renewNote(span as ReadableSpan)) this.#scheduleDrain()
  }

  forceFlush(): Promise<void> {
    return this.#hasWork() || this.#write ? this.#drain() : (this.#draining ?? Promise.resolve())
  }

  flushSync(): void {
    this.#finishWriteSync()
    while (this.#hasWork()) this.#writeNextSync()
  }

  async shutdown(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.forceFlush()
    this.#endWriting()
  }

  shutdownSync(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.flushSync()
    this.#endWriting()
  }

  #endWriting(): void {
    this.#heartbeat.stop()
    this.#parts.segments.endWriting(this.#open.isEmpty)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  counts(): TraceLogCounts {
    const inFlight = this.#write?.line.size ?? 0
    return { stored: this.#stored, dropped: this.#dropped, waiting: this.#pending.length + inFlight }
  }

  #hasWork(): boolean {
    return this.#pending.length > 0 || this.#open.hasNotes
  }

  #scheduleDrain(): void {
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
    while (this.#hasWork()) await this.#writeNext().catch(() => this.#dropPending())
    this.#draining = undefined
  }

  async #writeNext(): Promise<void> {
    const write = this.#prepareWrite()
    if (write === undefined) return
    this.#write = write
    // A busy host learns late that the write has finished. Only a write still pending after a turn of the event loop is
    // late.
    const late = (): NodeJS.Immediate => setImmediate(() => Object.assign(write, { isStalled: true }))
    const watch = setTimeout(late, STALLED_MILLIS).unref()
    const failure = await write.file.append(write.bytes).then(() => undefined, failureAt(write.file))
    clearTimeout(watch)
    this.#completeWrite(write, failure)
  }

  #writeNextSync(): void {
    try {
      const write = this.#prepareWrite()
      if (write === undefined) return
      this.#completeWrite(
        write,
        attempt(write.file, () => write.file.appendNow(write.bytes)),
      )
    } catch {
      this.#dropPending()
    }
  }

  /** No cause is known. Pending spans are dropped, because another attempt would fail in the same way. */
  #dropPending(): void {
    this.#write = undefined
    this.#open.shiftUnnoted(Number.POSITIVE_INFINITY)
    this.#failed(this.#pending.splice(0), UNSERIALISABLE)
  }

  #makeRoom(): void {
    if (this.#write?.isStalled) {
      const { path } = this.#write.file
      this.#failed(this.#takeEnded(), { kind: 'file', code: 'ETIMEDOUT', path })
      return
    }
    this.#finishWriteSync()
    this.#writeNextSync()
  }

  /** Repeats the pending write of another thread synchronously, so that later spans are handed over after it. */
  #finishWriteSync(): void {
    const write = this.#write
    if (write === undefined) return
    // The other thread may still be reading the buffer.
    this.#out.replaceBuffer()
    const failure = attempt(write.file, () => write.file.finishAppend())
    this.#completeWrite(write, failure)
  }

  /** Returns undefined if there is no segment to write to. The spans are then passed on as failed. */
  #prepareWrite(): LogWrite | undefined {
    const opened = this.#parts.segments.current(() => this.#open.repeatAll())
    if (!opened.ok) {
      this.#open.shiftUnnoted(Number.POSITIVE_INFINITY)
      this.#open.markIncomplete()
      this.#failed(this.#takeEnded(), opened.failure)
      return undefined
    }
    const { segment, file } = opened
    const out = this.#out
    out.start()
    if (file.bytes === 0) out.json(`${this.#header()}\n`)
    this.#writeNotes(this.#open.shiftUnnoted(this.#parts.batch.maxExportBatchSize))
    const from = out.length
    const spans = this.#writeEnded()
    const bytes = out.written
    // The next line overwrites these bytes.
    const json =
      spans.length > 0 && this.#parts.consumers.length > 0 ? Buffer.from(bytes.subarray(from, -1)) : undefined
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

  #completeWrite(write: LogWrite, failure: LogFailure | undefined): void {
    if (write.isSettled) return
    write.isSettled = true
    if (this.#write === write) this.#write = undefined
    const { line, segment, file } = write
    if (failure !== undefined) {
      this.#open.markIncomplete()
      this.#failed(line.spans, failure)
      return
    }
    // Bytes without spans are not pending for any backend.
    if (line.size > 0) segment.bytes = file.bytes
    segment.spans += line.size
    this.#stored += line.size
    this.#parts.report.delivered('traces')
    if (this.#open.isComplete) this.#parts.segments.markNoted()
    this.#heartbeat.start()
    this.#enqueueBatch({ lines: [line], position: { segment, end: file.bytes } })
  }

  #failed(spans: readonly ReadableSpan[], failure: LogFailure): void {
    this.#dropped += spans.length
    this.#parts.report.failed('traces', failure, spans.length)
    this.#enqueueBatch({ lines: [SpanLine.of(spans)] })
  }

  #enqueueBatch(batch: Parameters<BatchConsumer['enqueueBatch']>[0]): void {
    if (sizeOf(batch.lines) === 0) return
    for (const receiver of this.#parts.consumers) receiver.enqueueBatch(batch)
  }
}

function isSampled(span: ReadableSpan): boolean {
  return (span.spanContext().traceFlags & SAMPLED) !== 0
}

/** The open spans, and those not yet noted in the segment. A span that ends before its start was written is never noted. */
class OpenSpans {
  readonly #unnoted = new Set<ReadableSpan>()
  readonly #noted = new Set<ReadableSpan>()
  #hasMissed = false

  addSpan(span: ReadableSpan): void {
    this.#unnoted.add(span)
  }

  removeSpan(span: ReadableSpan): void {
    if (!this.#unnoted.delete(span)) this.#noted.delete(span)
  }

  get isEmpty(): boolean {
    return this.#unnoted.size === 0 && this.#noted.size === 0
  }

  get isAnyNoted(): boolean {
    return this.#noted.size > 0
  }

  get hasNotes(): boolean {
    return this.#unnoted.size > 0
  }

  get isComplete(): boolean {
    return !this.hasNotes && !this.#hasMissed
  }

  shiftUnnoted(most: number): ReadableSpan[] {
    const notes: ReadableSpan[] = []
    for (const span of this.#unnoted) {
      if (notes.length >= most) break
      notes.push(span)
    }
    for (const span of notes) {
      this.#unnoted.delete(span)
      this.#noted.add(span)
    }
    return notes
  }

  /** Returns true if the span was noted before, and so is queued to be noted again. */
  renewNote(span: ReadableSpan): boolean {
    if (!this.#noted.delete(span)) return false
    this.#unnoted.add(span)
    return true
  }

  repeatAll(): void {
    for (const span of this.#noted) this.#unnoted.add(span)
    this.#noted.clear()
    this.#hasMissed = false
  }

  /** Marks that notes could not be written. They are not retried at once: a full disk stays full for a while. */
  markIncomplete(): void {
    this.#hasMissed = true
  }

  repeatMissing(): void {
    if (this.#hasMissed) this.repeatAll()
  }
}

const INTERVAL_MILLIS = 2000

/** Marks this process as alive while spans are open. Recovery uses the last heartbeat as the end of a killed tool. */
export class Heartbeat {
  readonly #beat: () => void
  readonly #isNeeded: () => boolean
  #timer: NodeJS.Timeout | undefined

  constructor(beat: () => void, isNeeded: () => boolean) {
    this.#beat = beat
    this.#isNeeded = isNeeded
  }

  start(): void {
    if (this.#timer === undefined && this.#isNeeded()) this.#timer = setInterval(this.#tick, INTERVAL_MILLIS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  readonly #tick = (): void => {
    if (this.#isNeeded()) this.#beat()
    else this.stop()
  }
}

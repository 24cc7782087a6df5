import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { JsonBytes } from './json-bytes.ts'
import { headerJson } from './line-parser.ts'
import { attempt, fileFailure } from './segment-file.ts'
import type { BatchConsumer, CurrentSegment, LogOptions, Position, SegmentManager } from './segments.ts'
import { LOOK_UP_MILLIS } from './segments.ts'
import { type LogFailure, UNSERIALISABLE } from './settings.ts'
import { writeNote, writeRequest } from './span-json.ts'
import { isSampled, SpanLine } from './span-line.ts'

/** Approximate size of one line. Writing more at a time would block the event loop for too long. */
const LINE_BYTES = 262_144
/** If a write takes longer and there is no room left in memory, the log does not wait for the disk. */
const STALLED_MILLIS = 2000
/** Marks this process as alive while spans are open. Recovery uses the last heartbeat as the end of a killed tool. */
const HEARTBEAT_MILLIS = 2000

interface LogWrite {
  readonly spans: readonly ReadableSpan[]
  /** Undefined if no consumer needs it. */
  readonly json: Buffer | undefined
  readonly bytes: Uint8Array
  readonly current: CurrentSegment
  isSettled: boolean
  isStalled: boolean
}

/** Records open and ended spans, and passes ended spans to the backends with their position in the log. */
export class TraceLog implements SpanProcessor {
  readonly #parts: LogOptions
  readonly #segments: SegmentManager
  readonly #consumers: readonly BatchConsumer[]
  /** Open spans that are not noted in the segment. A span that ends before its start was written is never noted. */
  readonly #unnoted = new Set<ReadableSpan>()
  readonly #noted = new Set<ReadableSpan>()
  /** Notes could not be written. They are not retried at once: a full disk stays full for a while. */
  #hasMissedNotes = false
  #heartbeat: NodeJS.Timeout | undefined
  readonly #out = new JsonBytes()
  readonly #pending: ReadableSpan[] = []
  #write: LogWrite | undefined
  #draining: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  isClosed = false
  #isAwaited = false
  #hasWritten = false
  #stored = 0
  #dropped = 0

  constructor(parts: LogOptions, segments: SegmentManager) {
    this.#parts = parts
    this.#segments = segments
    // Traces that are buffered for sampling are passed on by the log of kept traces.
    this.#consumers = parts.settings.heldBy === undefined ? parts.consumers : []
  }

  onStart(span: ReadableSpan): void {
    if (this.isClosed || !isSampled(span)) return
    this.#unnoted.add(span)
    this.#scheduleDrain()
  }

  onEnd(span: ReadableSpan): void {
    if (!isSampled(span)) return
    if (!this.#unnoted.delete(span)) this.#noted.delete(span)
    if (this.isClosed) {
      this.#dropped++
      this.#enqueueBatch([span])
      return
    }
    this.#pending.push(span)
    // If so many spans are pending, they are written synchronously instead of being dropped.
    if (this.#pending.length >= this.#parts.batch.maxQueueSize) this.#makeRoom()
    else this.#scheduleDrain()
  }

  renewNote(span: unknown): void {
    if (!this.#noted.delete(span as ReadableSpan)) return
    this.#unnoted.add(span as ReadableSpan)
    this.#scheduleDrain()
  }

  startFlush(): void {
    if (this.#hasWork) void this.#drain()
  }

  forceFlush(): Promise<void> {
    this.#isAwaited = true
    return this.#hasWork || this.#write ? this.#drain() : (this.#draining ?? Promise.resolve())
  }

  flushSync(): void {
    this.#finishWriteSync()
    while (this.#hasWork) this.#writeNextSync()
  }

  async shutdown(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.#timer)
    await this.forceFlush()
    this.#endWriting()
  }

  shutdownSync(): void {
    this.isClosed = true
    clearTimeout(this.#timer)
    this.flushSync()
    this.#endWriting()
  }

  #endWriting(): void {
    clearInterval(this.#heartbeat)
    this.#segments.endWriting(this.#unnoted.size === 0 && this.#noted.size === 0)
  }

  counts(): { readonly stored: number; readonly dropped: number; readonly waiting: number } {
    const inFlight = this.#write?.spans.length ?? 0
    return { stored: this.#stored, dropped: this.#dropped, waiting: this.#pending.length + inFlight }
  }

  get #hasWork(): boolean {
    return this.#pending.length > 0 || this.#unnoted.size > 0
  }

  #scheduleDrain(): void {
    if (this.#timer || this.#draining) return
    // The first spans have already waited for the log to be opened.
    const millis = this.#hasWritten ? this.#parts.settings.flushMillis : 0
    this.#timer = setTimeout(this.#drain, millis).unref()
  }

  readonly #drain = (): Promise<void> => {
    this.#draining ??= this.#drainAll()
    return this.#draining
  }

  async #drainAll(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#hasWritten = true
    if (this.#hasMissedNotes) this.#repeatNotes()
    // Serialising spans takes milliseconds, which must not be spent in the hook that ended the last one.
    await new Promise(setImmediate)
    while (this.#hasWork) await this.#writeNext()
    this.#isAwaited = false
    this.#draining = undefined
  }

  async #writeNext(): Promise<void> {
    try {
      const write = this.#prepareWrite()
      if (write === undefined) return
      this.#write = write
      // A busy host learns late that the write has finished: a write is late if still pending after a turn of the event loop.
      const late = (): NodeJS.Immediate => setImmediate(() => Object.assign(write, { isStalled: true }))
      const watch = setTimeout(late, STALLED_MILLIS).unref()
      let failure: LogFailure | undefined
      try {
        await write.current.file.append(write.bytes)
      } catch (error) {
        failure = fileFailure(write.current.file.path, error)
      }
      clearTimeout(watch)
      this.#completeWrite(write, failure)
    } catch {
      this.#dropPending()
    }
  }

  #writeNextSync(): void {
    try {
      const write = this.#prepareWrite()
      if (write === undefined) return
      const { file } = write.current
      const failure = attempt(file, () => file.appendNow(write.bytes))
      this.#completeWrite(write, failure)
    } catch {
      this.#dropPending()
    }
  }

  /** No cause is known. Pending spans are dropped, because another attempt would fail in the same way. */
  #dropPending(): void {
    this.#write = undefined
    this.#shiftUnnoted(Number.POSITIVE_INFINITY)
    this.#failed(this.#pending.splice(0), UNSERIALISABLE)
  }

  #makeRoom(): void {
    if (this.#write?.isStalled) {
      const { path } = this.#write.current.file
      const oldest = this.#pending.splice(0, this.#parts.batch.maxExportBatchSize)
      this.#failed(oldest, { kind: 'file', code: 'ETIMEDOUT', path })
      return
    }
    this.#finishWriteSync()
    this.#writeNextSync()
  }

  /** Repeats the pending write of another thread synchronously, so that later spans are handed over after it. */
  #finishWriteSync(): void {
    const write = this.#write
    if (write === undefined) return
    this.#out.replaceBuffer()
    const failure = attempt(write.current.file, () => write.current.file.finishAppend())
    this.#completeWrite(write, failure)
  }

  /** Returns undefined if there is no segment to write to. The spans are then passed on as failed. */
  #prepareWrite(): LogWrite | undefined {
    const most = this.#parts.batch.maxExportBatchSize
    const consumers = this.#consumers
    // Lines in a deleted file would be lost if no consumer has them in memory.
    const isOnlyCopy = consumers.length === 0 ? this.#isAwaited : consumers.some(({ isBehind }) => isBehind === true)
    const maxAgeMillis = this.isClosed || isOnlyCopy ? 0 : LOOK_UP_MILLIS
    const current = this.#segments.current(() => this.#repeatNotes(), maxAgeMillis)
    if ('kind' in current) {
      this.#shiftUnnoted(Number.POSITIVE_INFINITY)
      this.#hasMissedNotes = true
      this.#failed(this.#pending.splice(0, most), current)
      return undefined
    }
    const { file } = current
    const out = this.#out
    out.start()
    if (file.bytes === 0) {
      const { marks, destinations, settings } = this.#parts
      out.json(`${headerJson(marks, destinations, settings.continued?.withinMillis, settings.heldBy)}\n`)
    }
    if (this.#unnoted.size > 0) {
      writeNote(out, this.#shiftUnnoted(most))
      out.ascii('\n')
    }
    const from = out.length
    const { written: spans, broken, left } = writeRequest(out, this.#pending.splice(0, most), LINE_BYTES)
    this.#pending.unshift(...left)
    if (broken.length > 0) this.#failed(broken, UNSERIALISABLE)
    if (spans.length === 0) out.cutTo(from)
    // The next line overwrites these bytes.
    const json = spans.length > 0 && consumers.length > 0 ? out.from(from) : undefined
    if (spans.length > 0) out.ascii('\n')
    return { spans, json, bytes: out.written, current, isSettled: false, isStalled: false }
  }

  #shiftUnnoted(most: number): ReadableSpan[] {
    const notes: ReadableSpan[] = []
    for (const span of this.#unnoted) {
      if (notes.length >= most) break
      notes.push(span)
      this.#unnoted.delete(span)
      this.#noted.add(span)
    }
    return notes
  }

  #repeatNotes(): void {
    for (const span of this.#noted) this.#unnoted.add(span)
    this.#noted.clear()
    this.#hasMissedNotes = false
  }

  #completeWrite(write: LogWrite, failure: LogFailure | undefined): void {
    if (write.isSettled) return
    write.isSettled = true
    if (this.#write === write) this.#write = undefined
    const { spans, json, current } = write
    const { segment, file } = current
    if (failure !== undefined) {
      this.#hasMissedNotes = true
      this.#failed(spans, failure)
      return
    }
    this.#parts.deliveries.delivered('traces')
    if (!current.isNoted && this.#unnoted.size === 0 && !this.#hasMissedNotes) this.#segments.markNoted()
    if (this.#noted.size > 0) this.#heartbeat ??= setInterval(this.#beat, HEARTBEAT_MILLIS).unref()
    // Bytes without spans are not pending for any backend.
    if (spans.length === 0) return
    segment.bytes = file.bytes
    segment.spans += spans.length
    this.#stored += spans.length
    this.#enqueueBatch(spans, json, { segment, end: file.bytes })
  }

  readonly #beat = (): void => {
    if (this.#noted.size > 0) this.#segments.touchCurrent()
    else {
      clearInterval(this.#heartbeat)
      this.#heartbeat = undefined
    }
  }

  #failed(spans: readonly ReadableSpan[], failure: LogFailure): void {
    this.#dropped += spans.length
    this.#parts.deliveries.failed('traces', failure, spans.length)
    if (spans.length > 0) this.#enqueueBatch(spans)
  }

  #enqueueBatch(spans: readonly ReadableSpan[], json?: Buffer, position?: Position): void {
    if (this.#consumers.length === 0) return
    const batch = { lines: [new SpanLine(spans, json)], position }
    for (const consumer of this.#consumers) consumer.enqueueBatch(batch)
  }
}

import { type ReadSpans, SegmentReader } from './segment-file.ts'
import type { LogSegment, StoredBatch } from './segments.ts'
import type { Reporter } from './settings.ts'
import { SpanLine, sizeOf, spansOf } from './span-line.ts'

const MAX_FAILURES = 3

/** Reads the spans pending for one backend from the segments of the log. */
export class Cursor {
  readonly #backend: string
  readonly #report: Reporter
  readonly #onLoss: (spans: number) => void
  readonly #prepare: (line: SpanLine) => void
  readonly #segments: LogSegment[] = []
  readonly #failures = new Map<LogSegment, number>()
  #reader: { readonly segment: LogSegment; readonly reader: SegmentReader } | undefined
  /** The lines after those that are being sent, which are read meanwhile. */
  #ahead: { readonly segment: LogSegment; readonly from: number; readonly spans: Promise<ReadSpans> } | undefined

  constructor(backend: string, report: Reporter, onLoss: (spans: number) => void, prepare: (line: SpanLine) => void) {
    this.#backend = backend
    this.#report = report
    this.#onLoss = onLoss
    this.#prepare = prepare
  }

  addSegment(segment: LogSegment): void {
    if (this.#segments.at(-1) === segment) return
    while (this.#segments[0]?.pendingBytes(this.#backend) === 0) this.#segments.shift()
    this.#segments.push(segment)
  }

  get isCaughtUp(): boolean {
    return this.#first() === undefined
  }

  /** Undefined at the end. Rejects if the spans cannot be read now, for example for lack of file descriptors. */
  async readBatch(maxSpans: number): Promise<StoredBatch | undefined> {
    for (let segment = this.#first(); segment !== undefined; segment = this.#first()) {
      const batch = await this.#read(segment, maxSpans)
      if (batch) return batch
    }
    for (const segment of this.#segments) this.#reportMissing(segment)
    await this.close()
    return undefined
  }

  async close(): Promise<void> {
    const [open, ahead] = [this.#reader, this.#ahead]
    this.#reader = undefined
    this.#ahead = undefined
    await ahead?.spans.catch(() => undefined)
    await open?.reader.close()
  }

  reportDamaged(segment: LogSegment): void {
    if (!segment.isDamageReported) this.#report.warn(`trace log: damaged lines of ${segment.path} are skipped`)
    segment.isDamageReported = true
  }

  async #read(segment: LogSegment, maxSpans: number): Promise<StoredBatch | undefined> {
    const from = segment.checkpoint.offsetOf(this.#backend) ?? segment.bytes
    try {
      const { lines, end, damaged } = await this.#spansAt(segment, from, maxSpans)
      if (damaged > 0) this.reportDamaged(segment)
      // Meanwhile it was pruned and counted as lost, or released because another backend could not read it.
      if (!segment.isReadableFor(this.#backend)) return undefined
      const progress = segment.checkpoint.resends.get(this.#backend)
      const wanted = progress ? [new SpanLine(progress.selectSpans(spansOf(lines)))] : lines
      if (lines.some(({ isDamaged }) => isDamaged)) this.reportDamaged(segment)
      if (sizeOf(wanted) > 0) {
        segment.markInFlight(this.#backend)
        if (end < segment.bytes) this.#readAhead(segment, end, maxSpans)
        return { lines: wanted, position: { segment, end } }
      }
      // No span is wanted, or the file was truncated externally.
      segment.acknowledge(this.#backend, end > from ? end : segment.bytes, 0)
    } catch (error) {
      await this.close()
      this.#failed(segment, error as NodeJS.ErrnoException)
    }
    return undefined
  }

  async #spansAt(segment: LogSegment, from: number, maxSpans: number): Promise<ReadSpans> {
    const ahead = this.#ahead
    this.#ahead = undefined
    // Also if it is not wanted any more: a reader serves one call at a time.
    const spans = await ahead?.spans.catch(() => undefined)
    if (spans !== undefined && ahead?.segment === segment && ahead.from === from) return spans
    return this.#readerOf(segment).spans(from, segment.bytes, maxSpans)
  }

  #readAhead(segment: LogSegment, from: number, maxSpans: number): void {
    const spans = this.#readerOf(segment).spans(from, segment.bytes, maxSpans)
    this.#ahead = { segment, from, spans }
    // After a failure they are read again.
    this.#prepareAll(spans).catch(() => undefined)
  }

  /** Encoding a line takes milliseconds, so the event loop runs in between. */
  async #prepareAll(spans: Promise<ReadSpans>): Promise<void> {
    for (const line of (await spans).lines) {
      await new Promise(setImmediate)
      this.#prepare(line)
    }
  }

  #failed(segment: LogSegment, error: NodeJS.ErrnoException): void {
    if (error.code === 'ENOENT') {
      this.#reportMissing(segment)
      segment.checkpoint.cancelDelivery(this.#backend)
      segment.releaseIfDone()
      return
    }
    const failures = (this.#failures.get(segment) ?? 0) + 1
    this.#failures.set(segment, failures)
    // Recovered segments may be reordered. Our own are read in order.
    if (segment.isRecovered) this.#segments.push(...this.#segments.splice(this.#segments.indexOf(segment), 1))
    if (failures < MAX_FAILURES) throw error
    this.#failures.delete(segment)
    const holding = `${segment.path}, which holds spans for backend ${this.#backend},`
    this.#report.warn(`trace log: ${holding} cannot be read (${error.code ?? 'unknown'})`)
    if (segment.isRecovered) segment.releaseWhenIdle()
    else segment.unreadableFor.add(this.#backend)
  }

  #reportMissing(segment: LogSegment): void {
    const spans = segment.pendingSpans(this.#backend)
    if (spans <= 0 || !segment.isReadableFor(this.#backend)) return
    segment.acknowledge(this.#backend, segment.bytes, spans)
    const ofBackend = `those pending for backend ${this.#backend} are lost`
    this.#report.warn(`trace log: spans disappeared from ${segment.path}; ${ofBackend}`)
    this.#onLoss(spans)
  }

  #first(): LogSegment | undefined {
    return this.#segments.find(each => each.pendingBytes(this.#backend) > 0 && each.isReadableFor(this.#backend))
  }

  #readerOf(segment: LogSegment): SegmentReader {
    if (this.#reader?.segment !== segment) {
      void this.#reader?.reader.close()
      this.#reader = { segment, reader: new SegmentReader(segment.path) }
    }
    return this.#reader.reader
  }
}

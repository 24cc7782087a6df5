import type { StoredBatch } from './batch.ts'
import type { Segment } from './segment.ts'
import { SegmentReader } from './segment-reader.ts'
import { SpanLine, sizeOf, spansOf } from './span-line.ts'

/** So often a segment that cannot be read for the moment is tried again. */
const MOST_FAILURES = 3

/** Told about what cannot be read. */
export interface ReadTrouble {
  /** Lines of it, which are passed over. Said once for each segment. */
  damaged(segment: Segment): void
  /** It is there, but cannot be read; what others have left is left to another process, again. */
  unreadable(segment: Segment, error: unknown): void
  /** Spans that it should hold are not there any more. */
  missing(segment: Segment, spans: number): void
}

/** Segments, in order, and how far one backend has got in them. */
export class Cursor {
  readonly #backend: string
  readonly #trouble: ReadTrouble
  readonly #segments: Segment[] = []
  readonly #failures = new Map<Segment, number>()
  #reader: { readonly segment: Segment; readonly reader: SegmentReader } | undefined

  constructor(backend: string, trouble: ReadTrouble) {
    this.#backend = backend
    this.#trouble = trouble
  }

  add(segment: Segment): void {
    if (this.#segments.at(-1) === segment) return
    this.#passOver()
    this.#segments.push(segment)
  }

  get isCaughtUp(): boolean {
    return this.#first() === undefined
  }

  /**
   * The next spans; undefined when it has caught up. Rejects with the error of the file system when they cannot be read for
   * now, as when the process has too many files open.
   */
  async next(maxSpans: number): Promise<StoredBatch | undefined> {
    for (let segment = this.#first(); segment !== undefined; segment = this.#first()) {
      const batch = await this.#read(segment, maxSpans)
      if (batch) return batch
    }
    this.#countMissing()
    await this.close()
    return undefined
  }

  async close(): Promise<void> {
    const open = this.#reader
    this.#reader = undefined
    await open?.reader.close()
  }

  sayDamaged(segment: Segment): void {
    if (!segment.isDamageSaid) this.#trouble.damaged(segment)
    segment.isDamageSaid = true
  }

  async #read(segment: Segment, maxSpans: number): Promise<StoredBatch | undefined> {
    const from = segment.checkpoint.offsetOf(this.#backend) ?? segment.bytes
    try {
      const { lines, end, damaged } = await this.#readerOf(segment).spans(from, segment.bytes, maxSpans)
      if (damaged > 0) this.sayDamaged(segment)
      // In the meantime it was pruned, and counted as lost; or given back, because it cannot be read for another backend.
      if (!segment.isReadableFor(this.#backend)) return undefined
      const progress = segment.checkpoint.resendTo(this.#backend)
      const wanted = progress ? [SpanLine.of(progress.wanted(spansOf(lines)))] : lines
      if (lines.some(({ isDamaged }) => isDamaged)) this.sayDamaged(segment)
      if (sizeOf(wanted) > 0) {
        segment.lend(this.#backend)
        return { lines: wanted, position: { segment, end } }
      }
      // None of them is wanted; or the file is shorter than it was, because somebody has cut it.
      segment.passed(this.#backend, end > from ? end : segment.bytes, 0)
    } catch (error) {
      await this.close()
      this.#failed(segment, error as NodeJS.ErrnoException)
    }
    return undefined
  }

  #failed(segment: Segment, error: NodeJS.ErrnoException): void {
    if (error.code === 'ENOENT') {
      this.#missing(segment)
      segment.checkpoint.forgive(this.#backend)
      segment.settle()
      return
    }
    const failures = (this.#failures.get(segment) ?? 0) + 1
    this.#failures.set(segment, failures)
    // Others of their kind come first; our own go in order.
    if (segment.isAdopted) this.#segments.push(...this.#segments.splice(this.#segments.indexOf(segment), 1))
    // It is tried again, after a pause.
    if (failures < MOST_FAILURES) throw error
    this.#failures.delete(segment)
    this.#trouble.unreadable(segment, error)
    if (segment.isAdopted) segment.giveBack()
    else segment.stick(this.#backend)
  }

  /** Of our own segments we know how many spans there should have been. */
  #countMissing(): void {
    for (const segment of this.#segments) this.#missing(segment)
  }

  #missing(segment: Segment): void {
    const spans = segment.spansOwedTo(this.#backend)
    if (spans <= 0 || !segment.isReadableFor(this.#backend)) return
    segment.passed(this.#backend, segment.bytes, spans)
    this.#trouble.missing(segment, spans)
  }

  #first(): Segment | undefined {
    return this.#segments.find(segment => segment.owedTo(this.#backend) > 0 && segment.isReadableFor(this.#backend))
  }

  #readerOf(segment: Segment): SegmentReader {
    if (this.#reader?.segment !== segment) {
      void this.#reader?.reader.close()
      this.#reader = { segment, reader: new SegmentReader(segment.path) }
    }
    return this.#reader.reader
  }

  /** Forgets the segments that are done. The last one may get more. */
  #passOver(): void {
    for (let [first] = this.#segments; first && first.owedTo(this.#backend) === 0; [first] = this.#segments) {
      this.#segments.shift()
    }
  }
}

import type { StoredBatch } from './batch.ts'
import type { Segment } from './segment.ts'
import { SegmentReader } from './segment-reader.ts'
import { SpanLine, sizeOf, spansOf } from './span-line.ts'

/** Attempts to read a segment that is temporarily unreadable. */
const MAX_FAILURES = 3

export interface ReadTrouble {
  /** Damaged lines were skipped. Called once per segment. */
  damaged(segment: Segment): void
  /** The segment exists but cannot be read. An adopted one is released to other processes. */
  unreadable(segment: Segment, error: unknown): void
  /** Expected spans are missing. */
  missing(segment: Segment, spans: number): void
}

/** The segments of one backend, in order, and its read position. */
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
   * The next spans. Resolves with undefined at the end. Rejects with the error of the file system if they cannot be read
   * now, for example because the process has too many open files.
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
      // Meanwhile it was pruned and counted as lost, or released because another backend could not read it.
      if (!segment.isReadableFor(this.#backend)) return undefined
      const progress = segment.checkpoint.resendTo(this.#backend)
      const wanted = progress ? [SpanLine.of(progress.wanted(spansOf(lines)))] : lines
      if (lines.some(({ isDamaged }) => isDamaged)) this.sayDamaged(segment)
      if (sizeOf(wanted) > 0) {
        segment.lend(this.#backend)
        return { lines: wanted, position: { segment, end } }
      }
      // No span is wanted, or the file was truncated externally.
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
    // Adopted segments may be reordered. Our own are read in order.
    if (segment.isAdopted) this.#segments.push(...this.#segments.splice(this.#segments.indexOf(segment), 1))
    // The caller retries after a pause.
    if (failures < MAX_FAILURES) throw error
    this.#failures.delete(segment)
    this.#trouble.unreadable(segment, error)
    if (segment.isAdopted) segment.giveBack()
    else segment.stick(this.#backend)
  }

  /** For our own segments the number of spans is known. */
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

  /** Removes finished segments. The last one may still grow. */
  #passOver(): void {
    for (let [first] = this.#segments; first && first.owedTo(this.#backend) === 0; [first] = this.#segments) {
      this.#segments.shift()
    }
  }
}

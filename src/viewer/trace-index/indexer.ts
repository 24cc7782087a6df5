import { lstat } from 'node:fs/promises'
import type { SpanPricer } from '../../reading/stored-span.ts'
import { eachLine, LogFile, spansOfEntry, type Window } from './log-file.ts'
import { TextBlocks } from './text-blocks.ts'
import { factsOfTrace, type PlacedSpan, slimSpan } from './trace-facts.ts'
import { byPlace, linesOf, type TraceEntry, type TraceTable } from './trace-table.ts'

/** The indexing progress of a file. All offsets are line starts or the end of the file. */
export interface IndexedFile {
  readonly path: string
  low: number
  high: number
  hash: string
  unreadable: number
  readonly texts: TextBlocks
}

export interface Step {
  readonly traceIds: readonly string[]
  /** The spans are new in the log, rather than older ones that are indexed only now. */
  readonly isNew: boolean
}

interface IndexerOptions {
  readonly price: SpanPricer
  readonly table: TraceTable
  readonly files: readonly IndexedFile[]
  readonly list: () => Promise<readonly string[]>
  /** Called every few milliseconds, so that queries can run. If it throws, the step ends; the next one continues. */
  readonly pause: () => Promise<void>
}

/** Smaller files are read from the beginning, larger ones from the end. */
const SMALL_BYTES = 1_048_576
const FIRST_BYTES = 1_048_576
const MAX_BYTES = 4_194_304
const NEW_BYTES = 4_194_304
const SLICE_MILLIS = 20
/** Lines of traces whose spans stay in memory. */
const MAX_GROWING_BYTES = 16_777_216

/** Brings the table up to date with the files: first files being written, then older data from newest to oldest. */
export class Indexer {
  readonly #table: TraceTable
  readonly #options: IndexerOptions
  readonly #growing = new GrowingTraces()
  readonly #scratch = Buffer.allocUnsafeSlow(MAX_BYTES)
  readonly #sizes = new Map<string, number>()
  /** Files that end in half a line, with their size. They are skipped until the size changes. */
  readonly #halfLines = new Map<string, number>()
  /** Files that this process found, oldest first. The others were indexed by an earlier process. */
  files: readonly IndexedFile[]
  #filesAtStart: ReadonlySet<IndexedFile> | undefined
  #isChecked = false
  #olderBytes = FIRST_BYTES
  #pausedAt = 0

  constructor(options: IndexerOptions) {
    this.#table = options.table
    this.#options = options
    this.files = options.files
  }

  get isUpToDate(): boolean {
    return this.files.every(file => file.low === 0 && file.high >= this.bytesOf(file))
  }

  /** Indexable bytes of a file. Half a line at the end is not counted: a killed process may have left it for good. */
  bytesOf(file: IndexedFile): number {
    const size = this.#sizes.get(file.path) ?? 0
    return this.#halfLines.get(file.path) === size ? file.high : size
  }

  async step(): Promise<Step | undefined> {
    const stale = this.#table.staleTraces
    if (stale.length > 0) return this.#updateAll(stale, new Map(), true)
    const outdated = await this.#look()
    if (outdated !== undefined) return this.#remove(outdated)
    const newestFirst = this.files.toReversed()
    this.#filesAtStart ??= new Set(newestFirst)
    for (const file of newestFirst) {
      const step = this.#isLive(file) ? await this.#indexNew(file) : undefined
      if (step !== undefined) return step
    }
    for (const file of newestFirst) {
      const step = (await this.#indexNew(file)) ?? (file.low > 0 ? await this.#indexOlder(file) : undefined)
      if (step !== undefined) return step
    }
    return undefined
  }

  async #look(): Promise<IndexedFile | undefined> {
    const paths = await this.#options.list()
    this.#sizes.clear()
    for (const path of paths) {
      const found = await lstat(path).catch(() => undefined)
      if (found?.isFile() === true) this.#sizes.set(path, found.size)
    }
    const outdated = this.files.find(file => this.#isOutdated(file))
    if (outdated !== undefined) return outdated
    this.#isChecked = true
    const known = new Set(this.files.map(({ path }) => path))
    for (const path of paths) if (!known.has(path) && this.#sizes.has(path)) this.#register(path)
    return undefined
  }

  /** A log is only appended to, so files indexed by an earlier process are checked once. */
  #isOutdated(file: IndexedFile): boolean {
    const size = this.#sizes.get(file.path)
    if (size === undefined || size < file.high) return true
    if (this.#isChecked || file.high === 0) return false
    const hash = LogFile.use(file.path, open => open.hashBefore(file.high))
    return hash !== undefined && hash !== file.hash
  }

  #register(path: string): void {
    const size = this.#sizes.get(path) ?? 0
    const end = size <= SMALL_BYTES ? 0 : (LogFile.use(path, open => open.lineEndBefore(size)) ?? 0)
    const hash = LogFile.use(path, open => open.hashBefore(end)) ?? ''
    this.files = [...this.files, { path, low: end, high: end, hash, unreadable: 0, texts: new TextBlocks() }]
  }

  /** True if the file is being written now. Data written before this process looked is queued instead, newest first. */
  #isLive(file: IndexedFile): boolean {
    const isKnown = file.high > 0 || this.#filesAtStart?.has(file) !== true
    return isKnown && (this.#sizes.get(file.path) ?? 0) - file.high <= NEW_BYTES
  }

  async #indexNew(file: IndexedFile): Promise<Step | undefined> {
    const { path, high } = file
    const size = this.#sizes.get(file.path) ?? 0
    if (this.bytesOf(file) <= high) return undefined
    const found = LogFile.use(path, open => {
      const window = open.windowAfter(high, size, NEW_BYTES)
      return window && { window, hash: open.hashBefore(window.to) }
    })
    if (found === undefined) {
      this.#halfLines.set(path, size)
      return undefined
    }
    const { window, hash } = found
    return this.#indexWindow(file, window.entries(), { high: window.to, hash })
  }

  async #indexOlder(file: IndexedFile): Promise<Step> {
    const { path, low } = file
    const size = this.#olderBytes
    this.#olderBytes = Math.min(MAX_BYTES, size * 2)
    const window = LogFile.use(path, open => open.windowBefore(low, size, this.#scratch))
    // An unreadable file has no older data: if it is gone, its traces are removed at the next look.
    return this.#indexWindow(file, window?.entries() ?? [], { low: window?.from ?? 0 })
  }

  /** The progress and the lines change together, so that a step that ends early neither loses nor repeats a line. */
  async #indexWindow(
    file: IndexedFile,
    entries: ReturnType<Window['entries']>,
    progress: Pick<IndexedFile, 'high' | 'hash'> | Pick<IndexedFile, 'low'>,
  ): Promise<Step> {
    const found = new Map<string, PlacedSpan[]>()
    let unreadable = 0
    this.#pausedAt = performance.now()
    for (const { entry, line } of entries) {
      if ('problem' in entry) unreadable += 1
      for (const [nth, span] of spansOfEntry(entry).entries()) {
        file.texts.addSpan(line, span)
        const placed = { span: this.#options.price(slimSpan(span)), line, nth }
        const known = found.get(span.traceId)
        if (known === undefined) found.set(span.traceId, [placed])
        else known.push(placed)
      }
      await this.#breathe()
    }
    await this.#options.pause()
    Object.assign(file, progress)
    file.unreadable += unreadable
    const whole = new Map<TraceEntry, PlacedSpan[]>()
    const changed: TraceEntry[] = []
    for (const [traceId, spans] of found) {
      const isFirst = this.#table.traces.get(traceId) === undefined
      const entry = this.#table.addLines(traceId, [...new Set(spans.map(({ line }) => line))])
      if (isFirst) whole.set(entry, spans)
      else this.#growing.addSpans(entry, spans)
      changed.push(entry)
    }
    return this.#updateAll(changed, whole, 'high' in progress)
  }

  #remove(file: IndexedFile): Promise<Step> {
    this.files = this.files.filter(each => each !== file)
    this.#halfLines.delete(file.path)
    this.#growing.clear()
    this.#table.removeFile(file.path)
    return this.#updateAll(this.#table.staleTraces, new Map(), true)
  }

  /** @param whole traces of which all spans are at hand; the lines of the others are read again, unless they grew lately */
  async #updateAll(
    entries: readonly TraceEntry[],
    whole: ReadonlyMap<TraceEntry, PlacedSpan[]>,
    isNew: boolean,
  ): Promise<Step> {
    for (const entry of entries) {
      const spans =
        whole.get(entry) ?? this.#growing.spansOf(entry) ?? (await readPlacedSpans(entry, this.#options.price))
      const facts = spans.length === 0 ? undefined : factsOfTrace(entry.traceId, spans)
      this.#table.putFacts(entry, facts)
      if (facts?.open !== undefined || !whole.has(entry)) this.#growing.keepSpans(entry, spans)
      await this.#breathe()
    }
    return { traceIds: entries.map(({ traceId }) => traceId), isNew }
  }

  async #breathe(): Promise<void> {
    if (performance.now() - this.#pausedAt < SLICE_MILLIS) return
    await this.#options.pause()
    this.#pausedAt = performance.now()
  }
}

/** Spans of traces that are open or have grown lately, so that their lines are not read again. The latest last. */
class GrowingTraces {
  readonly #traces = new Map<TraceEntry, { readonly spans: PlacedSpan[]; readonly bytes: number }>()
  #bytes = 0

  spansOf(entry: TraceEntry): PlacedSpan[] | undefined {
    return this.#traces.get(entry)?.spans
  }

  /** Call together with `addLines`, so that no line is missing if a step ends early. */
  addSpans(entry: TraceEntry, spans: readonly PlacedSpan[]): void {
    const known = this.#traces.get(entry)?.spans
    for (const span of spans) known?.push(span)
    known?.sort((a, b) => byPlace(a.line, b.line) || a.nth - b.nth)
  }

  /** Spans of which a file could not be read are not kept. */
  keepSpans(entry: TraceEntry, spans: PlacedSpan[]): void {
    this.#delete(entry)
    const lines = new Set(spans.map(({ line }) => line))
    if (lines.size !== linesOf(entry).length) return
    const bytes = [...lines].reduce((sum, { length }) => sum + length, 0)
    this.#traces.set(entry, { spans, bytes })
    this.#bytes += bytes
    for (const oldest of this.#traces.keys()) {
      if (this.#bytes <= MAX_GROWING_BYTES) return
      this.#delete(oldest)
    }
  }

  clear(): void {
    this.#traces.clear()
    this.#bytes = 0
  }

  #delete(entry: TraceEntry): void {
    this.#bytes -= this.#traces.get(entry)?.bytes ?? 0
    this.#traces.delete(entry)
  }
}

async function readPlacedSpans(entry: TraceEntry, price: SpanPricer): Promise<PlacedSpan[]> {
  const found: PlacedSpan[] = []
  await eachLine(linesOf(entry), (line, spans) => {
    for (const [nth, span] of spans.entries()) {
      if (span.traceId === entry.traceId) found.push({ span: price(slimSpan(span)), line, nth })
    }
  })
  return found
}

import { lstat } from 'node:fs/promises'
import { eachLine, LogFile, spansOfEntry, type Window } from './log-file.ts'
import { factsOfTrace, type PlacedSpan, slimSpan } from './trace-facts.ts'
import { byPlace, type TraceEntry, type TraceTable } from './trace-table.ts'

/** The indexing progress of a file. All offsets are line starts or the end of the file. */
export interface IndexedFile {
  readonly path: string
  low: number
  high: number
  hash: string
  unreadable: number
}

export interface Step {
  readonly traceIds: readonly string[]
  /** The spans are new in the log, rather than older ones that are indexed only now. */
  readonly isNew: boolean
}

interface IndexerOptions {
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

/** Brings the table up to date with the files: first files being written, then older data from newest to oldest. */
export class Indexer {
  readonly #table: TraceTable
  readonly #options: IndexerOptions
  readonly #sizes = new Map<string, number>()
  /** Files that end in half a line, with their size. They are skipped until the size changes. */
  readonly #halfLines = new Map<string, number>()
  /** Files that this process found, oldest first. The others were indexed by an earlier process. */
  #files: IndexedFile[]
  #filesAtStart: ReadonlySet<IndexedFile> | undefined
  #isChecked = false
  #olderBytes = FIRST_BYTES
  #pausedAt = 0

  constructor(options: IndexerOptions) {
    this.#table = options.table
    this.#options = options
    this.#files = [...options.files]
  }

  get files(): readonly IndexedFile[] {
    return this.#files
  }

  get isUpToDate(): boolean {
    return this.#files.every(file => file.low === 0 && file.high >= this.bytesOf(file))
  }

  /** Indexable bytes of a file. Half a line at the end is not counted: a killed process may have left it for good. */
  bytesOf(file: IndexedFile): number {
    const size = this.#sizeOf(file)
    return this.#halfLines.get(file.path) === size ? file.high : size
  }

  async step(): Promise<Step | undefined> {
    const stale = this.#table.staleTraces
    if (stale.length > 0) return this.#updateAll(stale, new Map(), true)
    const outdated = await this.#look()
    if (outdated !== undefined) return this.#remove(outdated)
    const newestFirst = this.#files.toReversed()
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

  #sizeOf({ path }: IndexedFile): number {
    return this.#sizes.get(path) ?? 0
  }

  async #look(): Promise<IndexedFile | undefined> {
    const paths = await this.#options.list()
    this.#sizes.clear()
    for (const path of paths) {
      const found = await lstat(path).catch(() => undefined)
      if (found?.isFile() === true) this.#sizes.set(path, found.size)
    }
    const outdated = this.#files.find(file => this.#isOutdated(file))
    if (outdated !== undefined) return outdated
    this.#isChecked = true
    const known = new Set(this.#files.map(({ path }) => path))
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
    this.#files.push({ path, low: end, high: end, hash, unreadable: 0 })
  }

  /** True if the file is being written now. Data written before this process looked is queued instead, newest first. */
  #isLive(file: IndexedFile): boolean {
    const isKnown = file.high > 0 || this.#filesAtStart?.has(file) !== true
    return isKnown && this.#sizeOf(file) - file.high <= NEW_BYTES
  }

  async #indexNew(file: IndexedFile): Promise<Step | undefined> {
    const { path, high } = file
    const size = this.#sizeOf(file)
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
    return this.#indexWindow(window, true, unreadable => {
      file.high = window.to
      file.hash = hash
      file.unreadable += unreadable
    })
  }

  async #indexOlder(file: IndexedFile): Promise<Step> {
    const { path, low } = file
    const size = this.#olderBytes
    this.#olderBytes = Math.min(MAX_BYTES, size * 2)
    const window = LogFile.use(path, open => open.windowBefore(low, size))
    // An unreadable file has no older data: if it is gone, its traces are removed at the next look.
    const none = { from: 0, to: low, bytes: Buffer.alloc(0), entries: () => [] }
    return this.#indexWindow(window ?? none, false, (unreadable, { from }) => {
      file.low = from
      file.unreadable += unreadable
    })
  }

  /** The progress and the lines change together, so that a step that ends early neither loses nor repeats a line. */
  async #indexWindow(
    window: Window,
    isNew: boolean,
    save: (unreadable: number, window: Window) => void,
  ): Promise<Step> {
    const found = new Map<string, PlacedSpan[]>()
    let unreadable = 0
    this.#pausedAt = performance.now()
    for (const { entry, line } of window.entries()) {
      if ('problem' in entry) unreadable += 1
      for (const [nth, span] of spansOfEntry(entry).entries()) {
        const placed = { span: slimSpan(span), line, nth }
        const known = found.get(span.traceId)
        if (known === undefined) found.set(span.traceId, [placed])
        else known.push(placed)
      }
      await this.#breathe()
    }
    await this.#options.pause()
    save(unreadable, window)
    const whole = new Map<TraceEntry, readonly PlacedSpan[]>()
    const changed: TraceEntry[] = []
    for (const [traceId, spans] of found) {
      const isFirst = this.#table.trace(traceId) === undefined
      const entry = this.#table.addLines(traceId, [...new Set(spans.map(({ line }) => line))])
      if (isFirst) whole.set(entry, spans)
      changed.push(entry)
    }
    return this.#updateAll(changed, whole, isNew)
  }

  #remove(file: IndexedFile): Promise<Step> {
    this.#files = this.#files.filter(each => each !== file)
    this.#halfLines.delete(file.path)
    this.#table.removeFile(file.path)
    return this.#updateAll(this.#table.staleTraces, new Map(), true)
  }

  /** @param whole traces of which all spans are at hand; the lines of the others are read again */
  async #updateAll(
    entries: readonly TraceEntry[],
    whole: ReadonlyMap<TraceEntry, readonly PlacedSpan[]>,
    isNew: boolean,
  ): Promise<Step> {
    for (const entry of entries) {
      const spans = whole.get(entry) ?? (await readPlacedSpans(entry))
      this.#table.putFacts(entry, spans.length === 0 ? undefined : factsOfTrace(entry.traceId, spans))
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

async function readPlacedSpans({ traceId, lines }: TraceEntry): Promise<PlacedSpan[]> {
  const found: PlacedSpan[] = []
  await eachLine(lines.toSorted(byPlace), (line, spans) => {
    for (const [nth, span] of spans.entries()) {
      if (span.traceId === traceId) found.push({ span: slimSpan(span), line, nth })
    }
  })
  return found
}

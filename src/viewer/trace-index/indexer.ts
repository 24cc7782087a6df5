import type { StoredSpan } from '../../reading/stored-span.ts'
import type { Database } from './database.ts'
import { KeptSpans, type SpanRow } from './kept-span.ts'
import type { Window } from './log-file.ts'
import { type FreshTrace, RollUps } from './roll-ups.ts'
import { placeOf, takeBack } from './schema.ts'
import { reading, type Segment, Segments, tailOf } from './segments.ts'
import { searchableText } from './words.ts'

export interface Step {
  readonly traceIds: readonly string[]
  /** The spans are new in the log, rather than older ones that are indexed only now. */
  readonly isNew: boolean
}

export interface IndexerOptions {
  readonly list: () => Promise<readonly string[]>
  /** Called every few milliseconds and before each commit, so that queries can run. If it throws, the step is rolled back. */
  readonly pause: () => Promise<void>
}

const FIRST_BYTES = 1_048_576
const MAX_BYTES = 8_388_608
const TEXT_BYTES = 8_388_608
const NEW_BYTES = 4_194_304
const SLICE_MILLIS = 20
const MAX_REMEMBERED = 50_000

/**
 * Brings the database up to date with the files, one transaction per step. Order: files being written, then older data from
 * newest to oldest, then the words of older data. The progress is saved in the same transaction. Only one indexer may write a
 * database.
 */
export class Indexer {
  readonly segments: Segments
  readonly #database: Database
  readonly #options: IndexerOptions
  readonly #kept: KeptSpans
  readonly #rollUps: RollUps
  readonly #traces = new Map<string, number>()
  /** Files that end in half a line, with their size. They are skipped until the size changes. */
  readonly #waiting = new Map<string, number>()
  #olderBytes = FIRST_BYTES
  #found: ReadonlySet<number> | undefined
  #breathAt = 0

  constructor(database: Database, options: IndexerOptions) {
    this.#database = database
    this.#options = options
    this.segments = new Segments(database, options.list)
    this.#kept = new KeptSpans(database)
    this.#rollUps = new RollUps(database, this.#kept)
  }

  get isUpToDate(): boolean {
    return this.segments.all.every(each => each.low === 0 && each.text_low === 0 && each.high >= this.bytesOf(each))
  }

  /** Indexable bytes of a file. Half a line at the end is not counted: a killed process may have left it for good. */
  bytesOf(segment: Segment): number {
    const size = this.segments.sizeOf(segment)
    return this.#waiting.get(segment.path) === size ? segment.high : size
  }

  /** Returns undefined if there is nothing to do. @throws SQLite's error */
  async step(): Promise<Step | undefined> {
    const outdated = await this.segments.look()
    if (outdated !== undefined) return this.#inTransaction(revision => this.#remove(outdated, revision))
    const newestFirst = this.segments.all.toReversed()
    this.#found ??= new Set(newestFirst.map(({ id }) => id))
    for (const segment of newestFirst) {
      const step = this.#isLive(segment) ? await this.#takeNew(segment) : undefined
      if (step !== undefined) return step
    }
    for (const segment of newestFirst) {
      const step = (await this.#takeNew(segment)) ?? (segment.low > 0 ? await this.#takeOlder(segment) : undefined)
      if (step !== undefined) return step
    }
    const wordless = newestFirst.find(({ text_low }) => text_low > 0)
    return wordless === undefined ? undefined : this.#takeWords(wordless)
  }

  /** True if the file is being written now. Data written before this process looked is queued instead, newest first. */
  #isLive(segment: Segment): boolean {
    const isKnown = segment.high > 0 || this.#found?.has(segment.id) !== true
    return isKnown && this.segments.sizeOf(segment) - segment.high <= NEW_BYTES
  }

  async #takeNew(segment: Segment): Promise<Step | undefined> {
    const { path, high } = segment
    const size = this.segments.sizeOf(segment)
    if (this.bytesOf(segment) <= high) return undefined
    const found = reading(path, file => {
      const window = file.windowAfter(high, size, NEW_BYTES)
      return window && { window, tail: tailOf(file, window.to) }
    })
    if (found === undefined) {
      this.#waiting.set(path, size)
      return undefined
    }
    const { window, tail } = found
    return this.#inTransaction(async revision => {
      const { touched, unreadable } = await this.#add(segment, window, { spans: true, words: true })
      const traceIds = await this.#rollUp(segment, window, touched, revision)
      this.segments.save({
        ...segment,
        high: window.to,
        text_high: window.to,
        tail,
        unreadable: segment.unreadable + unreadable,
      })
      return { traceIds, isNew: true }
    })
  }

  async #takeOlder(segment: Segment): Promise<Step> {
    const window = this.#windowBefore(segment, segment.low, this.#olderBytes)
    this.#olderBytes = Math.min(MAX_BYTES, this.#olderBytes * 2)
    return this.#inTransaction(async revision => {
      const { touched, unreadable } = await this.#add(segment, window, { spans: true, words: false })
      const traceIds = await this.#rollUp(segment, window, touched, revision)
      this.segments.save({ ...segment, low: window.from, unreadable: segment.unreadable + unreadable })
      return { traceIds, isNew: false }
    })
  }

  async #takeWords(segment: Segment): Promise<Step> {
    const window = this.#windowBefore(segment, segment.text_low, TEXT_BYTES)
    return this.#inTransaction(async () => {
      await this.#add(segment, window, { spans: false, words: true })
      this.segments.save({ ...segment, text_low: window.from })
      return { traceIds: [], isNew: false }
    })
  }

  /** An unreadable file has no older data: if it is gone, its rows are removed at the next look. */
  #windowBefore({ path }: Segment, to: number, size: number): Window {
    const window = reading(path, file => file.windowBefore(to, size))
    return window ?? { from: 0, to, entries: () => [] }
  }

  async #add(
    { id }: Segment,
    window: Window,
    what: { readonly spans: boolean; readonly words: boolean },
  ): Promise<{ readonly touched: ReadonlyMap<number, FreshTrace>; readonly unreadable: number }> {
    const touched = new Map<number, FreshTrace>()
    let unreadable = 0
    for (const { entry, offset, length } of window.entries()) {
      if ('problem' in entry) unreadable += 1
      else {
        for (const [nth, span] of [...entry.running, ...entry.spans].entries()) {
          const place = placeOf(id, offset, nth)
          if (what.spans) this.#addSpan(span, { place, nth, length }, touched)
          if (what.words)
            this.#database.run('INSERT INTO words (rowid, text) VALUES (?, ?)', place, searchableText(span))
        }
      }
      await this.#breathe()
    }
    return { touched, unreadable }
  }

  #addSpan(span: StoredSpan, where: Pick<SpanRow, 'place' | 'nth' | 'length'>, touched: Map<number, FreshTrace>): void {
    const { traceId } = span
    const trace = this.#traceOf(traceId)
    const row = this.#kept.add(trace, span, where)
    const fresh = touched.get(trace)
    if (fresh === undefined) touched.set(trace, { traceId, rows: [row] })
    else fresh.rows.push(row)
  }

  #traceOf(traceId: string): number {
    const known = this.#traces.get(traceId)
    if (known !== undefined) return known
    this.#database.run('INSERT OR IGNORE INTO trace (trace_id) VALUES (?)', traceId)
    const { id } = this.#database.get<{ id: number }>('SELECT id FROM trace WHERE trace_id = ?', traceId) ?? { id: 0 }
    if (this.#traces.size >= MAX_REMEMBERED) this.#traces.clear()
    this.#traces.set(traceId, id)
    return id
  }

  async #rollUp(
    { id }: Segment,
    window: Window,
    touched: ReadonlyMap<number, FreshTrace>,
    revision: number,
  ): Promise<string[]> {
    const places = { from: placeOf(id, window.from), to: placeOf(id, window.to) }
    for (const [trace, fresh] of touched) {
      this.#rollUps.added(trace, fresh, places, revision)
      await this.#breathe()
    }
    this.#rollUps.flush()
    return Array.from(touched.values(), ({ traceId }) => traceId)
  }

  async #remove(segment: Segment, revision: number): Promise<Step> {
    const places = { from: placeOf(segment.id, 0), to: placeOf(segment.id + 1, 0) }
    const within = 'FROM span WHERE place >= ? AND place < ?'
    const range = [places.from, places.to] as const
    const traceIds: string[] = []
    for (const { trace } of this.#database.all<{ trace: number }>(`SELECT DISTINCT trace ${within}`, ...range)) {
      traceIds.push(this.#rollUps.removed(trace, places, revision))
      await this.#breathe()
    }
    this.#rollUps.flush()
    this.#database.run(`DELETE FROM words WHERE rowid IN (SELECT place ${within})`, ...range)
    this.#database.run(`DELETE ${within}`, ...range)
    this.#database.run('DELETE FROM kept WHERE id NOT IN (SELECT kept FROM span UNION SELECT named FROM span)')
    this.segments.remove(segment)
    this.#waiting.delete(segment.path)
    this.#forget()
    return { traceIds, isNew: true }
  }

  async #inTransaction(work: (revision: number) => Promise<Step>): Promise<Step> {
    this.#database.exec('BEGIN IMMEDIATE')
    this.#breathAt = performance.now()
    try {
      this.#database.run("UPDATE state SET value = value + 1 WHERE name = 'revision'")
      const state = this.#database.get<{ value: number }>("SELECT value FROM state WHERE name = 'revision'")
      const step = await work(state?.value ?? 0)
      await this.#options.pause()
      this.#database.exec('COMMIT')
      this.segments.reload()
      return step
    } catch (error) {
      this.#forget()
      this.#rollUps.forget()
      takeBack(this.#database)
      throw error
    }
  }

  /** Clears cached ids, which may not be in the database any more. */
  #forget(): void {
    this.#traces.clear()
    this.#kept.forget()
  }

  async #breathe(): Promise<void> {
    if (performance.now() - this.#breathAt < SLICE_MILLIS) return
    await this.#options.pause()
    this.#breathAt = performance.now()
  }
}

import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { listSegments } from '../../reading/trace-log.ts'
import type { EngineName, OpenTrace, SourceStatus } from './answers.ts'
import { queryChildren } from './child-queries.ts'
import { engineHere } from './database.ts'
import { isWithoutWriter, type OpenIndex, openKept, openTemporary } from './index-place.ts'
import { Indexer, type Step } from './indexer.ts'
import { queryNumbers } from './number-queries.ts'
import { OpenTraceReader } from './open-traces.ts'
import { linesOfTrace } from './read-places.ts'
import type { Segment } from './segments.ts'
import { type Asked, querySession, querySessions } from './session-queries.ts'
import { Titles } from './titles.ts'

/** The indexed files: the log of a state directory, whose index is kept, or any file or directory, whose index is temporary. */
export type IndexSubject =
  | { readonly kind: 'log'; readonly stateDirectory: string }
  | { readonly kind: 'directory' | 'file'; readonly path: string }

export interface IndexSettings {
  readonly subject: IndexSubject
  readonly engine?: EngineName | undefined
}

export type Question = 'sessions' | 'session' | 'children' | 'lines' | 'numbers'
type Answering = (asked: Asked, given: never) => unknown

const ANSWERS: Readonly<Record<Question, Answering>> = {
  sessions: querySessions,
  session: querySession,
  children: queryChildren,
  lines: linesOfTrace,
  numbers: queryNumbers,
}

const AGAIN_MILLIS = 60_000
const TAKE_OVER_MILLIS = 2_000

function tracesOf(subject: IndexSubject): string {
  return subject.kind === 'log' ? join(subject.stateDirectory, 'traces') : subject.path
}

/** An index in this thread. The caller advances it with `step`, and may query it between two slices of a step. */
export class LocalIndex {
  readonly engine: EngineName
  readonly #settings: IndexSettings
  readonly #pause: () => Promise<void>
  readonly #now: () => number
  #index: OpenIndex
  #indexer: Indexer | undefined
  #openReader: OpenTraceReader
  #titles: Titles
  #open: Asked['open'] = new Map()
  #rebuiltAt = Number.NEGATIVE_INFINITY
  #lookedAt: number
  #revision = 0
  #failure: string | undefined
  #isDamaged = false
  #isStopped = false

  private constructor(settings: IndexSettings, index: OpenIndex, pause: () => Promise<void>, now: () => number) {
    this.#settings = settings
    this.#index = index
    this.#pause = pause
    this.#now = now
    this.#lookedAt = now()
    this.engine = index.database.engine
    this.#titles = new Titles(index.database)
    this.#openReader = this.#begin()
  }

  /**
   * @param pause called every few milliseconds in a step
   * @throws the error of the file system, or SQLite's
   */
  static async open(
    settings: IndexSettings,
    pause: () => Promise<void> = async () => undefined,
    now: () => number = Date.now,
  ): Promise<LocalIndex> {
    return new LocalIndex(settings, await openIndex(settings), pause, now)
  }

  get isWriter(): boolean {
    return this.#index.isWriter
  }

  get isUpToDate(): boolean {
    return this.#indexer?.isUpToDate ?? true
  }

  get openTraces(): readonly OpenTrace[] {
    return [...this.#open.values()]
  }

  /**
   * Does some of the pending work; returns undefined if there is none for now. A damaged index is rebuilt from the log.
   *
   * @throws SQLite's error when rebuilding does not help
   */
  async step(): Promise<Step | undefined> {
    try {
      if (this.#isDamaged) return await this.#rebuild()
      const step = await (this.#indexer === undefined ? this.#follow() : this.#indexer.step())
      this.#failure = undefined
      return step
    } catch (error) {
      if (this.#isStopped) return undefined
      if (isOfFileSystem(error)) return this.#fail(`cannot read ${tracesOf(this.#settings.subject)}: ${error.code}`)
      if (PASSING.test(messageOf(error))) return this.#fail(`cannot write the index: ${messageOf(error)}`)
      if (this.#now() < this.#rebuiltAt + AGAIN_MILLIS) throw error
      return this.#rebuild()
    }
  }

  /** Renews the lock for processes that cannot check this pid. If the index was removed, it is rebuilt. */
  touch(): void {
    try {
      this.#index.touch()
    } catch {
      this.#isDamaged = true
    }
  }

  async lookWhatIsOpen(): Promise<void> {
    try {
      const open = await this.#openReader.read(this.#now())
      this.#open = new Map(open.map(trace => [trace.traceId, trace] as const))
    } catch (error) {
      this.#noteDamage(error)
    }
  }

  async ask(question: Question, given: never): Promise<unknown> {
    try {
      return await ANSWERS[question]({ database: this.#index.database, titles: this.#titles, open: this.#open }, given)
    } catch (error) {
      this.#isDamaged ||= DAMAGE.test(messageOf(error))
      throw error
    }
  }

  status(): SourceStatus | undefined {
    try {
      return this.#readStatus()
    } catch (error) {
      return this.#noteDamage(error)
    }
  }

  #readStatus(): SourceStatus {
    const { database, isWriter } = this.#index
    const segments = this.#indexer?.segments.all ?? database.all<Segment>('SELECT * FROM segment')
    const sum = (figure: (segment: Segment) => number): number => segments.reduce((all, each) => all + figure(each), 0)
    const counts = database.get<{ turns: number | null; spans: number | null; since: number | null }>(
      'SELECT sum(turns) AS turns, sum(spans) AS spans, min(start_at) AS since FROM session',
    )
    const bytes = sum(segment => Math.max(segment.high, this.#indexer?.bytesOf(segment) ?? 0))
    const indexedBytes = sum(({ low, high }) => high - low)
    return {
      path: tracesOf(this.#settings.subject),
      engine: this.engine,
      isReader: !isWriter,
      bytes,
      indexedBytes,
      searchableBytes: sum(({ text_low, text_high }) => text_high - text_low),
      traceCount: counts?.turns ?? 0,
      spanCount: counts?.spans ?? 0,
      unreadableCount: sum(({ unreadable }) => unreadable),
      indexedSince: indexedBytes === bytes ? undefined : (counts?.since ?? undefined),
      failure: this.#failure,
    }
  }

  /** Rolls back the step in progress and does no more work. */
  stop(): void {
    this.#isStopped = true
  }

  /** Call when no step is in progress. */
  close(): void {
    this.stop()
    this.#index.close()
  }

  #begin(): OpenTraceReader {
    const { subject } = this.#settings
    const { database, isWriter } = this.#index
    const list = async (): Promise<readonly string[]> =>
      subject.kind === 'file' ? [await realpath(subject.path)] : listSegments(tracesOf(subject))
    const pause = async (): Promise<void> => {
      await this.#pause()
      if (this.#isStopped) throw new Error('stopped')
    }
    this.#indexer = isWriter ? new Indexer(database, { list, pause }) : undefined
    this.#titles = new Titles(database)
    this.#openReader = new OpenTraceReader(
      database,
      this.#titles,
      subject.kind === 'log' ? subject.stateDirectory : undefined,
    )
    return this.#openReader
  }

  /** Returns changes written by another process. Takes over when that process has ended. */
  async #follow(): Promise<Step | undefined> {
    if (this.#now() >= this.#lookedAt + TAKE_OVER_MILLIS) {
      this.#lookedAt = this.#now()
      const { subject } = this.#settings
      if (subject.kind === 'log' && isWithoutWriter(subject.stateDirectory, this.engine)) {
        await this.#reopen(false)
        return { traceIds: [], isNew: true }
      }
    }
    const { database } = this.#index
    const rows = database.all<{ trace_id: string; revision: number }>(
      'SELECT trace_id, revision FROM trace WHERE revision > ?',
      this.#revision,
    )
    if (rows.length === 0) return undefined
    this.#revision = rows.reduce((last, { revision }) => Math.max(last, revision), this.#revision)
    return { traceIds: rows.map(({ trace_id }) => trace_id), isNew: true }
  }

  async #rebuild(): Promise<Step> {
    this.#rebuiltAt = this.#now()
    this.#isDamaged = false
    await this.#reopen(true)
    return { traceIds: [], isNew: true }
  }

  async #reopen(isWorthless: boolean): Promise<void> {
    this.#index.close(isWorthless)
    this.#index = await openIndex({ ...this.#settings, engine: this.engine })
    this.#begin()
  }

  /** Transient errors are not damage. @throws other errors */
  #noteDamage(error: unknown): undefined {
    if (DAMAGE.test(messageOf(error))) this.#isDamaged = true
    else if (!PASSING.test(messageOf(error))) throw error
  }

  #fail(failure: string): undefined {
    this.#failure = failure
  }
}

function openIndex({ subject, engine }: IndexSettings): Promise<OpenIndex> {
  const here = engineHere(engine)
  return subject.kind === 'log' ? openKept(subject.stateDirectory, here) : openTemporary(here)
}

const DAMAGE = /malformed|not a database|corrupt/i
/** Transient errors: a full disk, or a lock held by a reading process. */
const PASSING = /disk is full|disk I\/O error|is locked/i

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** SQLite's errors have other codes, or none. */
function isOfFileSystem(error: unknown): error is NodeJS.ErrnoException {
  const { code, syscall } = error as NodeJS.ErrnoException
  return typeof code === 'string' && typeof syscall === 'string'
}

import { ftruncateSync, lstatSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { SegmentFile } from '../delivery/trace-log/index.ts'
import { expectOwnFile, makePrivateDirectory, OPEN, withOwnFile } from '../delivery/trace-log/private-file.ts'
import { inTime, TOO_LATE } from '../guards/in-time.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import {
  copyEntries,
  type EntryLocation,
  isCompactionWorthwhile,
  limitPlan,
  MAX_JOURNAL_BYTES,
  type PlannedEntry,
  planRetention,
  type RetentionRule,
} from './journal-compaction.ts'
import { headerLine, idsLine, JOURNAL_VERSION, type JournalEntry, readLine } from './journal-line.ts'

export type { EntryLocation, RetentionRule } from './journal-compaction.ts'

const NAME = 'journal.jsonl'
const LINE_END = 0x0a
const MAX_ENTRY_CHARS = MAX_JOURNAL_BYTES / 4
export const MAX_DISK_MILLIS = 2000
const RETRY_MILLIS = 1000
/** The path is a link, or belongs to another user. */
const NOT_OURS: ReadonlySet<string> = new Set(['ELOOP', 'ENOTPRIVATE', 'EISDIR'])

export interface JournalLineToWrite {
  readonly entry: JournalEntry
  readonly line: string
}

export interface RecoveredEntry {
  readonly entry: JournalEntry
  readonly location: EntryLocation
}

interface RecoveredJournal {
  readonly entries: RecoveredEntry[]
  ids: readonly string[]
}

/**
 * A file of the received events, kept while something of them is open. Never throws. Without a journal, recording goes on, but
 * open spans do not survive the receiver.
 */
export class Journal {
  readonly #directory: string
  readonly #report: Diagnostics
  #file: SegmentFile | undefined
  #locations: EntryLocation[] = []
  #recovered: RecoveredJournal = { entries: [], ids: [] }
  #isRefused = false
  #isFailing = false
  #hasDropped = false
  #triedAt = 0
  /** A write is under way, or timed out and may still finish. */
  #isStalled = false

  constructor(directory: string, report: Diagnostics) {
    this.#directory = directory
    this.#report = report
    this.#try(() => this.#open())
  }

  get bytes(): number {
    return this.#file?.bytes ?? 0
  }

  get isFull(): boolean {
    return this.bytes > MAX_JOURNAL_BYTES
  }

  get isCompact(): boolean {
    return this.#locations.every(({ isSessionRecord }) => isSessionRecord)
  }

  takeRecovered(): Readonly<RecoveredJournal> {
    const read = this.#recovered
    this.#recovered = { entries: [], ids: [] }
    return read
  }

  /** Resolves to undefined for entries that could not be written. Never rejects. */
  async append(entries: readonly JournalLineToWrite[]): Promise<readonly (EntryLocation | undefined)[]> {
    const file = this.#usableFile()
    if (file === undefined) return []
    const lines = entries.map(({ line }) => Buffer.from(line.length > MAX_ENTRY_CHARS ? '' : line))
    const from = file.bytes
    const failure = await this.#write(file, Buffer.concat(lines))
    this.#isFailing &&= failure !== undefined
    if (failure === undefined) return this.#locate(entries, lines, from)
    this.#handleFailure(failure)
    return []
  }

  /** Called at process exit. The pending write and these lines are in the file when it returns. */
  appendAtExit(lines: readonly string[]): void {
    this.#try(() => {
      this.#file?.finishAppend()
      this.#file?.appendNow(Buffer.from(lines.join('')))
    })
  }

  async compact(need: RetentionRule, ids: readonly string[]): Promise<void> {
    const plan = planRetention(this.#locations, need)
    if (!(this.isFull || isCompactionWorthwhile(plan)) || this.#usableFile() === undefined) return
    try {
      await this.#rewrite(
        limitPlan(plan, this.isFull, () => this.#warnDropped()),
        ids,
      )
    } catch (error) {
      this.#handleFailure(error)
    }
  }

  clear(): void {
    if (!this.#isRefused) this.#try(() => this.#createFile())
  }

  close(): void {
    this.#file?.close()
    this.#file = undefined
    this.#isRefused = true
  }

  get #path(): string {
    return join(this.#directory, NAME)
  }

  get #temporary(): string {
    return `${this.#path}.tmp`
  }

  #open(): void {
    makePrivateDirectory(this.#directory, line => this.#report.warn(line))
    rmSync(this.#temporary, { force: true })
    const stats = lstatSync(this.#path, { throwIfNoEntry: false })
    if (stats !== undefined) expectOwnFile(stats, this.#path)
    if (this.#isReadable(stats?.size)) this.#file = SegmentFile.open(this.#path)
    else this.#createFile()
  }

  #isReadable(size: number | undefined): boolean {
    if (size === undefined) return false
    if (size <= 2 * MAX_JOURNAL_BYTES)
      return withOwnFile(this.#path, OPEN.change, descriptor => this.#readAll(descriptor))
    this.#warn('is too large: it is not read, and replaced')
    return false
  }

  #readAll(descriptor: number): boolean {
    const content = readFileSync(descriptor)
    // The last line was cut off when its receiver was killed.
    const whole = content.lastIndexOf(LINE_END) + 1
    if (whole < content.length) ftruncateSync(descriptor, whole)
    const read: RecoveredJournal = { entries: [], ids: [] }
    let damaged = 0
    for (const { text, offset, bytes } of linesOf(content)) {
      const line = readLine(text)
      if (line.kind === 'header' && line.version > JOURNAL_VERSION) {
        this.#warn('was written by a newer version, which this one cannot read: open turns are ended as crashed')
        return false
      }
      if (line.kind === 'damaged') damaged++
      else if (line.kind === 'ids') read.ids = line.ids
      else if (line.kind === 'entry') {
        const { entry, isPast } = line
        read.entries.push({ entry, location: locationOf(entry, { offset, bytes, isPast }) })
      }
    }
    if (damaged > 0) this.#warn(`has ${damaged} damaged line${damaged === 1 ? '' : 's'}: their events are missing`)
    this.#recovered = read
    this.#locations = read.entries.map(({ location: place }) => place)
    return true
  }

  async #write(file: SegmentFile, bytes: Buffer): Promise<unknown> {
    this.#isStalled = true
    let failure: unknown
    const written = file.append(bytes).then(undefined, error => {
      failure = error
    })
    const unstalled = written.then(() => {
      this.#isStalled = false
    })
    const isLate = (await inTime(unstalled, MAX_DISK_MILLIS)) === TOO_LATE
    return isLate ? Object.assign(new Error('stalled'), { code: 'ETIMEDOUT' }) : failure
  }

  /** Replaces the old file by a new one. @throws the error of the file system */
  #createFile(): void {
    rmSync(this.#temporary, { force: true })
    const file = SegmentFile.create(this.#temporary)
    try {
      file.appendNow(Buffer.from(headerLine()))
      this.#replaceBy(file, [])
    } catch (error) {
      file.close()
      throw error
    }
  }

  async #rewrite(plan: readonly PlannedEntry[], ids: readonly string[]): Promise<void> {
    rmSync(this.#temporary, { force: true })
    const source = await open(this.#path, OPEN.read)
    const file = SegmentFile.create(this.#temporary)
    try {
      await file.append(Buffer.from(ids.length === 0 ? headerLine() : `${headerLine()}${idsLine(ids)}`))
      this.#replaceBy(file, await copyEntries(plan, source, file))
    } catch (error) {
      file.close()
      rmSync(this.#temporary, { force: true })
      throw error
    } finally {
      await source.close()
    }
  }

  #replaceBy(file: SegmentFile, places: EntryLocation[]): void {
    renameSync(this.#temporary, this.#path)
    this.#file?.close()
    this.#file = file
    this.#locations = places
  }

  /** The user may have removed the file, and a full disk may have room again. */
  #usableFile(): SegmentFile | undefined {
    if (this.#isStalled) return undefined
    if (this.#file?.isUsable()) return this.#file
    if (this.#isRefused || Date.now() < this.#triedAt + RETRY_MILLIS) return undefined
    this.#triedAt = Date.now()
    this.#try(() => this.#createFile())
    return this.#file?.isUsable() ? this.#file : undefined
  }

  #locate(
    entries: readonly JournalLineToWrite[],
    lines: readonly Buffer[],
    from: number,
  ): (EntryLocation | undefined)[] {
    let offset = from
    return entries.map(({ entry }, index) => {
      const bytes = lines[index]?.length ?? 0
      if (bytes === 0) {
        this.#warnDropped()
        return undefined
      }
      const place = locationOf(entry, { offset, bytes, isPast: false })
      offset += bytes
      this.#locations.push(place)
      return place
    })
  }

  #warnDropped(): void {
    if (this.#hasDropped) return
    this.#hasDropped = true
    const most = `${MAX_JOURNAL_BYTES / 1_048_576} MiB`
    this.#warn(
      `has room for ${most} of open turns, and more was received: after a restart of the receiver, open turns lack their first events`,
    )
  }

  #try(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#handleFailure(error)
    }
  }

  #handleFailure(error: unknown): void {
    const { code = 'unknown' } = (error ?? {}) as NodeJS.ErrnoException
    this.#isRefused ||= NOT_OURS.has(code)
    if (this.#isFailing) return
    this.#isFailing = true
    const what = this.#isRefused ? `is no file of ours (${code}); remove it` : `cannot be written (${code})`
    this.#warn(`${what}. Recording goes on, but open turns would not survive a restart of the receiver`)
  }

  #warn(what: string): void {
    this.#report.warn(`journal: ${this.#path} ${what}`)
  }
}

/** `isSessionRecord` stays true until the receiver has processed the entry and knows better. */
function locationOf(
  { host, at, event }: JournalEntry,
  where: Pick<EntryLocation, 'offset' | 'bytes' | 'isPast'>,
): EntryLocation {
  return { host, at, eventAt: event.at, isSessionRecord: true, ...where }
}

function* linesOf(content: Buffer): Generator<{ text: string; offset: number; bytes: number }> {
  let offset = 0
  for (let end = content.indexOf(LINE_END); end >= 0; end = content.indexOf(LINE_END, offset)) {
    if (end > offset) yield { text: content.toString('utf8', offset, end), offset, bytes: end + 1 - offset }
    offset = end + 1
  }
}

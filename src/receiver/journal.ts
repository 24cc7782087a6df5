import { ftruncateSync, lstatSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { jsonIn } from '../agents/event-json.ts'
import type { HostEvent } from '../agents/host-event.ts'
import { numberOf, peek, textOf } from '../contract/foreign.ts'
import { SegmentFile } from '../delivery/trace-log/index.ts'
import { expectOwnFile, makePrivateDirectory, OPEN, withOwnFile } from '../delivery/trace-log/private-file.ts'
import { inTime, TOO_LATE } from '../guards/in-time.ts'
import type { Diagnostics } from '../tracker/guard.ts'

const NAME = 'journal.jsonl'
export const MAX_JOURNAL_BYTES: number = 64 * 1_048_576
/** Limits the entries of ended spans: recent ones, and session records. */
const PAST_BYTES: number = MAX_JOURNAL_BYTES / 8
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

/** The received events of which something is open. Never throws: without a journal, only open spans do not survive. */
export class Journal {
  readonly #directory: string
  readonly #path: string
  readonly #temporary: string
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
    this.#path = join(directory, NAME)
    this.#temporary = `${this.#path}.tmp`
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
    let offset = file.bytes
    const failure = await this.#write(file, Buffer.concat(lines))
    this.#isFailing &&= failure !== undefined
    if (failure !== undefined) {
      this.#handleFailure(failure)
      return []
    }
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
      const limited = limitPlan(plan, this.isFull, () => this.#warnDropped())
      await this.#rewrite(limited, ids)
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
    this.#locations = read.entries.map(({ location }) => location)
    return true
  }

  async #write(file: SegmentFile, bytes: Buffer): Promise<unknown> {
    this.#isStalled = true
    const failure: Promise<unknown> = file.append(bytes).catch((error: unknown) => error)
    const unstalled = failure.finally(() => {
      this.#isStalled = false
    })
    const settled = await inTime(unstalled, MAX_DISK_MILLIS)
    return settled === TOO_LATE ? Object.assign(new Error('stalled'), { code: 'ETIMEDOUT' }) : settled
  }

  #createFile(): void {
    rmSync(this.#temporary, { force: true })
    const file = SegmentFile.create(this.#temporary)
    try {
      file.appendNow(Buffer.from(HEADER_LINE))
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
      await file.append(Buffer.from(`${HEADER_LINE}${ids.length === 0 ? '' : `${JSON.stringify({ ids })}\n`}`))
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

  #warnDropped(): void {
    if (this.#hasDropped) return
    this.#hasDropped = true
    const most = `has room for ${MAX_JOURNAL_BYTES / 1_048_576} MiB of open turns, and more was received`
    this.#warn(`${most}: after a restart of the receiver, open turns lack their first events`)
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

function locationOf({ host, at, event }: JournalEntry, where: Pick<EntryLocation, 'offset' | 'bytes' | 'isPast'>) {
  return { host, at, eventAt: event.at, isSessionRecord: true, ...where }
}

function* linesOf(content: Buffer): Generator<{ text: string; offset: number; bytes: number }> {
  let offset = 0
  for (let end = content.indexOf(LINE_END); end >= 0; end = content.indexOf(LINE_END, offset)) {
    if (end > offset) yield { text: content.toString('utf8', offset, end), offset, bytes: end + 1 - offset }
    offset = end + 1
  }
}

export interface JournalEntry {
  readonly host: string
  readonly at: number
  readonly id?: string | undefined
  readonly event: HostEvent & { readonly at: number }
}

export type JournalLine =
  | { readonly kind: 'header'; readonly version: number }
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'entry'; readonly entry: JournalEntry; readonly isPast: boolean }
  | { readonly kind: 'damaged' }

const HEADER = 'hookspan.journal'
const JOURNAL_VERSION = 1

const HEADER_LINE = `${JSON.stringify({ [HEADER]: { version: JOURNAL_VERSION } })}\n`

/** Replaces the opening brace of a line to mark its entry as past. */
const PAST: Buffer = Buffer.from('{"past":true,')

export function entryLine({ host, at, id, event }: JournalEntry): string {
  return `${JSON.stringify({ host, at, id, event })}\n`
}

export function readLine(text: string): JournalLine {
  const line = jsonIn(text)
  const header = peek(line, HEADER)
  if (header !== undefined) return { kind: 'header', version: numberOf(peek(header, 'version')) ?? 0 }
  const ids = peek(line, 'ids')
  if (Array.isArray(ids)) return { kind: 'ids', ids: ids.filter(id => typeof id === 'string') }
  const entry = readEntry(line)
  return entry === undefined ? { kind: 'damaged' } : { kind: 'entry', entry, isPast: peek(line, 'past') === true }
}

function readEntry(line: unknown): JournalEntry | undefined {
  const [host, at, id, event] = ['host', 'at', 'id', 'event'].map(name => peek(line, name))
  if (typeof host !== 'string' || typeof at !== 'number') return undefined
  if (textOf(peek(event, 'event')) === undefined || typeof peek(event, 'at') !== 'number') return undefined
  return { host, at, ...(typeof id === 'string' ? { id } : {}), event: event as JournalEntry['event'] }
}

const SESSION_RECORD_MILLIS = 24 * 3_600_000

/**
 * `isPast`: nothing of the event was open any more when the journal was last compacted. `isSessionRecord`: the state of the
 * session depends on this entry: it began or ended something, or is not processed yet.
 */
export interface EntryLocation {
  readonly host: string
  readonly at: number
  readonly eventAt: number
  readonly offset: number
  readonly bytes: number
  readonly isPast: boolean
  isSessionRecord: boolean
}

/**
 * `openSince`: the event time since when a host has open spans, or undefined. `recentMillis`: ended spans are kept this long,
 * because agents report totals of whole sessions, and translators subtract earlier ones.
 */
export interface RetentionRule {
  readonly openSince: (host: string) => number | undefined
  readonly recentMillis: number
}

export interface PlannedEntry {
  readonly location: EntryLocation
  readonly fate: 'live' | 'past' | 'nothing'
}

/** Session records stay for a day after their spans have ended. */
export function planRetention(
  locations: readonly EntryLocation[],
  { openSince, recentMillis }: RetentionRule,
): PlannedEntry[] {
  const since = new Map<string, number>()
  const live = new Set<string>()
  const now = Date.now()
  return locations.map(location => {
    const { host, eventAt, at, isPast, isSessionRecord } = location
    if (!since.has(host)) since.set(host, openSince(host) ?? Number.POSITIVE_INFINITY)
    // From the first entry that may have begun an open span, all later entries of the host may belong to it.
    if (!isPast && eventAt >= (since.get(host) ?? 0)) live.add(host)
    if (live.has(host)) return { location, fate: 'live' }
    return { location, fate: now - at < (isSessionRecord ? SESSION_RECORD_MILLIS : recentMillis) ? 'past' : 'nothing' }
  })
}

export function isCompactionWorthwhile(plan: readonly PlannedEntry[]): boolean {
  let [stays, goes] = [0, 0]
  for (const { location, fate } of plan) {
    if (fate === 'nothing') goes += location.bytes
    else if (!location.isSessionRecord) stays += location.bytes
  }
  return goes > 0 && goes >= stays
}

/** Keeps the newest past entries and turns without an end. @param isFull halves the journal, so that this happens seldom */
export function limitPlan(plan: readonly PlannedEntry[], isFull: boolean, onLeftOut: () => void): PlannedEntry[] {
  let [past, live] = [PAST_BYTES, isFull ? MAX_JOURNAL_BYTES / 2 : MAX_JOURNAL_BYTES]
  const within = [...plan].reverse().map(({ location, fate }): PlannedEntry => {
    if (fate === 'past') past -= location.bytes
    if (fate === 'live') live -= location.bytes
    if (fate === 'past' && past < 0) return { location, fate: 'nothing' }
    if (fate !== 'live' || live >= 0 || location.isSessionRecord) return { location, fate }
    onLeftOut()
    return { location, fate: 'nothing' }
  })
  return within.reverse()
}

const CHUNK_BYTES = 1_048_576

async function copyEntries(plan: readonly PlannedEntry[], source: FileHandle, file: SegmentFile) {
  const locations: EntryLocation[] = []
  for (const run of contiguousRuns(plan)) {
    const bytes = run.reduce((sum, { location }) => sum + location.bytes, 0)
    const read = Buffer.alloc(bytes)
    const { bytesRead } = await source.read(read, 0, bytes, run[0]?.location.offset ?? 0)
    if (bytesRead < bytes) throw new Error('the journal is shorter than what was written to it')
    const lines: Buffer[] = []
    let [from, offset] = [0, file.bytes]
    for (const { location, fate } of run) {
      const isPast = fate === 'past'
      const line = read.subarray(from, from + location.bytes)
      from += line.length
      const written = isPast && !location.isPast ? Buffer.concat([PAST, line.subarray(1)]) : line
      lines.push(written)
      locations.push({ ...location, isPast, offset, bytes: written.length })
      offset += written.length
    }
    await file.append(Buffer.concat(lines))
  }
  return locations
}

function* contiguousRuns(plan: readonly PlannedEntry[]): Generator<readonly PlannedEntry[]> {
  let run: PlannedEntry[] = []
  let [end, bytes] = [0, 0]
  for (const planned of plan) {
    const { location, fate } = planned
    if (fate === 'nothing') continue
    if (run.length > 0 && (location.offset !== end || bytes > CHUNK_BYTES)) {
      yield run
      ;[run, bytes] = [[], 0]
    }
    run.push(planned)
    bytes += location.bytes
    end = location.offset + location.bytes
  }
  if (run.length > 0) yield run
}

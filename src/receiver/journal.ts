import { ftruncateSync, lstatSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { SegmentFile } from '../delivery/trace-log/index.ts'
import { expectOwnFile, makePrivateDirectory, OPEN, withOwnFile } from '../delivery/trace-log/private-file.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import { isInTime } from './in-time.ts'
import { copied } from './journal-copy.ts'
import { headerLine, idsLine, JOURNAL_VERSION, type JournalEntry, readLine } from './journal-line.ts'
import { bounded, isWorthIt, MAX_BYTES, type Need, type Place, type Planned, planOf } from './journal-plan.ts'

export type { Need, Place } from './journal-plan.ts'

const NAME = 'journal.jsonl'
const LINE_END = 0x0a
/** A longer single entry is dropped. */
const MAX_ENTRY_CHARS = MAX_BYTES / 4
/** A full disk stays full for a while. */
const RETRY_MILLIS = 1000
/** The path is a link, or belongs to another user. */
const NOT_OURS: ReadonlySet<string> = new Set(['ELOOP', 'ENOTPRIVATE', 'EISDIR'])

export interface Journalled {
  readonly entry: JournalEntry
  /** Includes the line end. Empty if the entry cannot be serialized. */
  readonly line: string
}

export interface ReadEntry {
  readonly entry: JournalEntry
  readonly place: Place
}

interface Read {
  readonly entries: ReadEntry[]
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
  #places: Place[] = []
  #read: Read = { entries: [], ids: [] }
  #isRefused = false
  #isFailing = false
  #hasLeftOut = false
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
    return this.bytes > MAX_BYTES
  }

  get isSlim(): boolean {
    return this.#places.every(({ isSpine }) => isSpine)
  }

  /** The entries found at opening. Returns them once. */
  takeRead(): Readonly<Read> {
    const read = this.#read
    this.#read = { entries: [], ids: [] }
    return read
  }

  /** Resolves to the places of the entries, undefined for entries that could not be written. Never rejects. */
  async append(entries: readonly Journalled[]): Promise<readonly (Place | undefined)[]> {
    const file = this.#usable()
    if (file === undefined) return []
    const lines = entries.map(({ line }) => Buffer.from(line.length > MAX_ENTRY_CHARS ? '' : line))
    const from = file.bytes
    const failure = await this.#write(file, Buffer.concat(lines))
    this.#isFailing &&= failure !== undefined
    if (failure === undefined) return this.#placed(entries, lines, from)
    this.#failed(failure)
    return []
  }

  /** Called at process exit. The pending write and these lines are in the file when it returns. */
  finish(lines: readonly string[]): void {
    this.#try(() => {
      this.#file?.finishAppend()
      this.#file?.appendNow(Buffer.from(lines.join('')))
    })
  }

  /** Compacts the file if that pays off. Never rejects. @param ids accepted deliveries */
  async tidy(need: Need, ids: readonly string[]): Promise<void> {
    const plan = planOf(this.#places, need)
    if (!(this.isFull || isWorthIt(plan)) || this.#usable() === undefined) return
    try {
      await this.#rewrite(
        bounded(plan, this.isFull, () => this.#leftOut()),
        ids,
      )
    } catch (error) {
      this.#failed(error)
    }
  }

  empty(): void {
    if (!this.#isRefused) this.#try(() => this.#begin())
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
    else this.#begin()
  }

  #isReadable(size: number | undefined): boolean {
    if (size === undefined) return false
    if (size <= 2 * MAX_BYTES) return withOwnFile(this.#path, OPEN.change, descriptor => this.#readAll(descriptor))
    this.#warn('is larger than any of ours: it is not read, and begun anew')
    return false
  }

  /** Returns false if the file must not be continued. */
  #readAll(descriptor: number): boolean {
    const content = readFileSync(descriptor)
    // The last line was cut off when its receiver was killed.
    const whole = content.lastIndexOf(LINE_END) + 1
    if (whole < content.length) ftruncateSync(descriptor, whole)
    const read: Read = { entries: [], ids: [] }
    let damaged = 0
    for (const { text, offset, bytes } of linesOf(content)) {
      const line = readLine(text)
      if (line.kind === 'header' && line.version > JOURNAL_VERSION) {
        this.#warn('was written by a newer version, which this one cannot read: what was open is ended as crashed')
        return false
      }
      if (line.kind === 'damaged') damaged++
      else if (line.kind === 'ids') read.ids = line.ids
      else if (line.kind === 'entry') {
        const { entry, isPast } = line
        read.entries.push({ entry, place: placeOf(entry, { offset, bytes, isPast }) })
      }
    }
    if (damaged > 0) this.#warn(`has ${damaged} damaged line${damaged === 1 ? '' : 's'}: what they told is missing`)
    this.#read = read
    this.#places = read.entries.map(({ place }) => place)
    return true
  }

  /** Resolves to the error, if any. */
  async #write(file: SegmentFile, bytes: Buffer): Promise<unknown> {
    this.#isStalled = true
    let failure: unknown
    const written = file.append(bytes).then(undefined, error => {
      failure = error
    })
    const unstalled = written.then(() => {
      this.#isStalled = false
    })
    return (await isInTime(unstalled)) ? failure : Object.assign(new Error('stalled'), { code: 'ETIMEDOUT' })
  }

  /** Replaces the old file by a new one. @throws the error of the file system */
  #begin(): void {
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

  async #rewrite(plan: readonly Planned[], ids: readonly string[]): Promise<void> {
    rmSync(this.#temporary, { force: true })
    const source = await open(this.#path, OPEN.read)
    const file = SegmentFile.create(this.#temporary)
    try {
      await file.append(Buffer.from(ids.length === 0 ? headerLine() : `${headerLine()}${idsLine(ids)}`))
      this.#replaceBy(file, await copied(plan, source, file))
    } catch (error) {
      file.close()
      rmSync(this.#temporary, { force: true })
      throw error
    } finally {
      await source.close()
    }
  }

  #replaceBy(file: SegmentFile, places: Place[]): void {
    renameSync(this.#temporary, this.#path)
    this.#file?.close()
    this.#file = file
    this.#places = places
  }

  /** The user may have removed the file, and a full disk may have room again. */
  #usable(): SegmentFile | undefined {
    if (this.#isStalled) return undefined
    if (this.#file?.isUsable()) return this.#file
    if (this.#isRefused || Date.now() < this.#triedAt + RETRY_MILLIS) return undefined
    this.#triedAt = Date.now()
    this.#try(() => this.#begin())
    return this.#file?.isUsable() ? this.#file : undefined
  }

  #placed(entries: readonly Journalled[], lines: readonly Buffer[], from: number): (Place | undefined)[] {
    let offset = from
    return entries.map(({ entry }, index) => {
      const bytes = lines[index]?.length ?? 0
      if (bytes === 0) {
        this.#leftOut()
        return undefined
      }
      const place = placeOf(entry, { offset, bytes, isPast: false })
      offset += bytes
      this.#places.push(place)
      return place
    })
  }

  #leftOut(): void {
    if (this.#hasLeftOut) return
    this.#hasLeftOut = true
    const most = `${MAX_BYTES / 1_048_576} MiB`
    this.#warn(
      `has room for ${most} of what is open, and more was told: should the receiver be restarted now, turns that are open lack what was told of them first`,
    )
  }

  #try(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    const { code = 'unknown' } = (error ?? {}) as NodeJS.ErrnoException
    this.#isRefused ||= NOT_OURS.has(code)
    if (this.#isFailing) return
    this.#isFailing = true
    const what = this.#isRefused ? `is no file of ours (${code}); remove it` : `cannot be written (${code})`
    this.#warn(`${what}. Recording goes on, but what is open would not survive a restart of the receiver`)
  }

  #warn(what: string): void {
    this.#report.warn(`journal: ${this.#path} ${what}`)
  }
}

/** `isSpine` stays true until the receiver has processed the entry and knows better. */
function placeOf({ host, at, event }: JournalEntry, where: Pick<Place, 'offset' | 'bytes' | 'isPast'>): Place {
  return { host, at, eventAt: event.at, isSpine: true, ...where }
}

function* linesOf(content: Buffer): Generator<{ text: string; offset: number; bytes: number }> {
  let offset = 0
  for (let end = content.indexOf(LINE_END); end >= 0; end = content.indexOf(LINE_END, offset)) {
    if (end > offset) yield { text: content.toString('utf8', offset, end), offset, bytes: end + 1 - offset }
    offset = end + 1
  }
}

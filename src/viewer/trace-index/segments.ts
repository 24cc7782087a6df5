import { createHash } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import type { Database } from './database.ts'
import { LogFile } from './log-file.ts'
import { MAX_BYTES } from './schema.ts'

/** The indexing progress of a file. All offsets are line starts or the end of the file. */
export interface Segment {
  readonly id: number
  readonly path: string
  /** Offset at which the indexed spans begin. */
  readonly low: number
  /** Offset at which the indexed spans end. `text_low` and `text_high` are the same for words. */
  readonly high: number
  readonly text_low: number
  readonly text_high: number
  /** Hash of the bytes before `high`, to recognise the file. */
  readonly tail: string
  readonly unreadable: number
}

/** Smaller files are read from the beginning, larger ones from the end. */
const SMALL_BYTES = 1_048_576
const TAIL_BYTES = 256

export class Segments {
  readonly #database: Database
  readonly #list: () => Promise<readonly string[]>
  readonly #sizes = new Map<string, number>()
  #all: Segment[] = []
  #isChecked = false

  constructor(database: Database, list: () => Promise<readonly string[]>) {
    this.#database = database
    this.#list = list
    this.reload()
  }

  /** Oldest first. */
  get all(): readonly Segment[] {
    return this.#all
  }

  /** Bytes of a file, as of the last look. */
  sizeOf({ path }: Segment): number {
    return this.#sizes.get(path) ?? 0
  }

  reload(): void {
    this.#all = this.#database.all<Segment>('SELECT * FROM segment ORDER BY id')
  }

  /**
   * Lists the files and registers new ones. Returns an indexed segment that is gone or was changed, which the caller must remove.
   */
  async look(): Promise<Segment | undefined> {
    const paths = await this.#list()
    this.#sizes.clear()
    for (const path of paths) {
      const found = await lstat(path).catch(() => undefined)
      if (found?.isFile() === true) this.#sizes.set(path, Math.min(found.size, MAX_BYTES))
    }
    const outdated = this.#all.find(segment => this.#isOutdated(segment))
    this.#isChecked ||= outdated === undefined
    if (outdated === undefined) this.#takeIn(paths)
    return outdated
  }

  save(segment: Segment): void {
    const { id, low, high, text_low, text_high, tail, unreadable } = segment
    this.#database.run(
      'UPDATE segment SET low = ?, high = ?, text_low = ?, text_high = ?, tail = ?, unreadable = ? WHERE id = ?',
      ...[low, high, text_low, text_high, tail, unreadable, id],
    )
  }

  remove({ id }: Segment): void {
    this.#database.run('DELETE FROM segment WHERE id = ?', id)
  }

  /** A log is only appended to, so segments indexed by another or an earlier process are checked once. */
  #isOutdated(segment: Segment): boolean {
    const size = this.#sizes.get(segment.path)
    if (size === undefined || size < segment.high) return true
    if (this.#isChecked || segment.high === 0) return false
    const tail = reading(segment.path, file => tailOf(file, segment.high))
    return tail !== undefined && tail !== segment.tail
  }

  #takeIn(paths: readonly string[]): void {
    const known = new Set(this.#all.map(({ path }) => path))
    const fresh = paths.filter(path => !known.has(path) && this.#sizes.has(path))
    if (fresh.length === 0) return
    for (const path of fresh) {
      const size = this.#sizes.get(path) ?? 0
      const anchor = size <= SMALL_BYTES ? 0 : (reading(path, file => file.lineEndBefore(size)) ?? 0)
      this.#database.run(
        `INSERT INTO segment (path, low, high, text_low, text_high, tail, unreadable) VALUES (?, ?, ?, ?, ?, ?, 0)`,
        ...[path, anchor, anchor, anchor, anchor, reading(path, file => tailOf(file, anchor)) ?? ''],
      )
    }
    this.reload()
  }
}

/** Undefined if the file is not readable or not regular: it may have been removed meanwhile. */
export function reading<Result>(path: string, read: (file: LogFile) => Result): Result | undefined {
  let file: LogFile | undefined
  try {
    file = new LogFile(path)
    return file.size === undefined ? undefined : read(file)
  } catch (error) {
    if (typeof (error as NodeJS.ErrnoException).code === 'string') return undefined
    throw error
  } finally {
    file?.close()
  }
}

export function tailOf(file: LogFile, end: number): string {
  return createHash('sha256')
    .update(file.bytes(Math.max(0, end - TAIL_BYTES), end))
    .digest('hex')
    .slice(0, 16)
}

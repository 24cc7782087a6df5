import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { OPEN } from '../../delivery/trace-log/private-file.ts'
import { readEntry, type StoredSpan, type TraceFileEntry } from '../../reading/stored-span.ts'
import { putSpan } from '../../reading/trace-forest.ts'

const LINE_END = 0x0a
/** Longer lines are skipped: several copies of a line are in memory at once. */
const MAX_LINE: number = 64 * 1024 * 1024
const TAIL_BYTES = 256

/** A line of a log file. `length` excludes the line end. */
export type LinePlace = Readonly<{ path: string; offset: number; length: number }>

type PlacedEntry = Readonly<{ entry: TraceFileEntry; line: LinePlace }>

export interface Window {
  readonly from: number
  readonly to: number
  entries(): Iterable<PlacedEntry>
}

/** A file of lines, open for reading. Symbolic links are not followed: nothing in a log directory may lead elsewhere. */
export class LogFile {
  readonly path: string
  readonly #descriptor: number

  private constructor(path: string) {
    this.path = path
    this.#descriptor = openSync(path, OPEN.read)
  }

  /** Undefined if the file is not readable or not regular: it may have been removed meanwhile. */
  static use<Result>(path: string, read: (file: LogFile) => Result): Result | undefined {
    let file: LogFile | undefined
    try {
      file = new LogFile(path)
      return fstatSync(file.#descriptor).isFile() ? read(file) : undefined
    } catch (error) {
      if (typeof (error as NodeJS.ErrnoException).code === 'string') return undefined
      throw error
    } finally {
      if (file !== undefined) closeSync(file.#descriptor)
    }
  }

  lineEndBefore(offset: number): number {
    for (let to = offset; to > 0; ) {
      const from = Math.max(0, to - 65_536)
      const found = this.read(from, to).lastIndexOf(LINE_END)
      if (found >= 0) return from + found + 1
      to = from
    }
    return 0
  }

  hashBefore(end: number): string {
    const bytes = this.read(Math.max(0, end - TAIL_BYTES), end)
    return createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  }

  /**
   * The lines from this offset, a line start, for about `size` bytes or to `end`. Text after the last line end is included only
   * if it is a whole line: the end of a file without a writer. Undefined if there is no whole line yet.
   */
  windowAfter(from: number, end: number, size: number): Window | undefined {
    for (let wanted = size; ; wanted *= 4) {
      const to = Math.min(end, from + wanted)
      const bytes = this.read(from, to)
      const last = bytes.lastIndexOf(LINE_END)
      if (last >= 0 && (to < end || last === bytes.length - 1)) return this.#window(bytes.subarray(0, last + 1), from)
      if (last >= 0 || to === end) return this.#windowWithRest(bytes, from, last + 1)
      if (wanted >= MAX_LINE) return this.#skipped(from, from + bytes.length)
    }
  }

  /**
   * The lines before this offset, a line start or the end of the file: about `size` bytes, or all.
   *
   * @param scratch see `read`
   */
  windowBefore(to: number, size: number, scratch?: Buffer): Window {
    for (let wanted = size; ; wanted *= 4) {
      const from = Math.max(0, to - wanted)
      const bytes = this.read(from, to, scratch)
      if (from === 0) return this.#window(bytes, 0)
      const first = bytes.indexOf(LINE_END)
      if (first >= 0 && first < bytes.length - 1) return this.#window(bytes.subarray(first + 1), from + first + 1)
      if (wanted >= MAX_LINE) return this.#skipped(from, to)
    }
  }

  /** @param scratch memory for the bytes, if they fit: it costs more to get than to fill */
  read(from: number, to: number, scratch?: Buffer): Buffer {
    const length = Math.max(0, to - from)
    const isEnough = scratch !== undefined && scratch.length >= length
    const buffer = isEnough ? scratch.subarray(0, length) : Buffer.allocUnsafeSlow(length)
    let done = 0
    while (done < buffer.length) {
      const read = readSync(this.#descriptor, buffer, done, buffer.length - done, from + done)
      if (read === 0) break
      done += read
    }
    return buffer.subarray(0, done)
  }

  #windowWithRest(bytes: Buffer, from: number, whole: number): Window | undefined {
    const rest = readLine(bytes.subarray(whole))
    if (rest !== undefined && 'spans' in rest) return this.#window(bytes, from)
    return whole === 0 ? undefined : this.#window(bytes.subarray(0, whole), from)
  }

  #skipped(from: number, to: number): Window {
    const entry = { line: 0, problem: `longer than ${MAX_LINE} bytes` }
    const line = { path: this.path, offset: from, length: to - from }
    return { from, to, entries: () => [{ entry, line }] }
  }

  #window(bytes: Buffer, from: number): Window {
    return { from, to: from + bytes.length, entries: () => entriesOf(bytes, this.path, from) }
  }
}

function* entriesOf(bytes: Buffer, path: string, from: number): Generator<PlacedEntry, void> {
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(LINE_END, at)
    const end = found < 0 ? bytes.length : found
    const entry = readLine(bytes.subarray(at, end))
    if (entry !== undefined) yield { entry, line: { path, offset: from + at, length: end - at } }
    at = end + 1
  }
}

function readLine(bytes: Buffer): TraceFileEntry | undefined {
  return readLineText(bytes.toString('utf8'))
}

export function readLineText(line: string): TraceFileEntry | undefined {
  const text = line.replace(/^\ufeff/, '')
  return text.trim() === '' ? undefined : readEntry({ line: 0, text })
}

/** Running spans come first: `nth` in a place counts them like this. */
export function spansOfEntry(entry: TraceFileEntry | undefined): readonly StoredSpan[] {
  return entry !== undefined && 'spans' in entry ? [...entry.running, ...entry.spans] : []
}

/** Lines that are close to each other are read at once. */
const GAP_BYTES = 65_536
const MAX_GROUP_BYTES = 4_194_304

export async function readTrace(traceId: string, lines: readonly LinePlace[]): Promise<StoredSpan[]> {
  const spans = new Map<string, StoredSpan>()
  await eachLine(lines, (_, found) => {
    for (const span of found) if (span.traceId === traceId) putSpan(spans, span)
  })
  return [...spans.values()]
}

/** Reads lines in their order. Ends early if a part of the log has been removed since. */
export async function eachLine<Line extends LinePlace>(
  lines: readonly Line[],
  visit: (line: Line, spans: readonly StoredSpan[]) => void,
): Promise<void> {
  for (const group of groupsOf(lines)) {
    const [{ path, offset }] = group
    const { offset: last, length } = group.at(-1) ?? group[0]
    const bytes = LogFile.use(path, file => file.read(offset, last + length))
    if (bytes === undefined) return
    for (const line of group) {
      const at = line.offset - offset
      visit(line, spansOfEntry(readLine(bytes.subarray(at, at + line.length))))
    }
    // Other work of the thread must not wait for all lines.
    await setImmediate()
  }
}

function groupsOf<Line extends LinePlace>(lines: readonly Line[]): [Line, ...Line[]][] {
  const groups: [Line, ...Line[]][] = []
  for (const line of lines) {
    if (line.length > MAX_LINE) continue
    const group = groups.at(-1)
    const [first] = group ?? []
    const last = group?.at(-1)
    const isNear =
      first?.path === line.path &&
      last !== undefined &&
      line.offset - (last.offset + last.length) < GAP_BYTES &&
      line.offset + line.length - first.offset < MAX_GROUP_BYTES
    if (isNear) group?.push(line)
    else groups.push([line])
  }
  return groups
}

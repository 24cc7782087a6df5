import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { OPEN } from '../../delivery/trace-log/private-file.ts'
import { readEntry, type TraceFileEntry } from '../../reading/stored-span.ts'

const LINE_END = 0x0a
/** Longer lines are skipped: several copies of a line are in memory at once. */
export const MAX_LINE: number = 64 * 1024 * 1024

export interface PlacedEntry {
  readonly entry: TraceFileEntry
  readonly offset: number
  readonly length: number
}

export interface Window {
  readonly from: number
  readonly to: number
  entries(): Iterable<PlacedEntry>
}

/** A file of lines, open for reading. Symbolic links are not followed: nothing in a log directory may lead elsewhere. */
export class LogFile {
  readonly path: string
  readonly #descriptor: number

  constructor(path: string) {
    this.path = path
    this.#descriptor = openSync(path, OPEN.read)
  }

  /** Undefined if it is no regular file. */
  get size(): number | undefined {
    const stats = fstatSync(this.#descriptor)
    return stats.isFile() ? stats.size : undefined
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  lineEndBefore(offset: number): number {
    for (let to = offset; to > 0; ) {
      const from = Math.max(0, to - 65_536)
      const found = this.bytes(from, to).lastIndexOf(LINE_END)
      if (found >= 0) return from + found + 1
      to = from
    }
    return 0
  }

  /**
   * The lines from this offset, a line start, for about `size` bytes or to `end`. Text after the last line end is included only
   * if it is a whole line: the end of a file without a writer. Undefined if there is no whole line yet.
   */
  windowAfter(from: number, end: number, size: number): Window | undefined {
    for (let wanted = size; ; wanted *= 4) {
      const to = Math.min(end, from + wanted)
      const bytes = this.bytes(from, to)
      const last = bytes.lastIndexOf(LINE_END)
      if (last >= 0 && (to < end || last === bytes.length - 1)) return windowOf(bytes.subarray(0, last + 1), from)
      if (last >= 0 || to === end) return this.#withRest(bytes, from, last + 1)
      if (wanted >= MAX_LINE) return skipped(from, from + bytes.length)
    }
  }

  /** The lines before this offset, a line start or the end of the file: about `size` bytes, or all. */
  windowBefore(to: number, size: number): Window {
    for (let wanted = size; ; wanted *= 4) {
      const from = Math.max(0, to - wanted)
      const bytes = this.bytes(from, to)
      if (from === 0) return windowOf(bytes, 0)
      const first = bytes.indexOf(LINE_END)
      if (first >= 0 && first < bytes.length - 1) return windowOf(bytes.subarray(first + 1), from + first + 1)
      if (wanted >= MAX_LINE) return skipped(from, to)
    }
  }

  bytes(from: number, to: number): Buffer {
    const buffer = Buffer.allocUnsafeSlow(Math.max(0, to - from))
    let done = 0
    while (done < buffer.length) {
      const read = readSync(this.#descriptor, buffer, done, buffer.length - done, from + done)
      if (read === 0) break
      done += read
    }
    return buffer.subarray(0, done)
  }

  #withRest(bytes: Buffer, from: number, whole: number): Window | undefined {
    const rest = readLine(bytes.subarray(whole))
    if (rest !== undefined && 'spans' in rest) return windowOf(bytes, from)
    return whole === 0 ? undefined : windowOf(bytes.subarray(0, whole), from)
  }
}

function skipped(from: number, to: number): Window {
  const problem = { line: 0, problem: `longer than ${MAX_LINE} bytes` }
  return { from, to, entries: () => [{ entry: problem, offset: from, length: to - from }] }
}

function windowOf(bytes: Buffer, from: number): Window {
  return { from, to: from + bytes.length, entries: () => entriesOf(bytes, from) }
}

function* entriesOf(bytes: Buffer, from: number): Generator<PlacedEntry, void> {
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(LINE_END, at)
    const end = found < 0 ? bytes.length : found
    const entry = readLine(bytes.subarray(at, end))
    if (entry !== undefined) yield { entry, offset: from + at, length: end - at }
    at = end + 1
  }
}

export function readLine(bytes: Buffer): TraceFileEntry | undefined {
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  return text.trim() === '' ? undefined : readEntry({ line: 0, text })
}

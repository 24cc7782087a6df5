import { closeSync, constants, fstatSync, ftruncateSync, openSync, write, writeSync } from 'node:fs'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { LineParser, type SegmentHeader, type StoredLine } from './line-parser.ts'
import { endsWithLine, expectOwnFile, LINE_END, makePrivateDirectory, OPEN, PRIVATE_FILE } from './private-file.ts'
import type { LogFailure } from './settings.ts'
import { SpanLine } from './span-line.ts'

const { O_CREAT, O_EXCL, O_RDWR } = constants

/** Every write has an explicit offset, so that a pending write can be repeated synchronously without a duplicate. */
export class SegmentFile {
  readonly path: string
  /** All lines up to this offset are complete. */
  bytes: number
  readonly #descriptor: number
  #inFlight: { readonly bytes: Uint8Array; readonly at: number } | undefined
  #outstanding = 0
  #isClosing = false
  #isClosed = false
  /** An abandoned write may still happen at its offset. */
  #isSpoilt = false

  private constructor(path: string, descriptor: number, bytes: number) {
    this.path = path
    this.#descriptor = descriptor
    this.bytes = bytes
  }

  static create(path: string): SegmentFile {
    makePrivateDirectory(dirname(path))
    return new SegmentFile(path, openSync(path, O_CREAT | O_EXCL | O_RDWR, PRIVATE_FILE), 0)
  }

  static open(path: string): SegmentFile {
    const descriptor = openSync(path, OPEN.change)
    try {
      const stats = fstatSync(descriptor)
      expectOwnFile(stats, path)
      return new SegmentFile(path, descriptor, stats.size)
    } catch (error) {
      closeSync(descriptor)
      throw error
    }
  }

  isDeleted(): boolean {
    return this.#links() === 0
  }

  /** @param isPresent true if the file was looked up a moment ago */
  isUsable(isPresent = false): boolean {
    return !this.#isSpoilt && (isPresent || (this.#links() ?? 0) > 0)
  }

  endsWithLine(): boolean {
    return endsWithLine(this.#descriptor, this.bytes)
  }

  /** Appends in another thread. One call at a time. Rejects with the error of the file system. Then nothing was appended. */
  append(bytes: Uint8Array): Promise<void> {
    const inFlight = { bytes, at: this.bytes }
    this.#inFlight = inFlight
    this.#outstanding++
    return new Promise((resolve, reject) => {
      let done = 0
      const advance = (error: NodeJS.ErrnoException | null, written = 0): void => {
        done += written
        if (error === null && done < bytes.length) {
          write(this.#descriptor, bytes, done, bytes.length - done, inFlight.at + done, advance)
          return
        }
        if (this.#inFlight === inFlight) {
          this.#inFlight = undefined
          if (error === null) this.bytes = inFlight.at + bytes.length
          else this.#cutOff()
          // Otherwise it was abandoned, and its spans were handled elsewhere.
        } else if (this.#isSpoilt) this.#cutOff()
        this.#outstanding--
        if (this.#isClosing) this.close()
        if (error === null) resolve()
        else reject(error)
      }
      advance(null)
    })
  }

  finishAppend(): void {
    const inFlight = this.#inFlight
    if (inFlight === undefined) return
    this.#inFlight = undefined
    this.bytes = inFlight.at
    this.#isSpoilt = true
    this.appendNow(inFlight.bytes)
    this.#isSpoilt = false
  }

  appendNow(bytes: Uint8Array): void {
    try {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#descriptor, bytes, done, bytes.length - done, this.bytes + done)
      }
      this.bytes += bytes.length
    } catch (error) {
      this.#cutOff()
      throw error
    }
  }

  /** @throws the error of the file system */
  clear(): void {
    ftruncateSync(this.#descriptor, 0)
    this.bytes = 0
  }

  close(): void {
    this.#isClosing = true
    // The number of a closed descriptor may be reused at once for another file, which a pending write or a second close would hit.
    if (this.#outstanding > 0 || this.#isClosed) return
    this.#isClosed = true
    try {
      closeSync(this.#descriptor)
    } catch {
      // The error cannot be handled. The data is written.
    }
  }

  #links(): number | undefined {
    try {
      return fstatSync(this.#descriptor).nlink
    } catch {
      return undefined
    }
  }

  /** An incomplete line at the end of the file would corrupt the next one. */
  #cutOff(): void {
    try {
      ftruncateSync(this.#descriptor, this.bytes)
    } catch {
      // Readers skip a corrupt line.
    }
  }
}

export function fileFailure(path: string, error: unknown): LogFailure {
  const { code } = (error ?? {}) as { code?: unknown }
  return { kind: 'file', code: typeof code === 'string' ? code : 'unknown', path }
}

export function attempt(file: SegmentFile, run: () => void): LogFailure | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return fileFailure(file.path, error)
  }
}

const NAME = /^((\d+)-(\d+))\.jsonl$/

let lastStartAt = 0

/** A unique, time-ordered name for this process. Several pipelines of one process have a segment each. */
export function newSegmentName(): string {
  lastStartAt = Math.max(Date.now(), lastStartAt + 1)
  return `${lastStartAt}-${process.pid}`
}

export interface SegmentIdentity {
  readonly name: string
  readonly startAt: number
  readonly pid: number
}

export function segmentIdentity(fileName: string): SegmentIdentity | undefined {
  const [, name, startAt, pid] = NAME.exec(fileName) ?? []
  return name === undefined ? undefined : { name, startAt: Number(startAt), pid: Number(pid) }
}

export interface SegmentListing extends SegmentIdentity {
  readonly path: string
  readonly bytes: number
  readonly changedAt: number
}

/** The segments in a directory, oldest first. Foreign files are ignored. Never rejects. */
export async function listSegments(directory: string): Promise<SegmentListing[]> {
  const names = await readdir(directory).catch(() => [])
  const listings = await Promise.all(
    names.map(async (name): Promise<SegmentListing | undefined> => {
      const [identity, path] = [segmentIdentity(name), join(directory, name)]
      const stats = identity && (await stat(path).catch(() => undefined))
      if (!identity || !stats?.isFile()) return undefined
      return { ...identity, path, bytes: stats.size, changedAt: stats.mtimeMs }
    }),
  )
  return listings.filter(listing => listing !== undefined).sort((one, other) => one.startAt - other.startAt)
}

/** Bytes read at once: several lines of a busy process, so that a line cut off at the end is seldom read twice. */
const CHUNK_BYTES = 1_048_576
const MAX_HEADER_BYTES = 262_144
/** Longer lines were not written by hookspan. */
const MAX_LINE_BYTES = 67_108_864

export interface ReadSpans {
  /** Valid until the next call but one: the next lines can be read while these are sent. */
  readonly lines: readonly SpanLine[]
  readonly end: number
  readonly damaged: number
}

interface FoundLine {
  readonly found: SpanLine | StoredLine
  readonly end: number
}

export class SegmentReader {
  readonly #path: string
  readonly #parser = new LineParser()
  #handle: FileHandle | undefined
  #buffer: Buffer = Buffer.alloc(0)
  #otherBuffer: Buffer = Buffer.alloc(0)

  constructor(path: string) {
    this.#path = path
  }

  /** Lines of spans that look complete are not parsed. */
  async *lines(from: number, until: number): AsyncGenerator<SpanLine | StoredLine, void> {
    for await (const lines of this.#chunks(from, until)) for (const { found } of lines) yield found
  }

  async spans(from: number, until: number, maxSpans: number): Promise<ReadSpans> {
    const lines: SpanLine[] = []
    let [end, size, damaged] = [from, 0, 0]
    ;[this.#buffer, this.#otherBuffer] = [this.#otherBuffer, this.#buffer]
    for await (const chunk of this.#chunks(from, until)) {
      for (const { found, end: lineEnd } of chunk) {
        const spans = found instanceof SpanLine ? found.size : 0
        if (size > 0 && size + spans > maxSpans) return { lines, end, damaged }
        if (found instanceof SpanLine) lines.push(found)
        else if (found.kind === 'damaged') damaged++
        end = lineEnd
        size += spans
      }
      // The next chunk would overwrite the same buffer.
      if (size > 0) break
    }
    return { lines, end, damaged }
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => undefined)
  }

  /** The lines of one chunk after the other: the next chunk overwrites the same buffer. */
  async *#chunks(from: number, until: number): AsyncGenerator<Iterable<FoundLine>, void> {
    for (let at = from; at < until; ) {
      const chunk = await this.#chunk(at, until)
      if (chunk.length === 0) return
      const end = chunk.lastIndexOf(LINE_END) + 1
      // No line end within the limit: the line was cut off when its process died, or the file is not ours.
      if (end === 0) yield [{ found: { kind: 'damaged' }, end: at + chunk.length }]
      else yield this.#linesOf(chunk.subarray(0, end), at)
      at += end || chunk.length
    }
  }

  *#linesOf(chunk: Buffer, at: number): Generator<FoundLine, void> {
    for (let [start, end] = [0, 0]; start < chunk.length; start = end) {
      end = chunk.indexOf(LINE_END, start) + 1
      yield { found: this.#find(chunk.subarray(start, end - 1)), end: at + end }
    }
  }

  #find(bytes: Buffer): SpanLine | StoredLine {
    const found = SpanLine.fromFile(bytes, this.#parser)
    if (found !== undefined) return found
    const line = this.#parser.read(bytes.toString())
    return line.kind === 'spans' ? new SpanLine(line.spans) : line
  }

  async #chunk(at: number, until: number): Promise<Buffer> {
    this.#handle ??= await open(this.#path, OPEN.read)
    for (let size = CHUNK_BYTES; ; size *= 4) {
      const wanted = Math.min(size, until - at)
      if (this.#buffer.length < wanted) this.#buffer = Buffer.allocUnsafeSlow(wanted)
      const bytesRead = await readWhole(this.#handle, this.#buffer.subarray(0, wanted), at)
      const chunk = this.#buffer.subarray(0, bytesRead)
      if (bytesRead < wanted || wanted === until - at || size >= MAX_LINE_BYTES || chunk.includes(LINE_END))
        return chunk
    }
  }
}

export const NO_HEADER: SegmentHeader = {
  marks: { incomplete: '', finalStatus: '', spanKind: '' },
  backends: new Map(),
  continuedMillis: 0,
  heldBy: '',
}

export async function readHeader(path: string): Promise<SegmentHeader> {
  try {
    for await (const line of linesIn(path, 0, MAX_HEADER_BYTES))
      return 'kind' in line && line.kind === 'header' ? line : NO_HEADER
  } catch {
    // It cannot be read now. The code that needs its spans reports the error.
  }
  return NO_HEADER
}

/** A file system may return fewer bytes than requested although more exist. Resolves with the number of bytes read. */
async function readWhole(handle: FileHandle, buffer: Buffer, at: number): Promise<number> {
  for (let done = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, done, buffer.length - done, at + done)
    done += bytesRead
    if (bytesRead === 0 || done === buffer.length) return done
  }
}

export async function* linesIn(path: string, from = 0, until?: number): AsyncGenerator<SpanLine | StoredLine, void> {
  const reader = new SegmentReader(path)
  try {
    yield* reader.lines(from, until ?? (await stat(path)).size)
  } finally {
    await reader.close()
  }
}

export async function* endedKeysIn(path: string): AsyncGenerator<string, void> {
  for await (const line of linesIn(path)) {
    if (line instanceof SpanLine) for (const { key } of line.stamps()) yield key
  }
}

import { type FileHandle, open } from 'node:fs/promises'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { OPEN } from './private-place.ts'
import { type Destinations, LineParser, type StoredLine } from './stored-line.ts'

const CHUNK_BYTES = 262_144
/** A line that is longer is none of ours. */
const MAX_LINE_BYTES = 67_108_864
const LINE_END = 0x0a

export interface ReadLine {
  readonly line: StoredLine
  /** Offset of the line behind it. */
  readonly end: number
}

export interface ReadSpans {
  readonly spans: readonly ReadableSpan[]
  /** Offset up to where these are; what holds no spans is passed over. */
  readonly end: number
  /** Lines that cannot be read. */
  readonly damaged: number
}

/** Reads lines of a segment, a chunk at a time. */
export class SegmentReader {
  readonly #path: string
  readonly #parser = new LineParser()
  #handle: FileHandle | undefined

  constructor(path: string) {
    this.#path = path
  }

  /**
   * The lines from one offset, where a line begins, up to another one.
   *
   * @throws the error of the file system
   */
  async *lines(from: number, until: number): AsyncGenerator<ReadLine, void> {
    for (let at = from; at < until; ) {
      const chunk = await this.#chunk(at, until)
      if (chunk.length === 0) return
      let start = 0
      for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, start)) {
        yield { line: this.#parser.read(chunk.toString('utf8', start, end)), end: at + end + 1 }
        start = end + 1
      }
      if (start === 0) {
        // No line end up to where it should be: a line that was cut off when its process died, or nothing of ours.
        yield { line: { kind: 'damaged', problem: 'a line without an end' }, end: at + chunk.length }
        start = chunk.length
      }
      at += start
    }
  }

  /**
   * The next spans, of whole lines: at most so many, or those of one line.
   *
   * @throws the error of the file system
   */
  async spans(from: number, until: number, maxSpans: number): Promise<ReadSpans> {
    const spans: ReadableSpan[] = []
    let [end, damaged] = [from, 0]
    for await (const read of this.lines(from, until)) {
      const found = read.line.kind === 'spans' ? read.line.spans : []
      if (spans.length > 0 && (spans.length + found.length > maxSpans || read.end - from > CHUNK_BYTES)) break
      for (const span of found) spans.push(span)
      if (read.line.kind === 'damaged') damaged++
      end = read.end
    }
    return { spans, end, damaged }
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => undefined)
  }

  /** At least one whole line where there is one. */
  async #chunk(at: number, until: number): Promise<Buffer> {
    this.#handle ??= await open(this.#path, OPEN.read)
    for (let size = CHUNK_BYTES; ; size *= 4) {
      const wanted = Math.min(size, until - at)
      const buffer = Buffer.allocUnsafe(wanted)
      const bytesRead = await readWhole(this.#handle, buffer, at)
      const chunk = buffer.subarray(0, bytesRead)
      if (bytesRead < wanted || wanted === until - at || size >= MAX_LINE_BYTES || chunk.includes(LINE_END))
        return chunk
    }
  }
}

/** To whom a segment is owed from its start. Nobody, when it does not say so. Never rejects. */
export async function readDestinations(path: string): Promise<Destinations> {
  const reader = new SegmentReader(path)
  try {
    for await (const { line } of reader.lines(0, CHUNK_BYTES)) return line.kind === 'header' ? line.backends : new Map()
  } catch {
    // It cannot be read now; whoever needs what is in it will say so.
  } finally {
    await reader.close()
  }
  return new Map()
}

/** A file system may give less than was asked for although there is more. Resolves to how much there is. */
async function readWhole(handle: FileHandle, buffer: Buffer, at: number): Promise<number> {
  for (let done = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, done, buffer.length - done, at + done)
    done += bytesRead
    if (bytesRead === 0 || done === buffer.length) return done
  }
}

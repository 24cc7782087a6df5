import { type FileHandle, open } from 'node:fs/promises'
import { OPEN } from './private-place.ts'
import { SpanLine } from './span-line.ts'
import { LineParser, type SegmentHeader, type StoredLine } from './stored-line.ts'

const CHUNK_BYTES = 262_144
/** Bytes read at once for lines that are sent unparsed. */
const REQUEST_BYTES = 1_048_576
/** Longer lines were not written by hookspan. */
const MAX_LINE_BYTES = 67_108_864
const LINE_END = 0x0a

export interface ReadLine {
  readonly line: StoredLine
  /** Offset of the next line. */
  readonly end: number
}

export interface ReadSpans {
  /** Valid until the next call. */
  readonly lines: readonly SpanLine[]
  /** Offset of the end of these lines. Lines without spans are skipped. */
  readonly end: number
  /** Number of unreadable lines. */
  readonly damaged: number
}

/** A line, or data that should be one. */
interface Piece {
  readonly bytes: Buffer
  /** Offset of the next piece. */
  readonly end: number
  readonly isWhole: boolean
}

/** Reads lines of a segment, a chunk at a time. */
export class SegmentReader {
  readonly #path: string
  readonly #parser = new LineParser()
  #handle: FileHandle | undefined
  /** Reused for each chunk. */
  #buffer: Buffer = Buffer.alloc(0)

  constructor(path: string) {
    this.#path = path
  }

  /**
   * The lines between two offsets. `from` must be the start of a line.
   *
   * @throws the error of the file system
   */
  async *lines(from: number, until: number): AsyncGenerator<ReadLine, void> {
    for await (const pieces of this.#pieces(from, until, CHUNK_BYTES)) {
      for (const piece of pieces) yield { line: this.#read(piece), end: piece.end }
    }
  }

  /**
   * Like `lines`, but does not parse lines of spans that look complete.
   *
   * @throws the error of the file system
   */
  async *spanLines(from: number, until: number): AsyncGenerator<SpanLine | StoredLine, void> {
    for await (const pieces of this.#pieces(from, until, CHUNK_BYTES)) {
      for (const piece of pieces) yield this.#find(piece)
    }
  }

  /**
   * The next spans, in complete lines: at most this many, or those of one line.
   *
   * @throws the error of the file system
   */
  async spans(from: number, until: number, maxSpans: number): Promise<ReadSpans> {
    const lines: SpanLine[] = []
    let [end, size, damaged] = [from, 0, 0]
    for await (const pieces of this.#pieces(from, until, REQUEST_BYTES)) {
      for (const piece of pieces) {
        const found = this.#find(piece)
        const spans = found instanceof SpanLine ? found.size : 0
        if (size > 0 && size + spans > maxSpans) return { lines, end, damaged }
        if (found instanceof SpanLine) lines.push(found)
        else if (found.kind === 'damaged') damaged++
        end = piece.end
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

  #read({ bytes, isWhole }: Piece): StoredLine {
    return isWhole ? this.#parser.read(bytes.toString()) : { kind: 'damaged', problem: 'a line without an end' }
  }

  #find(piece: Piece): SpanLine | StoredLine {
    const found = piece.isWhole ? SpanLine.fromFile(piece.bytes, this.#parser) : undefined
    if (found !== undefined) return found
    const line = this.#read(piece)
    return line.kind === 'spans' ? SpanLine.of(line.spans) : line
  }

  async *#pieces(from: number, until: number, size: number): AsyncGenerator<readonly Piece[], void> {
    for (let at = from; at < until; ) {
      const pieces = cut(await this.#chunk(at, until, size), at)
      yield pieces
      const last = pieces.at(-1)
      if (last === undefined) return
      at = last.end
    }
  }

  /** Contains at least one complete line if there is one. */
  async #chunk(at: number, until: number, least: number): Promise<Buffer> {
    this.#handle ??= await open(this.#path, OPEN.read)
    for (let size = least; ; size *= 4) {
      const wanted = Math.min(size, until - at)
      if (this.#buffer.length < wanted) this.#buffer = Buffer.allocUnsafeSlow(wanted)
      const bytesRead = await readWhole(this.#handle, this.#buffer.subarray(0, wanted), at)
      const chunk = this.#buffer.subarray(0, bytesRead)
      if (bytesRead < wanted || wanted === until - at || size >= MAX_LINE_BYTES || chunk.includes(LINE_END))
        return chunk
    }
  }
}

/** No line end within the limit: the line was cut off when its process died, or the file is not ours. */
function cut(chunk: Buffer, at: number): readonly Piece[] {
  const pieces: Piece[] = []
  let start = 0
  for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, start)) {
    pieces.push({ bytes: chunk.subarray(start, end), end: at + end + 1, isWhole: true })
    start = end + 1
  }
  if (start > 0 || chunk.length === 0) return pieces
  return [{ bytes: chunk, end: at + chunk.length, isWhole: false }]
}

const NO_HEADER: SegmentHeader = {
  marks: { incomplete: '', finalStatus: '', spanKind: '' },
  backends: new Map(),
  continuedMillis: 0,
  heldBy: '',
}

/** The header of a segment. Empty if the segment has none. Never rejects. */
export async function readHeader(path: string): Promise<SegmentHeader> {
  const reader = new SegmentReader(path)
  try {
    for await (const { line } of reader.lines(0, CHUNK_BYTES)) return line.kind === 'header' ? line : NO_HEADER
  } catch {
    // It cannot be read now. The code that needs its spans reports the error.
  } finally {
    await reader.close()
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

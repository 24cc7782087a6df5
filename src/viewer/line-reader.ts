import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'

/** The longest line that is read; a longer one does not fit into a string for sure, nor its spans into memory. */
const MAX_LINE_BYTES = 256 * 1024 * 1024

const NEWLINE = 0x0a

export type NumberedLine =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly problem: string }

/**
 * Bytes in pieces → numbered lines; blank ones are left out, but count. Not `node:readline`, because that also breaks
 * lines at U+2028, which JSON strings may contain.
 */
export class LineSplitter {
  readonly #maxBytes: number
  #line = 1
  #pieces: Buffer[] = []
  #bytes = 0

  constructor(maxLineBytes: number = MAX_LINE_BYTES) {
    this.#maxBytes = maxLineBytes
  }

  /** `onTaken` is told how many bytes of the chunk are behind each line that comes out. */
  *push(chunk: Buffer, onTaken?: (bytes: number) => void): Generator<NumberedLine, void> {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#take(chunk.subarray(from, end))
      onTaken?.(end + 1 - from)
      from = end + 1
      const line = this.finish()
      if (line !== undefined) yield line
    }
    this.#take(chunk.subarray(from))
    onTaken?.(chunk.length - from)
  }

  /** What stands behind the last line end, as a line. */
  finish(): NumberedLine | undefined {
    const line = this.#line++
    const isTooLong = this.#bytes > this.#maxBytes
    const text = Buffer.concat(this.#pieces)
      .toString('utf8')
      .replace(/^\ufeff/, '')
    this.#pieces = []
    this.#bytes = 0
    if (isTooLong) return { line, problem: `longer than ${this.#maxBytes} bytes` }
    return text.trim() === '' ? undefined : { line, text }
  }

  #take(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#bytes > this.#maxBytes) this.#pieces = []
    else if (piece.length > 0) this.#pieces.push(piece)
  }
}

/** Reads a file by lines, of which the file may get more later: each `read` goes on where the last one stopped. */
export class LineReader {
  readonly path: string
  readonly #maxBytes: number | undefined
  #splitter: LineSplitter
  #offset = 0

  constructor(path: string, maxLineBytes?: number) {
    this.path = path
    this.#maxBytes = maxLineBytes
    this.#splitter = new LineSplitter(maxLineBytes)
  }

  /**
   * Every complete line that has not been read yet; blank ones are left out. `onRead` is told of so many bytes more; what it
   * throws ends the reading.
   */
  async *read(onRead?: (bytes: number) => void): AsyncGenerator<NumberedLine, void> {
    const { size } = await stat(this.path)
    if (size < this.#offset) this.#restart()
    if (size === this.#offset) return
    const taken = (bytes: number): void => {
      this.#offset += bytes
      onRead?.(bytes)
    }
    for await (const chunk of createReadStream(this.path, { start: this.#offset })) {
      yield* this.#splitter.push(chunk as Buffer, taken)
    }
  }

  /** What stands behind the last line end: the last line of a file that is finished, half a line of one that grows. */
  rest(): NumberedLine | undefined {
    return this.#splitter.finish()
  }

  #restart(): void {
    this.#offset = 0
    this.#splitter = new LineSplitter(this.#maxBytes)
  }
}

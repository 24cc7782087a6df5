import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'

/** Longer lines are skipped: they may not fit into a string, nor their spans into memory. */
const MAX_LINE_BYTES = 256 * 1024 * 1024

const NEWLINE = 0x0a

export type OnRead = (bytes: number) => void

export type NumberedLine =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly problem: string }

/**
 * Splits chunks of bytes into numbered lines. Blank lines are counted but not yielded. Not `node:readline`, which also breaks
 * lines at U+2028, a character that JSON strings may contain.
 */
export class LineSplitter {
  readonly #maxBytes: number
  #line = 1
  #pieces: Buffer[] = []
  #bytes = 0

  constructor(maxLineBytes: number = MAX_LINE_BYTES) {
    this.#maxBytes = maxLineBytes
  }

  *splitChunk(chunk: Buffer, onTaken?: OnRead): Generator<NumberedLine, void> {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#appendPiece(chunk.subarray(from, end))
      onTaken?.(end + 1 - from)
      from = end + 1
      const line = this.endLine()
      if (line !== undefined) yield line
    }
    this.#appendPiece(chunk.subarray(from))
    onTaken?.(chunk.length - from)
  }

  endLine(): NumberedLine | undefined {
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

  #appendPiece(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#bytes > this.#maxBytes) this.#pieces = []
    else if (piece.length > 0) this.#pieces.push(piece)
  }
}

export class LogLineReader {
  readonly path: string
  readonly #maxBytes: number | undefined
  #splitter: LineSplitter
  #offset = 0

  constructor(path: string, maxLineBytes?: number) {
    this.path = path
    this.#maxBytes = maxLineBytes
    this.#splitter = new LineSplitter(maxLineBytes)
  }

  async *readLines(onRead?: OnRead): AsyncGenerator<NumberedLine, void> {
    const { size } = await stat(this.path)
    if (size < this.#offset) {
      this.#offset = 0
      this.#splitter = new LineSplitter(this.#maxBytes)
    }
    if (size === this.#offset) return
    const taken = (bytes: number): void => {
      this.#offset += bytes
      onRead?.(bytes)
    }
    for await (const chunk of createReadStream(this.path, { start: this.#offset })) {
      yield* this.#splitter.splitChunk(chunk as Buffer, taken)
    }
  }

  /** The text after the last line end: the last line of a finished file, or half a line of a growing one. */
  readRest(): NumberedLine | undefined {
    return this.#splitter.endLine()
  }
}

/**
 * Reads all lines of a file, including one without a line end.
 *
 * @param onRead receives the number of bytes read; an error it throws ends the reading
 * @throws the error of the file system when the file cannot be read
 */
export async function* readFileLines(path: string, onRead?: OnRead): AsyncGenerator<NumberedLine, void> {
  const reader = new LogLineReader(path)
  yield* reader.readLines(onRead)
  const rest = reader.readRest()
  if (rest !== undefined) yield rest
}

import type { FileHandle } from 'node:fs/promises'

const CHUNK_BYTES = 256 * 1024
/** Limit of one read. If more is available, only the end is read. */
const MAX_BYTES = 64 * 1024 * 1024
/** Longer lines are skipped: no answer of a model is as long. */
const MAX_LINE_BYTES = 8 * 1024 * 1024
const NEWLINE = 10

/** Reads the new lines of a growing file. An incomplete line is read again with the next call. */
export class AppendedLineReader {
  #offset = 0
  #inode: number | undefined
  #isSkipping = false
  readonly #maxBytes: number
  readonly #maxLineBytes: number

  constructor(limits: { readonly maxBytes?: number; readonly maxLineBytes?: number } = {}) {
    this.#maxBytes = limits.maxBytes ?? MAX_BYTES
    this.#maxLineBytes = limits.maxLineBytes ?? MAX_LINE_BYTES
  }

  /** Like `readNewLines`, for a file to close. @returns false if there is no file */
  async readFrom(
    opening: Promise<FileHandle | undefined>,
    onLine: (line: string) => void,
    restart: () => void = () => undefined,
  ): Promise<boolean> {
    const file = await opening
    try {
      if (file !== undefined) await this.readNewLines(file, onLine, restart)
    } finally {
      await file?.close()
    }
    return file !== undefined
  }

  /** @param restart called if the file was replaced or truncated, or if a part of it was skipped */
  async readNewLines(file: FileHandle, onLine: (line: string) => void, restart: () => void): Promise<void> {
    const { size, ino } = await file.stat()
    if ((this.#inode !== undefined && this.#inode !== ino) || size < this.#offset) {
      this.#offset = 0
      this.#isSkipping = false
      restart()
    }
    this.#inode = ino
    if (size - this.#offset > this.#maxBytes) {
      this.#offset = size - this.#maxBytes
      this.#isSkipping = true
      restart()
    }
    await this.#lines(file, size, onLine)
  }

  async #lines(file: FileHandle, size: number, onLine: (line: string) => void): Promise<void> {
    let begun: Buffer[] = []
    let length = 0
    let position = this.#offset
    while (position < size) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - position))
      const { bytesRead } = await file.read(chunk, 0, chunk.length, position)
      if (bytesRead === 0) return
      const rest = this.#emitLines([...begun, chunk.subarray(0, bytesRead)], position - length, onLine)
      position += bytesRead
      begun = rest.length === 0 ? [] : [rest]
      length = rest.length
      if (length <= this.#maxLineBytes) continue
      this.#offset = position
      this.#isSkipping = true
      begun = []
      length = 0
    }
  }

  /** @param from the offset of the bytes in the file @returns the incomplete rest */
  #emitLines(bytes: readonly Buffer[], from: number, onLine: (line: string) => void): Buffer {
    const all = bytes.length === 1 && bytes[0] !== undefined ? bytes[0] : Buffer.concat(bytes)
    let start = 0
    for (let end = all.indexOf(NEWLINE); end >= 0; end = all.indexOf(NEWLINE, start)) {
      if (!this.#isSkipping && end - start <= this.#maxLineBytes) onLine(all.toString('utf8', start, end))
      this.#isSkipping = false
      start = end + 1
      this.#offset = from + start
    }
    return all.subarray(start)
  }
}

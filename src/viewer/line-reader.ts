import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { LineSplitter, type NumberedLine } from './line-splitter.ts'

export type { NumberedLine } from './line-splitter.ts'

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

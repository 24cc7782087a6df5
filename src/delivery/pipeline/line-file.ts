import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileFailure } from '../trace-log/index.ts'
import { isMissing, makeDirectory } from '../trace-log/private-file.ts'
import type { Transport, TransportResult } from './delivery.ts'

const PRIVATE_FILE = 0o600
const { O_APPEND, O_CREAT, O_WRONLY, O_NONBLOCK = 0 } = constants as Partial<typeof constants> & typeof constants
/** O_NONBLOCK, absent on Windows: opening a pipe without a reader would block a libuv thread, and the host could not end. */
const APPEND = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK
const LINE_END: Buffer = Buffer.from('\n')

/** An append-only file. Lines must be awaited one by one. After a failure the next line is tried again. */
export class LineFile implements Transport {
  readonly path: string
  #handle: FileHandle | undefined
  #isTorn = false

  constructor(path: string) {
    this.path = path
  }

  async deliver(line: readonly Uint8Array[]): Promise<TransportResult> {
    try {
      const handle = await this.#opened()
      // If a full disk cut off the previous line, its remainder must not merge with this line.
      const before = this.#isTorn ? [LINE_END] : []
      this.#isTorn = true
      await handle.appendFile(Buffer.concat([...before, ...line, LINE_END]))
      this.#isTorn = false
      return { ok: true }
    } catch (error) {
      return { ok: false, failure: fileFailure(this.path, error) }
    }
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => undefined)
  }

  async #opened(): Promise<FileHandle> {
    // Appending to a deleted file succeeds, but the lines are lost.
    if (this.#handle && (await this.#handle.stat()).nlink > 0) return this.#handle
    await this.close()
    this.#handle = await open(this.path, APPEND, PRIVATE_FILE).catch(async error => {
      if (!isMissing(error)) throw error
      makeDirectory(dirname(this.path))
      return open(this.path, APPEND, PRIVATE_FILE)
    })
    return this.#handle
  }
}

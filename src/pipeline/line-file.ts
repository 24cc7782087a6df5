import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Delivery, Transport } from './delivery.ts'
import { fileFailure } from './trace-log/segment-file.ts'

const PRIVATE_DIRECTORY = 0o700
const PRIVATE_FILE = 0o600
const LINE_END: Buffer = Buffer.from('\n')

/**
 * An append-only file of lines, opened when the first one comes. Whoever writes waits for one line before the next.
 * After a failure it tries again with each line, so a disk that has room again is used again.
 */
export class LineFile implements Transport {
  readonly path: string
  #handle: FileHandle | undefined
  #isTorn = false

  constructor(path: string) {
    this.path = path
  }

  async deliver(line: readonly Uint8Array[]): Promise<Delivery> {
    try {
      const handle = await this.#opened()
      // The rest of a line that was cut off by a full disk must not swallow this one.
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
    if (this.#handle && !(await isDeleted(this.#handle))) return this.#handle
    await this.close()
    await mkdir(dirname(this.path), { recursive: true, mode: PRIVATE_DIRECTORY })
    this.#handle = await open(this.path, 'a', PRIVATE_FILE)
    return this.#handle
  }
}

/** Lines that are appended to a deleted file succeed and are gone. */
async function isDeleted(handle: FileHandle): Promise<boolean> {
  return (await handle.stat()).nlink === 0
}

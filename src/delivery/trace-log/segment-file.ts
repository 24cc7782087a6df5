import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, write, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { expectOwnFile, makePrivateDirectory, OPEN, PRIVATE_FILE } from './private-place.ts'
import type { LogFailure } from './settings.ts'

const LINE_END = 0x0a
const { O_CREAT, O_EXCL, O_RDWR } = constants

interface InFlight {
  readonly bytes: Uint8Array
  readonly at: number
}

/**
 * The file of a segment. Every write has an explicit offset. If the process ends while another thread writes, the write can
 * be repeated synchronously without duplicating a line.
 */
export class SegmentFile {
  readonly path: string
  readonly #descriptor: number
  #bytes: number
  #inFlight: InFlight | undefined
  /** Unfinished writes of other threads. */
  #outstanding = 0
  #isClosing = false
  /** An abandoned write may still happen at its offset. */
  #isSpoilt = false

  private constructor(path: string, descriptor: number, bytes: number) {
    this.path = path
    this.#descriptor = descriptor
    this.#bytes = bytes
  }

  /** @throws the error of the file system; `EEXIST` if a file of this name exists */
  static create(path: string): SegmentFile {
    makePrivateDirectory(dirname(path))
    return new SegmentFile(path, openSync(path, O_CREAT | O_EXCL | O_RDWR, PRIVATE_FILE), 0)
  }

  /**
   * Opens a segment of a dead process for appending.
   * @throws the error of the file system
   */
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

  /** All lines up to this offset are complete. */
  get bytes(): number {
    return this.#bytes
  }

  /** Appending to a deleted file succeeds, but the data is lost. */
  isDeleted(): boolean {
    return this.#links() === 0
  }

  isUsable(): boolean {
    return !this.#isSpoilt && (this.#links() ?? 0) > 0
  }

  /** The file must not be empty. */
  endsWithLineEnd(): boolean {
    const last = Buffer.alloc(1)
    readSync(this.#descriptor, last, 0, 1, this.#bytes - 1)
    return last[0] === LINE_END
  }

  /** Appends in another thread. One call at a time. Rejects with the error of the file system. Then nothing was appended. */
  async append(bytes: Uint8Array): Promise<void> {
    const inFlight = { bytes, at: this.#bytes }
    this.#inFlight = inFlight
    this.#outstanding++
    try {
      await this.#writeAll(inFlight)
      if (this.#inFlight === inFlight) this.#bytes = inFlight.at + bytes.length
    } catch (error) {
      if (this.#inFlight === inFlight) this.#cutOff()
      throw error
    } finally {
      if (this.#inFlight === inFlight) this.#inFlight = undefined
      // It was abandoned, and its spans were handled elsewhere.
      else if (this.#isSpoilt) this.#cutOff()
      this.#outstanding--
      if (this.#isClosing) this.close()
    }
  }

  /**
   * Completes the pending append synchronously, for a process that ends.
   * @throws the error of the file system
   */
  finishAppend(): void {
    const inFlight = this.#inFlight
    if (inFlight === undefined) return
    this.#inFlight = undefined
    this.#bytes = inFlight.at
    this.#isSpoilt = true
    this.appendNow(inFlight.bytes)
    this.#isSpoilt = false
  }

  /** @throws the error of the file system; then nothing was appended */
  appendNow(bytes: Uint8Array): void {
    try {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#descriptor, bytes, done, bytes.length - done, this.#bytes + done)
      }
      this.#bytes += bytes.length
    } catch (error) {
      this.#cutOff()
      throw error
    }
  }

  close(): void {
    this.#isClosing = true
    // The number of a closed descriptor may be reused at once for another file, which the pending write would hit.
    if (this.#outstanding > 0) return
    try {
      closeSync(this.#descriptor)
    } catch {
      // The error cannot be handled. The data is written.
    }
  }

  /** Returns undefined if the file system does not provide it. */
  #links(): number | undefined {
    try {
      return fstatSync(this.#descriptor).nlink
    } catch {
      return undefined
    }
  }

  async #writeAll({ bytes, at }: InFlight): Promise<void> {
    for (let done = 0; done < bytes.length; ) done += await this.#writeSome(bytes, done, at + done)
  }

  #writeSome(bytes: Uint8Array, from: number, at: number): Promise<number> {
    return new Promise((resolve, reject) => {
      write(this.#descriptor, bytes, from, bytes.length - from, at, (error, written) =>
        error ? reject(error) : resolve(written),
      )
    })
  }

  /** An incomplete line at the end of the file would corrupt the next one. */
  #cutOff(): void {
    try {
      ftruncateSync(this.#descriptor, this.#bytes)
    } catch {
      // Readers skip a corrupt line.
    }
  }
}

export function fileFailure(path: string, error: unknown): LogFailure {
  const { code } = (error ?? {}) as { code?: unknown }
  return { kind: 'file', code: typeof code === 'string' ? code : 'unknown', path }
}

export function failureAt(file: SegmentFile): (error: unknown) => LogFailure {
  return error => fileFailure(file.path, error)
}

export function attempt(file: SegmentFile, run: () => void): LogFailure | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return failureAt(file)(error)
  }
}

const NAME = /^(\d+)-(\d+)\.jsonl$/

let lastStartAt = 0

/** A unique, time-ordered name for this process. Several pipelines of one process have a segment each. */
export function newSegmentName(): string {
  lastStartAt = Math.max(Date.now(), lastStartAt + 1)
  return `${lastStartAt}-${process.pid}`
}

export interface SegmentIdentity {
  readonly name: string
  /** Start time, epoch milliseconds. */
  readonly startAt: number
  /** The process that wrote it. */
  readonly pid: number
}

/** Returns undefined for other files. */
export function segmentIdentity(fileName: string): SegmentIdentity | undefined {
  const match = NAME.exec(fileName)
  if (!match) return undefined
  return { name: fileName.slice(0, -'.jsonl'.length), startAt: Number(match[1]), pid: Number(match[2]) }
}

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
 * The bytes of a segment. Every write says where it goes, so that one that is under way in another thread when the
 * process ends can be made again, at once, without a line being there twice.
 */
export class SegmentFile {
  readonly path: string
  readonly #descriptor: number
  #bytes: number
  #inFlight: InFlight | undefined
  /** Writes that another thread has not come back from. */
  #outstanding = 0
  #isClosing = false
  /** A write that was given up may still happen, wherever it was to go. */
  #isSpoilt = false

  private constructor(path: string, descriptor: number, bytes: number) {
    this.path = path
    this.#descriptor = descriptor
    this.#bytes = bytes
  }

  /** @throws the error of the file system; `EEXIST` when somebody else has made a file of this name */
  static create(path: string): SegmentFile {
    makePrivateDirectory(dirname(path))
    return new SegmentFile(path, openSync(path, O_CREAT | O_EXCL | O_RDWR, PRIVATE_FILE), 0)
  }

  /** To append to what a process that has died left. @throws the error of the file system */
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

  /** Up to here every line is whole. */
  get bytes(): number {
    return this.#bytes
  }

  /** What is appended to a deleted file succeeds and is gone. */
  isDeleted(): boolean {
    return this.#links() === 0
  }

  /** Whether there is any use in appending to it. */
  isUsable(): boolean {
    return !this.#isSpoilt && (this.#links() ?? 0) > 0
  }

  /** Of a file that is not empty. */
  endsWithLineEnd(): boolean {
    const last = Buffer.alloc(1)
    readSync(this.#descriptor, last, 0, 1, this.#bytes - 1)
    return last[0] === LINE_END
  }

  /** Appends in another thread. One at a time. Rejects with the error of the file system; then nothing was appended. */
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
      // It was given up, and what is in it has gone another way.
      else if (this.#isSpoilt) this.#cutOff()
      this.#outstanding--
      if (this.#isClosing) this.close()
    }
  }

  /** Makes the append that is under way now, for a process that ends. @throws the error of the file system */
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
    // The number of a closed descriptor may be another file's at once, and the write that is under way would go there.
    if (this.#outstanding > 0) return
    try {
      closeSync(this.#descriptor)
    } catch {
      // There is nothing that could be done about it, and what was written is written.
    }
  }

  /** Undefined when the file system does not say. */
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

  /** Half a line at the end of the file would stand before the next one, and spoil it. */
  #cutOff(): void {
    try {
      ftruncateSync(this.#descriptor, this.#bytes)
    } catch {
      // Readers pass over a line that is spoilt.
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

/** Returns the failure of `run`, if it throws. */
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

/** A name that is this process' alone, in the order of time: several pipelines of one process have a segment each. */
export function newSegmentName(): string {
  lastStartAt = Math.max(Date.now(), lastStartAt + 1)
  return `${lastStartAt}-${process.pid}`
}

export interface SegmentIdentity {
  readonly name: string
  /** When it was begun. */
  readonly startAt: number
  /** Who wrote it. */
  readonly pid: number
}

/** Undefined for a file that is no segment. */
export function segmentIdentity(fileName: string): SegmentIdentity | undefined {
  const match = NAME.exec(fileName)
  if (!match) return undefined
  return { name: fileName.slice(0, -'.jsonl'.length), startAt: Number(match[1]), pid: Number(match[2]) }
}

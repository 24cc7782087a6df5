import fs from 'node:fs'
import fsPromises from 'node:fs/promises'
import { afterEach, beforeEach } from 'vitest'
import { replaceBuiltin } from '../../support/replaced-builtin.ts'

type Sync = typeof import('node:fs')
type Async = typeof import('node:fs/promises')

/** What the next calls come to. Each function is asked for every call, and throws where the disk fails. */
export interface Faults {
  /** Before an asynchronous write to a segment begins. */
  onWrite: (text: string) => void
  /** Before a synchronous write to a segment begins. */
  onWriteNow: () => void
  /** Before a whole file is written: a new checkpoint, say. */
  onSave: () => void
  onStat: () => void
  /** Before a segment is opened to be read. */
  onOpen: (path: string) => Promise<void> | void
  onLook: (path: string) => void
  /** While it is set, asynchronous writes wait here, and happen later. */
  held: (() => void)[] | undefined
}

export function noFaults(): Faults {
  const nothing = (): void => undefined
  return {
    onWrite: nothing,
    onWriteNow: nothing,
    onSave: nothing,
    onStat: nothing,
    onOpen: nothing,
    onLook: nothing,
    held: undefined,
  }
}

export function mend(faults: Faults): void {
  Object.assign(faults, noFaults())
}

/** The disk is whole when a test of the file that calls this begins. Returns what is rejected in it, and nobody handles. */
export function wholeForEachTest(faults: Faults): readonly unknown[] {
  const rejections: unknown[] = []
  const note = (error: unknown): void => void rejections.push(error)
  beforeEach(() => {
    mend(faults)
    rejections.length = 0
    process.on('unhandledRejection', note)
  })
  afterEach(() => {
    mend(faults)
    process.removeListener('unhandledRejection', note)
  })
  return rejections
}

export function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}

/** Throws `code` the first time that it is called. */
export function once(code: string): () => void {
  let isDue = true
  return () => {
    if (!isDue) return
    isDue = false
    throw failure(code)
  }
}

export function always(code: string): () => never {
  return () => {
    throw failure(code)
  }
}

/** Puts the faults between the tests of the file that calls this and the disk. */
export function breakDisk(faults: Faults): void {
  replaceBuiltin(fs, real => brokenSync(faults, real))
  replaceBuiltin(fsPromises, real => brokenAsync(faults, real))
}

function brokenSync(faults: Faults, real: Sync): Partial<Sync> {
  const write = (...args: unknown[]): void => {
    const done = args.at(-1) as (error: unknown) => void
    const begin = (): void => {
      try {
        faults.onWrite(String(args[1]))
      } catch (error) {
        setImmediate(() => done(error))
        return
      }
      ;(real.write as unknown as (...all: unknown[]) => void)(...args)
    }
    if (faults.held) faults.held.push(begin)
    else begin()
  }
  return {
    write,
    // Checkpoints are written at 0 of a file of their own, segments in lines.
    writeSync: (descriptor: number, bytes: Uint8Array, from: number, length: number, at: number) => {
      if (Buffer.from(bytes).includes('\n')) faults.onWriteNow()
      return real.writeSync(descriptor, bytes, from, length, at)
    },
    writeFileSync: (...args: Parameters<Sync['writeFileSync']>) => {
      faults.onSave()
      real.writeFileSync(...args)
    },
    fstatSync: (descriptor: number) => {
      faults.onStat()
      return real.fstatSync(descriptor)
    },
  } as unknown as Partial<Sync>
}

function brokenAsync(faults: Faults, real: Async): Partial<Async> {
  return {
    open: async (path: string, flags: string) => {
      await faults.onOpen(path)
      return real.open(path, flags)
    },
    lstat: async (path: string) => {
      faults.onLook(path)
      return real.lstat(path)
    },
  } as unknown as Partial<Async>
}

import { lutimesSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, type Owner, ownerToken, parseOwner, thisOwner } from './owner.ts'
import { fileErrorReason, isMissing, OPEN, PRIVATE_FILE, withOwnFile, writePrivate } from './private-file.ts'

const NAME = /^lock\.(\d{1,15})$/
const FREE = 'free'
const UNWRITTEN_MILLIS = 10_000
/** Longer than a lock can be unwritten. By then its creator has died, and the next attempt takes it. */
const PATIENCE_MILLIS = UNWRITTEN_MILLIS + 1000

/** The lock of a directory that one process uses at a time: that of a receiver or of an index. */
export interface Lock {
  /** Updates the heartbeat, for processes in another container or on another machine, which cannot look up the holder. */
  touch(): void
  release(): void
}

/**
 * Takes the lock, unless a living process holds it. Locks are numbered, and the highest number counts. If it is free, or
 * its holder is dead, one process can create the next number. So nothing has to be deleted before the lock is taken, and
 * outdated knowledge about an old number cannot affect a new one.
 *
 * @returns the lock, or its current owner
 * @throws Error with a one-line message
 */
export function acquireLock(directory: string, now: () => number): Lock | Owner {
  const until = performance.now() + PATIENCE_MILLIS
  do {
    const newest = numbersIn(directory).at(-1)
    const holder = newest === undefined ? undefined : holderOf(lockFile(directory, newest), now())
    if (holder === undefined) {
      const lock = make(directory, (newest ?? 0) + 1)
      if (lock !== undefined) return lock
    } else if (holder !== 'changed') return holder
    // The creator may have been preempted between creating its file and writing into it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
  } while (performance.now() < until)
  throw new Error(`${directory} is busy: other processes take it all the time`)
}

export function lockHolder(directory: string, now: () => number): Owner | undefined {
  const newest = numbersIn(directory).at(-1)
  const holder = newest === undefined ? undefined : holderOf(lockFile(directory, newest), now())
  return holder === 'changed' ? undefined : holder
}

export function isOnThisHost({ place }: Owner): boolean {
  return place === thisOwner().place
}

function lockFile(directory: string, number: number): string {
  return join(directory, `lock.${number}`)
}

function numbersIn(directory: string): number[] {
  const numbers = readdirSync(directory).map(name => Number(NAME.exec(name)?.[1] ?? 0))
  return numbers.filter(number => number > 0).sort((a, b) => a - b)
}

function holderOf(path: string, now: number): Owner | 'changed' | undefined {
  try {
    return withOwnFile(path, OPEN.read, (descriptor, { mtimeMs }) => {
      const text = readFileSync(descriptor, 'latin1').trim()
      const owner = parseOwner(text)
      if (text === '' && now - mtimeMs < UNWRITTEN_MILLIS) return 'changed'
      return owner !== undefined && isAlive(owner, mtimeMs, now) ? owner : undefined
    })
  } catch (error) {
    if (isMissing(error)) return 'changed'
    throw new Error(`cannot read ${path}: ${fileErrorReason(error)}`, { cause: error })
  }
}

function make(directory: string, number: number): Lock | undefined {
  const path = lockFile(directory, number)
  try {
    writeFileSync(path, ownerToken(thisOwner()), { mode: PRIVATE_FILE, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw error
  }
  const numbers = numbersIn(directory)
  if (numbers.at(-1) !== number) {
    // The number could be created only because it is an old one, which has been removed.
    rmSync(path, { force: true })
    return undefined
  }
  for (const old of numbers.slice(0, -1)) rmSync(lockFile(directory, old), { force: true })
  return { touch: () => lutimesSync(path, new Date(), new Date()), release: () => writePrivate(path, FREE) }
}

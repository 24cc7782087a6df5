import { closeSync, futimesSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, type Owner, ownerToken, parseOwner, thisOwner } from './owner.ts'
import { OPEN, PRIVATE_FILE, reason, withOwnFile, writePrivate } from './private-place.ts'

const NAME = /^lock\.(\d{1,15})$/
const FREE = 'free'
/** Between making the file and writing into it. */
const UNWRITTEN_MILLIS = 10_000
/** Longer than one can be unwritten: by then its maker has died, and the next attempt takes it. */
const PATIENCE_MILLIS = UNWRITTEN_MILLIS + 1000

/** A directory that one process has at a time: a receiver's, or that of an index. */
export interface Lock {
  /** Says that its holder still runs, to those who cannot look: in another container, on another machine. */
  touch(): void
  /** Lets the next one have it. */
  free(): void
}

/**
 * Takes the lock, unless a process that lives holds it. Locks are numbered, and the highest counts: who finds it free, or its
 * holder dead, makes the next number, which one process can. So nothing has to be deleted before it can be taken, and what
 * somebody found out about an old number is of no use for a new one.
 *
 * @throws Error in one line
 */
export function takeLock(directory: string, now: () => number): Lock | Owner {
  const until = performance.now() + PATIENCE_MILLIS
  do {
    const newest = numbersIn(directory).at(-1)
    const holder = newest === undefined ? undefined : holderOf(lockFile(directory, newest), now())
    if (holder === undefined) {
      const lock = make(directory, (newest ?? 0) + 1)
      if (lock !== undefined) return lock
    } else if (holder !== 'changed') return holder
    // Whoever is at it may have lost the processor between making its file and writing into it.
    pause(1)
  } while (performance.now() < until)
  throw new Error(`${directory} is busy: other processes take it all the time`)
}

function pause(millis: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis)
}

/** Who holds it. @throws Error in one line */
export function lockHolder(directory: string, now: () => number): Owner | undefined {
  const newest = numbersIn(directory).at(-1)
  const holder = newest === undefined ? undefined : holderOf(lockFile(directory, newest), now())
  return holder === 'changed' ? undefined : holder
}

/** Whether its number means a process here, and not one of another container or machine. */
export function isHere({ place }: Owner): boolean {
  return place === thisOwner().place
}

function lockFile(directory: string, number: number): string {
  return join(directory, `lock.${number}`)
}

function numbersIn(directory: string): number[] {
  const numbers = readdirSync(directory).map(name => Number(NAME.exec(name)?.[1] ?? 0))
  return numbers.filter(number => number > 0).sort((a, b) => a - b)
}

/** Undefined when it is free, or its holder dead. */
function holderOf(path: string, now: number): Owner | 'changed' | undefined {
  try {
    return withOwnFile(path, OPEN.read, (descriptor, { mtimeMs }) => {
      const text = readFileSync(descriptor, 'latin1').trim()
      const owner = parseOwner(text)
      if (text === '' && now - mtimeMs < UNWRITTEN_MILLIS) return 'changed'
      return owner !== undefined && isAlive(owner, mtimeMs, now) ? owner : undefined
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'changed'
    throw new Error(`cannot read ${path}: ${reason(error)}`, { cause: error })
  }
}

/** Undefined when another process was faster. */
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
    // It was free to make because it is an old one, which has been cleared away.
    rmSync(path, { force: true })
    return undefined
  }
  for (const old of numbers.slice(0, -1)) rmSync(lockFile(directory, old), { force: true })
  return { touch: () => touch(path), free: () => writePrivate(path, FREE) }
}

function touch(path: string): void {
  const descriptor = openSync(path, OPEN.change)
  try {
    futimesSync(descriptor, new Date(), new Date())
  } finally {
    closeSync(descriptor)
  }
}

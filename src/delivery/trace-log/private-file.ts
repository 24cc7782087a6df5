import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** The state directory holds prompts. It must be private to the user, and links in it are not followed. */

const PRIVATE_DIRECTORY = 0o700
const WRITABLE_BY_OTHERS = 0o022
export const PRIVATE_FILE = 0o600

export const LINE_END = 0x0a

// Windows has neither these flags nor modes.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants as Partial<typeof constants>
const { O_RDONLY, O_RDWR, O_APPEND, O_CREAT } = constants

/** Flags for opening our files. Links are not followed. O_NONBLOCK keeps a foreign pipe from blocking the process. */
export const OPEN: Readonly<Record<'read' | 'change' | 'append', number>> = {
  read: O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
  change: O_RDWR | O_NOFOLLOW | O_NONBLOCK,
  // On Windows, such a file cannot be truncated.
  append: O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
}

/** Only root can place its own files in our directories, and root uses directories of other users. */
export function isOurs({ uid }: Stats): boolean {
  const user = process.geteuid?.()
  return user === undefined || user === 0 || uid === user || uid === 0
}

function notPrivate(path: string): Error {
  return Object.assign(new Error('not private'), { code: 'ENOTPRIVATE', path })
}

export function expectOwnFile(stats: Stats, path: string): void {
  if (!stats.isFile() || !isOurs(stats)) throw notPrivate(path)
}

/** Opens a file of ours and closes it after `use`. Throws code `ENOTPRIVATE` if the file is not ours. */
export function withOwnFile<Result>(
  path: string,
  flags: number,
  use: (descriptor: number, stats: Stats) => Result,
): Result {
  const descriptor = openSync(path, flags, PRIVATE_FILE)
  try {
    const stats = fstatSync(descriptor)
    expectOwnFile(stats, path)
    return use(descriptor, stats)
  } finally {
    closeSync(descriptor)
  }
}

export function readOwnFile(path: string): Buffer {
  return withOwnFile(path, OPEN.read, descriptor => readFileSync(descriptor))
}

/** True if the file is empty or its last line is complete. A line that was cut off must not merge with the next one. */
export function endsWithLine(descriptor: number, size: number): boolean {
  const last = Buffer.alloc(1)
  return size === 0 || readSync(descriptor, last, 0, 1, size - 1) === 0 || last[0] === LINE_END
}

export function appendToOwnFile(path: string, text: string): void {
  withOwnFile(path, OPEN.append, descriptor => writeFileSync(descriptor, text))
}

/** Creates a file of ours, and its directory. Throws code `EEXIST` if it exists. */
export function createOwnFile(path: string, text: string): void {
  makePrivateDirectory(dirname(path))
  try {
    writeFileSync(path, text, { flag: 'wx', mode: PRIVATE_FILE })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') removeQuietly(path)
    throw error
  }
}

/** A write of this size fits into one page of memory, so no signal can interrupt it. */
const IN_PLACE_BYTES = 4096
const BLANKS: Buffer = Buffer.alloc(IN_PLACE_BYTES, ' ')

/**
 * Overwrites a JSON file, or creates it if it was deleted and may be created. Returns true if it is saved. Atomic, even if the
 * process is killed. Written in place for two reasons: some file systems flush a file to the disk before a rename, which takes
 * milliseconds, and this works on a full disk. Truncating the file would be a second step, so blanks are added, which are
 * harmless.
 */
export function saveOwnFile(path: string, text: string, mayCreate: () => boolean = () => true): boolean {
  try {
    withOwnFile(path, OPEN.change, (descriptor, { size }) => {
      const bytes = Buffer.from(text)
      const length = Math.max(bytes.length, size)
      if (length > IN_PLACE_BYTES) return replaceOwnFile(path, text)
      const padded = Buffer.concat([bytes, BLANKS], length)
      if (writeSync(descriptor, padded, 0, length, 0) < length) throw new Error('written in part')
    })
    return true
  } catch (error) {
    if (!isMissing(error) || !mayCreate()) return false
  }
  try {
    createOwnFile(path, text)
    return true
  } catch {
    return false
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

function replaceOwnFile(path: string, text: string): void {
  const temporary = `${path}.tmp`
  try {
    // A killed process may have left it.
    removeQuietly(temporary)
    writeFileSync(temporary, text, { flag: 'wx', mode: PRIVATE_FILE })
    renameSync(temporary, path)
  } catch (error) {
    removeQuietly(temporary)
    throw error
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // The file stays, which is harmless.
  }
}

export function writePrivate(path: string, text: string): void {
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`
  writeFileSync(temporary, text, { mode: PRIVATE_FILE, flag: 'wx' })
  renameSync(temporary, path)
}

export function logDirectories(stateDirectory: string): readonly string[] {
  return [stateDirectory, join(stateDirectory, 'traces'), join(stateDirectory, 'spool')]
}

/** Removes the write access of other users. Throws code `ENOTPRIVATE` if they can still write there. */
export function makePrivate(path: string, warn: (line: string) => void = () => undefined): void {
  const stats = statSync(path)
  // It may be a link to another disk, made by its owner.
  if (!isOurs(lstatSync(path)) || !isOurs(stats)) throw notPrivate(path)
  if (!isOpen(stats)) return
  chmodSync(path, PRIVATE_DIRECTORY)
  // Some file systems ignore modes without an error.
  if (isOpen(statSync(path))) throw notPrivate(path)
  warn(`trace log: other users could write to ${path}; its mode is 700 now`)
}

export function isOpen({ mode }: Stats): boolean {
  return process.platform !== 'win32' && (mode & WRITABLE_BY_OTHERS) !== 0
}

/** Creates a directory and its parents, or tightens it. Throws like `makePrivate`. */
export function makePrivateDirectory(path: string, warn?: (line: string) => void): void {
  makeDirectory(path)
  makePrivate(path, warn)
}

/**
 * Creates a directory and its parents, one by one: `mkdir` with `recursive` never returns where nothing can be created, for
 * example below `/proc`. For a read-only file system it reports ENOENT.
 */
export function makeDirectory(path: string): void {
  try {
    makeOne(path)
  } catch (error) {
    if (!isMissing(error) || dirname(path) === path) throw error
    makeDirectory(dirname(path))
    makeOne(path)
  }
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: PRIVATE_DIRECTORY })
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' && statSync(path).isDirectory()
    if (!isThere) throw error
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTPRIVATE: 'other users can write there, or it belongs to another user',
  ELOOP: 'it is a symbolic link, which hookspan does not follow here; move it away',
  EMLINK: 'it is a symbolic link, which hookspan does not follow here; move it away',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'it is a directory',
}

export function fileErrorReason(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return REASONS[code] ?? message
}

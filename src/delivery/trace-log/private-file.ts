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
  renameSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** The state directory holds prompts. It must be private to the user, and links in it are not followed. */

const PRIVATE_DIRECTORY = 0o700
const WRITABLE_BY_OTHERS = 0o022
export const PRIVATE_FILE = 0o600

const NOT_PRIVATE = 'ENOTPRIVATE'

// Windows has neither these flags nor modes.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants as Partial<typeof constants>
const { O_RDONLY, O_RDWR, O_APPEND, O_CREAT } = constants

/** Flags for opening our files. Links are not followed. O_NONBLOCK keeps a foreign pipe from blocking the process. */
export const OPEN: Readonly<Record<'read' | 'change' | 'create' | 'append', number>> = {
  read: O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
  change: O_RDWR | O_NOFOLLOW | O_NONBLOCK,
  create: O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
  // On Windows, such a file cannot be truncated.
  append: O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
}

/** Only root can place its own files in our directories, and root uses directories of other users. */
export function isOurs({ uid }: Stats): boolean {
  const user = process.geteuid?.()
  return user === undefined || user === 0 || uid === user || uid === 0
}

function notPrivate(path: string): Error {
  return Object.assign(new Error('not private'), { code: NOT_PRIVATE, path })
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

export function appendToOwnFile(path: string, text: string): void {
  withOwnFile(path, OPEN.append, descriptor => writeFileSync(descriptor, text))
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

/**
 * Creates a directory and its parents, or tightens it.
 *
 * @throws like `makePrivate`
 */
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
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error
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

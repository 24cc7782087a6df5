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

/** The state directory holds what agents were told and did: it is ours alone, and nothing in it leads out of it. */

const PRIVATE_DIRECTORY = 0o700
const WRITABLE_BY_OTHERS = 0o022
export const PRIVATE_FILE = 0o600

/** Where others may write, and that cannot be mended. */
const NOT_PRIVATE = 'ENOTPRIVATE'

// Windows has none of them, and no modes either.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants as Partial<typeof constants>
const { O_RDONLY, O_RDWR, O_APPEND, O_CREAT } = constants

/** To open a file of ours. A link is not followed, and a pipe that somebody has put there does not hold us. */
export const OPEN: { readonly read: number; readonly change: number; readonly append: number } = {
  read: O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
  change: O_RDWR | O_NOFOLLOW | O_NONBLOCK,
  append: O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
}

/** Only root may put something of its own into a place of ours, and root uses places of others. */
export function isOurs({ uid }: Stats): boolean {
  const user = process.geteuid?.()
  return user === undefined || user === 0 || uid === user || uid === 0
}

function notPrivate(path: string): Error {
  return Object.assign(new Error('not private'), { code: NOT_PRIVATE, path })
}

/** No link, no pipe, and not put there by another user. */
export function isOwnFile(stats: Stats): boolean {
  return stats.isFile() && isOurs(stats)
}

/** @throws an error that says `ENOTPRIVATE` when it is not */
export function expectOwnFile(stats: Stats, path: string): void {
  if (!isOwnFile(stats)) throw notPrivate(path)
}

/** Opens a file of ours for as long as `use` takes. @throws the error of the file system; `ENOTPRIVATE` as above */
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

/** @throws as `withOwnFile` */
export function readOwnFile(path: string): Buffer {
  return withOwnFile(path, OPEN.read, descriptor => readFileSync(descriptor))
}

/** @throws as `withOwnFile` */
export function appendToOwnFile(path: string, text: string): void {
  withOwnFile(path, OPEN.append, descriptor => writeFileSync(descriptor, text))
}

/** All of it or nothing. @throws the error of the file system */
export function writePrivate(path: string, text: string): void {
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`
  writeFileSync(temporary, text, { mode: PRIVATE_FILE, flag: 'wx' })
  renameSync(temporary, path)
}

/** The state directory, and the directories in it. */
export function placesOf(stateDirectory: string): readonly string[] {
  return [stateDirectory, join(stateDirectory, 'traces'), join(stateDirectory, 'spool')]
}

/**
 * A directory that is there: what others may do to it is taken from them.
 *
 * @param say is told of it, in one line
 * @throws the error of the file system; one that says `ENOTPRIVATE` when others may write there all the same
 */
export function tighten(path: string, say: (line: string) => void = () => undefined): void {
  const stats = statSync(path)
  // It may be a link of its owner's to another disk.
  if (!isOurs(lstatSync(path)) || !isOurs(stats)) throw notPrivate(path)
  if (!isOpen(stats)) return
  chmodSync(path, PRIVATE_DIRECTORY)
  // Some file systems keep no modes, and say nothing.
  if (isOpen(statSync(path))) throw notPrivate(path)
  say(`trace log: others could write to ${path}; that is taken from them (it has mode 700 now)`)
}

/** Others than its owner may write there. */
export function isOpen({ mode }: Stats): boolean {
  return process.platform !== 'win32' && (mode & WRITABLE_BY_OTHERS) !== 0
}

/**
 * Makes a directory, and those above it, or tightens it. One by one: where nothing can be made, below `/proc` say, Node's own
 * way of doing that tries for ever; and of a file system that is read-only it says that there is no such directory.
 *
 * @throws as `tighten`
 */
export function makePrivateDirectory(path: string, say?: (line: string) => void): void {
  makeDirectory(path)
  tighten(path, say)
}

function makeDirectory(path: string): void {
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
  ENOTPRIVATE: 'others may write there, or it belongs to another user',
  ELOOP: 'it is a symbolic link, which hookspan does not follow here; move it away',
  EMLINK: 'it is a symbolic link, which hookspan does not follow here; move it away',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'it is a directory',
}

/** Why a file of ours cannot be used, in words. */
export function reason(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return REASONS[code] ?? message
}

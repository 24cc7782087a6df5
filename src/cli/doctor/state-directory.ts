import { randomBytes } from 'node:crypto'
import { lstat, mkdir, open, readdir, rm, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const TRIAL_BYTES = 65_536

/** Writes a file like the trace log. @throws the error of the file system */
export type TrialWriter = (path: string) => Promise<void>

/**
 * Does the same work as the first span: creates the directories, writes a file of the size of a batch, and removes everything
 * again.
 *
 * @returns the error of the file system; undefined on success
 */
export async function tryState(stateDirectory: string, write: TrialWriter): Promise<unknown> {
  const traces = join(stateDirectory, 'traces')
  const file = join(traces, `.doctor-${process.pid}-${randomBytes(4).toString('hex')}`)
  const made: string[] = []
  try {
    await makeDirectories(traces, made)
    await write(file)
    return undefined
  } catch (error) {
    return error
  } finally {
    await rm(file, { force: true }).catch(() => undefined)
    // Only empty directories are removed: an agent may have started to use them.
    for (const directory of made.reverse()) await rmdir(directory).catch(() => undefined)
  }
}

/** One level at a time: on a read-only file system, `recursive` reports ENOENT instead of the true error. */
async function makeDirectories(path: string, made: string[]): Promise<void> {
  try {
    await makeDirectory(path, made)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error
    await makeDirectories(dirname(path), made)
    await makeDirectory(path, made)
  }
}

async function makeDirectory(path: string, made: string[]): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
    made.push(path)
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' && (await stat(path)).isDirectory()
    if (!isThere) throw error
  }
}

/**
 * Random data, because a file system may store zeros without space. Synced, because a disk may reject data that a cache
 * accepts.
 */
export async function writeTrial(path: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(randomBytes(TRIAL_BYTES))
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The permissions of a file or directory of the trace log. */
export interface StateEntry {
  readonly path: string
  /** The nine permission bits. */
  readonly mode: number
  /** The user id. */
  readonly owner: number
  readonly bytes: number
}

const LOG = ['traces', 'spool', 'sent']
/** Traces held for tail sampling have a log of their own, see `keptDirectory`. */
const DIRECTORIES = [...LOG, 'kept', ...LOG.map(name => join('kept', name))]

/** The state directory, then its contents. Empty if it does not exist. */
export async function listState(stateDirectory: string): Promise<readonly StateEntry[]> {
  // Follow the link: the state directory may be on another disk, and the mode of a link means nothing.
  const top = await stat(stateDirectory).catch(() => undefined)
  if (!top?.isDirectory()) return []
  const names = await namesIn(stateDirectory)
  const inner = DIRECTORIES.map(name => join(stateDirectory, name))
  const held = await Promise.all(inner.map(async path => (await namesIn(path)).map(name => join(path, name))))
  const paths = [...names.map(name => join(stateDirectory, name)), ...held.flat()]
  const entries: StateEntry[] = [{ path: stateDirectory, mode: top.mode & 0o777, owner: top.uid, bytes: 0 }]
  // Sequential: a long outage leaves too many files to read at once.
  for (const path of paths) entries.push(...(await look(path)))
  return entries
}

async function look(path: string): Promise<StateEntry[]> {
  const stats = await lstat(path).catch(() => undefined)
  if (stats === undefined || stats.isSymbolicLink()) return []
  return [{ path, mode: stats.mode & 0o777, owner: stats.uid, bytes: stats.isFile() ? stats.size : 0 }]
}

async function namesIn(directory: string): Promise<string[]> {
  return (await readdir(directory).catch(() => [])).sort()
}

/** The free bytes available to this user. Undefined if the system does not report it. */
export async function freeBytes(path: string): Promise<number | undefined> {
  for (let place = path; ; place = dirname(place)) {
    const found = await statfs(place).catch(() => undefined)
    if (found !== undefined) return found.bavail * found.bsize
    if (place === dirname(place)) return undefined
  }
}

import { randomBytes } from 'node:crypto'
import { lstat, mkdir, open, readdir, rm, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const TRIAL_BYTES = 65_536

/** Writes a file as the trace log does. @throws the error of the file system */
export type TrialWriter = (path: string) => Promise<void>

/**
 * Does what the first span will need: makes the directories, writes a file as large as a batch, and removes all of it.
 *
 * @returns the error of the file system; undefined when all went well
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
    // Only what is empty goes: an agent that has begun to use them meanwhile keeps them.
    for (const directory of made.reverse()) await rmdir(directory).catch(() => undefined)
  }
}

/** One by one: `recursive` says of a file system that is read-only that there is no such directory. */
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

/** Random, because a file system may store zeros in no space; and to the disk itself, which may refuse what a cache takes. */
export async function writeTrial(path: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(randomBytes(TRIAL_BYTES))
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** A file or directory of the trace log, as far as it matters who may read it. */
export interface StateEntry {
  readonly path: string
  /** The nine bits. */
  readonly mode: number
  /** User id. */
  readonly owner: number
  readonly bytes: number
}

const LOG = ['traces', 'spool', 'sent']
/** What is kept where traces are held until they are judged is a log of its own: as `keptDirectory` has it. */
const DIRECTORIES = [...LOG, 'kept', ...LOG.map(name => join('kept', name))]

/** The state directory first, then what it holds. Empty where there is none. */
export async function listState(stateDirectory: string): Promise<readonly StateEntry[]> {
  // It may be a symbolic link to another disk, and the mode of a link says nothing.
  const top = await stat(stateDirectory).catch(() => undefined)
  if (!top?.isDirectory()) return []
  const names = await namesIn(stateDirectory)
  const inner = DIRECTORIES.map(name => join(stateDirectory, name))
  const held = await Promise.all(inner.map(async path => (await namesIn(path)).map(name => join(path, name))))
  const paths = [...names.map(name => join(stateDirectory, name)), ...held.flat()]
  const entries: StateEntry[] = [{ path: stateDirectory, mode: top.mode & 0o777, owner: top.uid, bytes: 0 }]
  // One after the other: a long outage leaves more files than should be looked at together.
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

/** Bytes that this user can still write there; undefined where the system does not say. */
export async function freeBytes(path: string): Promise<number | undefined> {
  for (let place = path; ; place = dirname(place)) {
    const found = await statfs(place).catch(() => undefined)
    if (found !== undefined) return found.bavail * found.bsize
    if (place === dirname(place)) return undefined
  }
}

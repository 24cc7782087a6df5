import { randomBytes } from 'node:crypto'
import { mkdir, open, rm, rmdir, stat } from 'node:fs/promises'
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

import { lstat, readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** A file or directory of the trace log, as far as it matters who may read it. */
export interface StateEntry {
  readonly path: string
  /** The nine bits. */
  readonly mode: number
  /** User id. */
  readonly owner: number
  readonly bytes: number
}

const DIRECTORIES = ['traces', 'spool', 'sent']

/** The state directory first, then what it holds. Empty where there is none. */
export async function listState(stateDirectory: string): Promise<readonly StateEntry[]> {
  // It may be a symbolic link to another disk, and the mode of a link says nothing.
  const top = await stat(stateDirectory).catch(() => undefined)
  if (!top?.isDirectory()) return []
  const names = await namesIn(stateDirectory)
  const inner = names.filter(name => DIRECTORIES.includes(name)).map(name => join(stateDirectory, name))
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

import { constants } from 'node:fs'
import { type FileHandle, open, opendir, realpath } from 'node:fs/promises'
import { isAbsolute, join, normalize, relative, sep } from 'node:path'

const LONGEST_PATH = 4096

/** Whose files may be read, and where an agent has them. */
export interface Place {
  /** Absolute: the folders of the agent. */
  readonly folders: readonly string[]
  /** The user whose files they are; undefined on systems without such numbers. */
  readonly uid: number | undefined
}

/**
 * Opens a file of an agent. Its path is told by whoever sends a hook, so it is looked at closely: a regular file of this
 * user, below that part of a folder of the agent's, and no symlink on the way there from that folder.
 *
 * @returns undefined where there is none, or none that may be read
 */
export async function openOwnFile(path: string, place: Place, part: string): Promise<FileHandle | undefined> {
  try {
    const real = await ownPath(path, place, part)
    return real === undefined ? undefined : await openRegular(real, place.uid)
  } catch {
    return undefined
  }
}

/** Names in a folder of an agent, under the same rules, in their order; none where there is no such folder. */
export async function ownNames(path: string, place: Place, part: string, most: number): Promise<readonly string[]> {
  const names: string[] = []
  try {
    const real = await ownPath(path, place, part)
    if (real === undefined) return names
    for await (const { name } of await opendir(real)) {
      names.push(name)
      if (names.length === most) break
    }
  } catch {
    return names
  }
  return names.sort()
}

async function ownPath(path: string, { folders }: Place, part: string): Promise<string | undefined> {
  if (!isAbsolute(path) || path.length > LONGEST_PATH || path.includes('\0') || normalize(path) !== path)
    return undefined
  const folder = folders.find(one => path.startsWith(join(one, part) + sep))
  if (folder === undefined) return undefined
  // The folder itself may be a link of the user's.
  const real = join(await realpath(folder), relative(folder, path))
  return (await realpath(real)) === real ? real : undefined
}

async function openRegular(path: string, uid: number | undefined): Promise<FileHandle | undefined> {
  // A pipe must not make us wait for whoever writes into it.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  const stat = await file.stat()
  if (stat.isFile() && (uid === undefined || stat.uid === uid)) return file
  await file.close()
  return undefined
}

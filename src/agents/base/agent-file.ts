import { constants } from 'node:fs'
import { type FileHandle, open, opendir, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join, normalize, relative, sep } from 'node:path'

const MAX_PATH = 4096
const MAX_NAMES = 5000
/** The format of the agents' session and agent ids. In a path, such an id cannot leave the folder. */
export const ID_IN_PATH: RegExp = /^[\w-]{1,128}$/

export interface AgentFolders {
  readonly folders: readonly string[]
  readonly uid: number | undefined
}

/**
 * Returns the folders of an agent: those that variables of the environment name, and one in the user's home.
 *
 * @param name the path of the agent's folder in the home
 * @param part the path of the agent's folder in the one that a variable names
 * @returns `uid`: the user id of the owner; undefined on systems without such ids
 */
export function agentFolders(variables: readonly string[], name: string, part = ''): AgentFolders {
  const own = variables.map(variable => process.env[variable]?.trim() ?? '').filter(folder => isAbsolute(folder))
  const folders = [...own.map(folder => join(folder, part)), join(homedir(), name)]
  return { folders: folders.map(folder => normalize(folder)), uid: process.getuid?.() }
}

/**
 * Opens a file of an agent. The path comes from the unauthenticated sender of a hook. The file must therefore be a regular file
 * of this user, below `part` of one of the agent's folders. No symlink is allowed on the way from that folder.
 *
 * @returns undefined if there is no such file, or if it may not be read
 */
export async function openAgentFile(path: string, place: AgentFolders, part: string): Promise<FileHandle | undefined> {
  try {
    const real = await ownPath(path, place, part)
    if (real === undefined) return undefined
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stat = await file.stat()
    if (stat.isFile() && (place.uid === undefined || stat.uid === place.uid)) return file
    await file.close()
    return undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the names in a folder of an agent, sorted, under the same rules as `openAgentFile`. Returns an empty list if there is
 * no such folder.
 */
export async function listAgentFolder(path: string, place: AgentFolders, part: string): Promise<readonly string[]> {
  const names: string[] = []
  try {
    const real = await ownPath(path, place, part)
    if (real === undefined) return names
    for await (const { name } of await opendir(real)) if (names.push(name) === MAX_NAMES) break
  } catch {
    return names
  }
  return names.sort()
}

async function ownPath(given: string, { folders }: AgentFolders, part: string): Promise<string | undefined> {
  // On Windows, both slashes separate.
  const path = given.replaceAll('/', sep)
  if (!isAbsolute(path) || path.length > MAX_PATH || path.includes('\0') || normalize(path) !== path) return undefined
  const folder = folders.find(one => path.startsWith(join(one, part) + sep))
  if (folder === undefined) return undefined
  // The folder itself may be a symlink of the user's.
  const real = join(await realpath(folder), relative(folder, path))
  return (await realpath(real)) === real ? real : undefined
}

const CHUNK_BYTES = 256 * 1024
/** Limit of one read: if more is available, only the end is read. Longer lines are skipped: no answer of a model is as long. */
const MAX_BYTES = 64 * 1024 * 1024
const MAX_LINE_BYTES = 8 * 1024 * 1024
const NEWLINE = 10

type LineSink = (line: string) => void

/** Reads the new lines of a growing file. An incomplete line is read again with the next call. */
export class AppendedLineReader {
  #offset = 0
  #inode: number | undefined
  #isSkipping = false
  readonly #limits = { maxBytes: MAX_BYTES, maxLineBytes: MAX_LINE_BYTES }

  constructor(limits: { readonly maxBytes?: number; readonly maxLineBytes?: number } = {}) {
    Object.assign(this.#limits, limits)
  }

  /**
   * Reads the new lines of a file, and closes it.
   *
   * @param restart called if the file was replaced or truncated, or if a part of it was skipped
   * @returns false if there is no file
   */
  async readFrom(opening: Promise<FileHandle | undefined>, onLine: LineSink, restart?: () => void): Promise<boolean> {
    const file = await opening
    if (file === undefined) return false
    try {
      const { size, ino } = await file.stat()
      if ((this.#inode !== undefined && this.#inode !== ino) || size < this.#offset) {
        this.#offset = 0
        this.#isSkipping = false
        restart?.()
      }
      this.#inode = ino
      const { maxBytes } = this.#limits
      if (size - this.#offset > maxBytes) {
        this.#offset = size - maxBytes
        this.#isSkipping = true
        restart?.()
      }
      await this.#lines(file, size, onLine)
    } finally {
      await file.close()
    }
    return true
  }

  async #lines(file: FileHandle, size: number, onLine: LineSink): Promise<void> {
    let rest: Buffer = Buffer.alloc(0)
    for (let position = this.#offset; position < size; ) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - position))
      const { bytesRead } = await file.read(chunk, 0, chunk.length, position)
      if (bytesRead === 0) return
      const read = chunk.subarray(0, bytesRead)
      const from = position - rest.length
      rest = this.#emitLines(rest.length === 0 ? read : Buffer.concat([rest, read]), from, onLine)
      position += bytesRead
      if (rest.length <= this.#limits.maxLineBytes) continue
      this.#offset = position
      this.#isSkipping = true
      rest = Buffer.alloc(0)
    }
  }

  /** @param from the offset of the bytes in the file @returns the incomplete rest */
  #emitLines(bytes: Buffer, from: number, onLine: LineSink): Buffer {
    let start = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      if (!this.#isSkipping && end - start <= this.#limits.maxLineBytes) onLine(bytes.toString('utf8', start, end))
      this.#isSkipping = false
      start = end + 1
      // Absolute: if a read outlasts its time limit, the next one runs at the same time.
      this.#offset = from + start
    }
    return bytes.subarray(start)
  }
}

import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { isOpen, isOurs, OPEN, reason, withOwnFile } from '../trace-log/private-place.ts'

/** A file of a folder of hooks, as it was when it was read. */
export interface FolderFile {
  /** From the folder on, with `/`. */
  readonly path: string
  readonly bytes: Buffer
}

/** What a folder holds. */
export interface FolderFiles {
  readonly files: readonly FolderFile[]
  /** One each for what is left out: what, why, and what to do. */
  readonly lines: readonly string[]
  /** What that is, from the folder on, with `/`; the folder itself: an empty text. */
  readonly leftOut: readonly string[]
}

export interface FolderRules {
  /** Links are followed: of a folder of one's own, not of one that came with a project. */
  readonly mayLink: boolean
}

/** More is no folder of hooks: somebody's packages, or a disk. */
const FILES_LIMIT = 2000
const BYTES_LIMIT = 32 * 1024 * 1024
const DEPTH_LIMIT = 20

/** Whether anything is there, if only a link that leads nowhere. */
export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    // Whoever reads it says why that is not possible.
    return true
  }
}

/**
 * Reads all of a folder, once: what is judged, and what is run, are these bytes. What others could have written is left out.
 * Never throws.
 */
export function readFolder(folder: string, rules: FolderRules): FolderFiles {
  const reader = new FolderReader(folder, rules)
  reader.read()
  const { files, lines, leftOut, isFull } = reader
  return { files: isFull ? [] : files.sort(byPath), lines, leftOut }
}

/** Of the names and contents of all files, as hex. What a file says and what it is called cannot be exchanged. */
export function hashOf(files: readonly FolderFile[]): string {
  const hash = createHash('sha256').update('hookspan hooks 1\n')
  for (const { path, bytes } of [...files].sort(byPath)) {
    const name = Buffer.from(path)
    hash.update(`${name.length}:${bytes.length}\n`).update(name).update(bytes)
  }
  return hash.digest('hex')
}

function byPath(a: FolderFile, b: FolderFile): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0
}

class FolderReader {
  readonly files: FolderFile[] = []
  readonly lines: string[] = []
  readonly leftOut: string[] = []
  readonly #folder: string
  readonly #rules: FolderRules
  #bytes = 0
  /** Which part of it was read is chance: none of it counts. */
  isFull = false

  constructor(folder: string, rules: FolderRules) {
    this.#folder = folder
    this.#rules = rules
  }

  read(): void {
    this.#directory('', 0)
  }

  #directory(path: string, depth: number): void {
    const full = join(this.#folder, path)
    try {
      const stats = this.#statsOf(path)
      if (stats === undefined) return
      if (!stats.isDirectory()) {
        this.#leaveOut(path, 'it is no folder')
        return
      }
      if (!this.#isPrivate(path, stats)) return
      // A link may lead back to what holds it.
      if (depth > DEPTH_LIMIT) {
        this.#leaveOut(path, 'it is nested too deeply')
        return
      }
      for (const entry of readdirSync(full, { withFileTypes: true })) {
        if (this.isFull) return
        const inside = path === '' ? entry.name : `${path}/${entry.name}`
        if (entry.isDirectory()) this.#directory(inside, depth + 1)
        else if (entry.isSymbolicLink()) this.#link(inside, depth)
        else this.#file(inside)
      }
    } catch (error) {
      this.#leaveOut(path, reason(error))
    }
  }

  #link(path: string, depth: number): void {
    try {
      const stats = this.#statsOf(path)
      if (stats?.isDirectory()) this.#directory(path, depth + 1)
      else if (stats !== undefined) this.#file(path)
    } catch (error) {
      // It leads nowhere.
      this.#leaveOut(path, reason(error))
    }
  }

  #file(path: string): void {
    const full = join(this.#folder, path)
    try {
      // Opened once: what is looked at is what is read.
      withOwnFile(this.#rules.mayLink ? realpathSync(full) : full, OPEN.read, (descriptor, stats) => {
        if (!this.#isPrivate(path, stats)) return
        if (this.files.length >= FILES_LIMIT || this.#bytes + stats.size > BYTES_LIMIT) {
          this.isFull = true
          this.#leaveOut(
            '',
            `it holds more than ${FILES_LIMIT} files or ${BYTES_LIMIT >> 20} MiB; put what the hooks need into few files`,
          )
          return
        }
        const bytes = readFileSync(descriptor)
        this.#bytes += bytes.length
        this.files.push({ path, bytes })
      })
    } catch (error) {
      this.#leaveOut(path, reason(error))
    }
  }

  #statsOf(path: string): Stats | undefined {
    const full = join(this.#folder, path)
    const stats = lstatSync(full)
    if (!stats.isSymbolicLink()) return stats
    if (this.#rules.mayLink) return statSync(full)
    this.#leaveOut(path, 'it is a symbolic link, behind which anything may change')
    return undefined
  }

  #isPrivate(path: string, stats: Stats): boolean {
    if (!isOurs(stats)) this.#leaveOut(path, 'it belongs to another user')
    else if (isOpen(stats)) this.#leaveOut(path, `others may write to it: chmod go-w ${join(this.#folder, path)}`)
    else return true
    return false
  }

  #leaveOut(path: string, why: string): void {
    this.leftOut.push(path)
    this.lines.push(`hooks: ${join(this.#folder, path)} is not loaded: ${why}`)
  }
}

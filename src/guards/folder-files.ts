import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileErrorReason, isOpen, isOurs, OPEN, withOwnFile } from '../delivery/trace-log/private-file.ts'

/** A file of a hooks folder, with the bytes that were read. */
export interface FolderFile {
  /** Relative to the folder, with `/`. */
  readonly path: string
  readonly bytes: Buffer
}

export interface FolderFiles {
  readonly files: readonly FolderFile[]
  /** One line for each skipped entry: the path, the cause and the remedy. */
  readonly lines: readonly string[]
  /** Paths of the skipped entries, relative to the folder, with `/`. The folder itself is an empty string. */
  readonly leftOut: readonly string[]
}

export interface FolderRules {
  /** Follow symbolic links: for the user's own folder, never for a project's. */
  readonly mayLink: boolean
}

/** A larger folder is probably a package directory or a whole disk. */
const FILES_LIMIT = 2000
const BYTES_LIMIT = 32 * 1024 * 1024
const DEPTH_LIMIT = 20

/** Returns true if the path exists, even as a broken link. */
export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    // Assume that it exists: the later read reports the error.
    return true
  }
}

/**
 * Reads a folder once. Exactly these bytes are checked and run. Files that other users could have written are skipped. Never
 * throws.
 */
export function readFolder(folder: string, rules: FolderRules): FolderFiles {
  const reader = new FolderReader(folder, rules)
  reader.read()
  const { files, lines, leftOut, isFull } = reader
  return { files: isFull ? [] : files.sort(byPath), lines, leftOut }
}

/** SHA-256 over names and contents, as hex. Lengths are hashed too, so bytes cannot move between name and content. */
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
  /** The limit was reached. The part that was read is arbitrary, so all of it is discarded. */
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
      // A link may lead back to its own parent.
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
      this.#leaveOut(path, fileErrorReason(error))
    }
  }

  #link(path: string, depth: number): void {
    try {
      const stats = this.#statsOf(path)
      if (stats?.isDirectory()) this.#directory(path, depth + 1)
      else if (stats !== undefined) this.#file(path)
    } catch (error) {
      // A broken link.
      this.#leaveOut(path, fileErrorReason(error))
    }
  }

  #file(path: string): void {
    const full = join(this.#folder, path)
    try {
      // Opened once, so that the checked file is the one that is read.
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
      this.#leaveOut(path, fileErrorReason(error))
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

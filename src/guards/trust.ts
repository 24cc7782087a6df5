import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ignoreErrors } from '../contract/foreign.ts'
import {
  fileErrorReason,
  isOpen,
  isOurs,
  makePrivateDirectory,
  OPEN,
  withOwnFile,
  writePrivate,
} from '../delivery/trace-log/private-file.ts'

export interface ProjectFolder extends Pick<FolderFiles, 'files' | 'lines'> {
  readonly path: string
  readonly hash: string
}

const [OUTER, INNER] = ['.hookspan', 'hooks'] as const

type Trusted = Readonly<Record<string, string>>

export function projectFolderOf(project: string): string {
  return join(project, OUTER, INNER)
}

export function projectFolderAround(file: string): string | undefined {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder))
    if (folder === projectFolderOf(dirname(dirname(folder)))) return folder
  return undefined
}

export function readProjectFolder(project: string): ProjectFolder | undefined {
  const folder = projectFolderOf(project)
  const outer = dirname(folder)
  if (!pathExists(folder)) return undefined
  const unloadable = (path: string, line: string): ProjectFolder => ({
    path,
    files: [],
    hash: hashOf([]),
    lines: [line],
  })
  try {
    const path = join(realpathSync(project), OUTER, INNER)
    // A link could point to another folder later, without a change in this one.
    if (realpathSync(outer) !== dirname(path))
      return unloadable(path, `hooks: ${outer} is not loaded: it is a symbolic link`)
    const { files, lines } = readFolder(path, { followsLinks: false })
    return { path, files, hash: hashOf(files), lines }
  } catch (error) {
    return unloadable(folder, `hooks: ${folder} is not loaded: ${fileErrorReason(error)}`)
  }
}

export class TrustStore {
  readonly #file: string

  constructor(place: string) {
    this.#file = join(place, 'trusted.json')
  }

  /** The hash at the time of trust. If other users could write the file, nothing is trusted. */
  hashOf(folder: string): string | undefined {
    const trusted = this.#read()
    return Object.hasOwn(trusted, folder) ? trusted[folder] : undefined
  }

  trust({ path, hash }: ProjectFolder): void {
    this.#write({ ...this.#read(), [path]: hash })
  }

  revoke(folder: string): boolean {
    const { [folder]: hash, ...others } = this.#read()
    if (hash !== undefined) this.#write(others)
    return hash !== undefined
  }

  #read(): Trusted {
    const read = (descriptor: number, stats: Stats): string => (isOpen(stats) ? '{}' : readFileSync(descriptor, 'utf8'))
    const list: unknown = ignoreErrors(() => JSON.parse(withOwnFile(this.#file, OPEN.read, read)))
    if (typeof list !== 'object' || list === null) return {}
    return Object.fromEntries(Object.entries(list).filter(([, hash]) => typeof hash === 'string'))
  }

  #write(trusted: Trusted): void {
    makePrivateDirectory(dirname(this.#file))
    writePrivate(this.#file, `${JSON.stringify(trusted, null, 2)}\n`)
  }
}

export interface FolderFile {
  readonly path: string
  readonly bytes: Buffer
}

/** All paths are relative to the folder, with `/`. The folder itself is an empty string in `skipped`. */
export interface FolderFiles {
  readonly files: readonly FolderFile[]
  readonly lines: readonly string[]
  readonly skipped: readonly string[]
}

/** A larger folder is probably a package directory or a whole disk. The part read is arbitrary, so all of it is discarded. */
const FILES_LIMIT = 2000
const BYTES_LIMIT = 32 * 1024 * 1024
const DEPTH_LIMIT = 20

export function pathExists(path: string): boolean {
  // If this fails, the path may exist: the later read reports the error.
  return ignoreErrors(() => lstatSync(path, { throwIfNoEntry: false }) !== undefined) ?? true
}

/**
 * Reads a folder once. Exactly these bytes are checked and run. Files that other users could have written are skipped. Never
 * throws.
 *
 * @param followsLinks for the user's own folder, never for a project's
 */
export function readFolder(folder: string, { followsLinks }: { readonly followsLinks: boolean }): FolderFiles {
  const files: FolderFile[] = []
  const lines: string[] = []
  const skipped: string[] = []
  let bytesRead = 0
  let isFull = false

  function skip(path: string, why: string): void {
    skipped.push(path)
    lines.push(`hooks: ${join(folder, path)} is not loaded: ${why}`)
  }
  function isPrivate(path: string, stats: Stats): boolean {
    if (!isOurs(stats)) skip(path, 'it belongs to another user')
    else if (isOpen(stats)) skip(path, `others may write to it: chmod go-w ${join(folder, path)}`)
    else return true
    return false
  }
  function read(path: string, depth: number): void {
    const full = join(folder, path)
    try {
      const stats = followsLinks ? statSync(full) : lstatSync(full)
      if (stats.isSymbolicLink()) skip(path, 'it is a symbolic link, behind which anything may change')
      else if (stats.isDirectory()) readDirectory(path, stats, depth)
      else if (path === '') skip(path, 'it is no folder')
      else readOne(path)
    } catch (error) {
      skip(path, fileErrorReason(error))
    }
  }
  function readDirectory(path: string, stats: Stats, depth: number): void {
    if (!isPrivate(path, stats)) return
    // A link may lead back to its own parent.
    if (depth > DEPTH_LIMIT) skip(path, 'it is nested too deeply')
    else
      for (const name of readdirSync(join(folder, path)))
        if (!isFull) read(path === '' ? name : `${path}/${name}`, depth + 1)
  }
  function readOne(path: string): void {
    const full = join(folder, path)
    // Opened once, so that the checked file is the one that is read.
    withOwnFile(followsLinks ? realpathSync(full) : full, OPEN.read, (descriptor, stats) => {
      if (!isPrivate(path, stats)) return
      isFull ||= files.length >= FILES_LIMIT || bytesRead + stats.size > BYTES_LIMIT
      if (isFull) {
        const most = `${FILES_LIMIT} files or ${BYTES_LIMIT >> 20} MiB`
        skip('', `it holds more than ${most}; put what the hooks need into few files`)
        return
      }
      const bytes = readFileSync(descriptor)
      bytesRead += bytes.length
      files.push({ path, bytes })
    })
  }
  read('', 0)
  return { files: isFull ? [] : files.sort(byPath), lines, skipped }
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

import { readFileSync, realpathSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  fileErrorReason,
  isOpen,
  makePrivateDirectory,
  OPEN,
  withOwnFile,
  writePrivate,
} from '../delivery/trace-log/private-file.ts'
import { type FolderFile, hashOf, isThere, readFolder } from './folder-files.ts'

/** The hooks folder of a project, read once. */
export interface ProjectFolder {
  /** The real path, without links. */
  readonly path: string
  readonly files: readonly FolderFile[]
  /** SHA-256 of the names and contents of all files, as hex. */
  readonly hash: string
  /** Reasons why the folder can be neither trusted nor loaded, one line each. */
  readonly lines: readonly string[]
}

const [OUTER, INNER] = ['.hookspan', 'hooks'] as const

/** Hashes of trusted folders at the time of trust, by path. */
type Trusted = Readonly<Record<string, string>>

export function projectFolderOf(project: string): string {
  return join(project, OUTER, INNER)
}

/** The hooks folder of any project that contains a file. Undefined if there is none. */
export function projectFolderAround(file: string): string | undefined {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder))
    if (folder === projectFolderOf(dirname(dirname(folder)))) return folder
  return undefined
}

/** Reads the hooks folder of a project. Returns undefined if there is none. Never throws. */
export function readProjectFolder(project: string): ProjectFolder | undefined {
  const folder = projectFolderOf(project)
  const outer = dirname(folder)
  if (!isThere(folder)) return undefined
  try {
    const path = join(realpathSync(project), OUTER, INNER)
    // A link could point to another folder later, without a change in this one.
    if (realpathSync(outer) !== dirname(path))
      return refused(path, [`hooks: ${outer} is not loaded: it is a symbolic link`])
    const { files, lines } = readFolder(path, { mayLink: false })
    return { path, files, hash: hashOf(files), lines }
  } catch (error) {
    return refused(folder, [`hooks: ${folder} is not loaded: ${fileErrorReason(error)}`])
  }
}

function refused(path: string, lines: readonly string[]): ProjectFolder {
  return { path, files: [], hash: hashOf([]), lines }
}

/** The list of trusted folders, in a private file. */
export class TrustStore {
  readonly #file: string

  /** @param place a private folder, created if missing */
  constructor(place: string) {
    this.#file = join(place, 'trusted.json')
  }

  /** The hash at the time of trust. If other users could write the file, nothing is trusted. */
  hashOf(folder: string): string | undefined {
    const trusted = this.#read()
    return Object.hasOwn(trusted, folder) ? trusted[folder] : undefined
  }

  /** @throws the error of the file system */
  trust({ path, hash }: ProjectFolder): void {
    this.#write({ ...this.#read(), [path]: hash })
  }

  /** @returns whether it was trusted @throws the error of the file system */
  withdraw(folder: string): boolean {
    const { [folder]: hash, ...others } = this.#read()
    if (hash !== undefined) this.#write(others)
    return hash !== undefined
  }

  #read(): Trusted {
    try {
      const read = (descriptor: number, stats: Stats): string =>
        isOpen(stats) ? '{}' : readFileSync(descriptor, 'utf8')
      const list: unknown = JSON.parse(withOwnFile(this.#file, OPEN.read, read))
      if (typeof list !== 'object' || list === null) return {}
      return Object.fromEntries(Object.entries(list).filter(([, hash]) => typeof hash === 'string'))
    } catch {
      return {}
    }
  }

  #write(trusted: Trusted): void {
    makePrivateDirectory(dirname(this.#file))
    writePrivate(this.#file, `${JSON.stringify(trusted, null, 2)}\n`)
  }
}

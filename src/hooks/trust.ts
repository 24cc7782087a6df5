import { readFileSync, realpathSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { isOpen, makePrivateDirectory, OPEN, reason, withOwnFile, writePrivate } from '../trace-log/private-place.ts'
import { type FolderFile, hashOf, isThere, readFolder } from './folder-files.ts'

/** A project's folder of hooks, read once. */
export interface ProjectFolder {
  /** Without links. */
  readonly path: string
  readonly files: readonly FolderFile[]
  /** SHA-256 of the names and contents of all files, as hex. */
  readonly hash: string
  /** Why it can be neither trusted nor loaded, a line each. */
  readonly lines: readonly string[]
}

const [OUTER, INNER] = ['.hookspan', 'hooks'] as const

/** Which folders a person has trusted, and how they were then. */
type Trusted = Readonly<Record<string, string>>

/** Where a project has its hooks. */
export function projectFolderOf(project: string): string {
  return join(project, OUTER, INNER)
}

/** The folder of hooks of a project, whichever that is, in which a file is. Undefined: it is in none. */
export function projectFolderAround(file: string): string | undefined {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder))
    if (folder === projectFolderOf(dirname(dirname(folder)))) return folder
  return undefined
}

/** Reads the folder of a project. Undefined: it has none. Never throws. */
export function readProjectFolder(project: string): ProjectFolder | undefined {
  const folder = projectFolderOf(project)
  const outer = dirname(folder)
  if (!isThere(folder)) return undefined
  try {
    const path = join(realpathSync(project), OUTER, INNER)
    // A link in it would be another folder tomorrow, without a change in this one.
    if (realpathSync(outer) !== dirname(path))
      return refused(path, [`hooks: ${outer} is not loaded: it is a symbolic link`])
    const { files, lines } = readFolder(path, { mayLink: false })
    return { path, files, hash: hashOf(files), lines }
  } catch (error) {
    return refused(folder, [`hooks: ${folder} is not loaded: ${reason(error)}`])
  }
}

function refused(path: string, lines: readonly string[]): ProjectFolder {
  return { path, files: [], hash: hashOf([]), lines }
}

/** What a person trusts, in a file that is theirs alone. */
export class TrustStore {
  readonly #file: string

  /** @param place a private folder; made where it is not there */
  constructor(place: string) {
    this.#file = join(place, 'trusted.json')
  }

  /** As it was when it was trusted: the hash. A list that others could have written trusts nothing. */
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

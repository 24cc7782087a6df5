import { existsSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PACKAGE_FOLDER } from '../own-folder.ts'

/** Caches that package managers run a program from and empty by themselves, as parts of a path. */
const CACHES: readonly (readonly [part: string, owner: string])[] = [
  ['/_npx/', 'npx'],
  ['/dlx/', 'pnpm dlx'],
  ['/dlx-', 'pnpm dlx'],
  ['/bunx-', 'bunx'],
]
const TEMPORARY_FOLDERS = ['/tmp', '/var/tmp', '/dev/shm']

/**
 * Where this copy of hookspan is installed: an absolute path. Symbolic links are resolved, save that of pnpm: what it
 * leads to has the version in its name, and is gone after an upgrade.
 */
export function packageFolder(): string {
  const folder = fileURLToPath(PACKAGE_FOLDER).replace(/[/\\]$/, '')
  const link = withoutStore(folder)
  return resolved(link) === folder ? link : folder
}

/** `a/node_modules/.pnpm/hookspan@1.0.0/node_modules/hookspan` → `a/node_modules/hookspan`; all else as it is. */
export function withoutStore(folder: string): string {
  return folder.replace(/([/\\])\.pnpm\1[^/\\]+\1node_modules\1/, '$1')
}

/**
 * Why a host must not be told this folder, and what to do: a package manager takes the folder away by itself, or a host cannot
 * read what is in it. Undefined when it may be told.
 *
 * @param from where to look for another copy: an absolute path
 */
export function whyNotLasting(folder: string, from: string): string | undefined {
  const path = slashed(folder)
  const owner = CACHES.find(([part]) => path.includes(part))?.[1]
  const isArchive = path.includes('.zip/')
  if (owner === undefined && !isArchive) return undefined
  const why =
    owner === undefined
      ? `this hookspan runs from inside an archive (${folder}), which agents cannot read`
      : `this hookspan runs from a cache of ${owner} (${folder}), which ${owner} empties by itself`
  const installed = copyNear(from)
  if (installed !== undefined) return `${why}; run the one that you have installed: ${installed} init`
  return `${why}; install one that stays: npm install -g hookspan (or npm install hookspan in your project)`
}

/** The program of the copy that a project at `from` or above it has installed. */
function copyNear(from: string): string | undefined {
  const modules = join(from, 'node_modules')
  if (existsSync(join(modules, 'hookspan', 'package.json'))) return join(modules, '.bin', 'hookspan')
  const parent = dirname(from)
  return parent === from ? undefined : copyNear(parent)
}

/** Whether the folder may be gone after a restart of the machine: a project there is one, but not for long. */
export function isTemporary(folder: string): boolean {
  const places = [...TEMPORARY_FOLDERS, tmpdir()].flatMap(each => [each, resolved(each)])
  return places.some(each => slashed(folder).startsWith(slashed(each)))
}

function slashed(path: string): string {
  return `${path.replaceAll(sep, '/').replace(/\/$/, '')}/`
}

/**
 * The module that a host loads.
 *
 * @throws Error when this copy of hookspan lacks it
 */
export function hostModule(folder: string, host: string): string {
  return packageFile(folder, 'dist', 'hosts', host, 'index.js')
}

/**
 * A file of this copy of hookspan.
 *
 * @throws Error when it is not there
 */
export function packageFile(folder: string, ...names: readonly string[]): string {
  const path = join(folder, ...names)
  if (!existsSync(path)) throw new Error(`this copy of hookspan is not complete: there is no ${path}`)
  return path
}

function resolved(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

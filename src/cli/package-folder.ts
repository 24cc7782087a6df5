import { existsSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ignoreErrors } from '../contract/foreign.ts'

/** The folder of this package. The published code is bundled into `dist/chunks`, which is as deep as this file in `src`. */
export const PACKAGE_FOLDER: URL = new URL('../../', import.meta.url)

/** Path segments of caches that package managers run programs from and clear by themselves. */
const CACHES: readonly (readonly [part: string, owner: string])[] = [
  ['/_npx/', 'npx'],
  ['/dlx/', 'pnpm dlx'],
  ['/dlx-', 'pnpm dlx'],
  ['/bunx-', 'bunx'],
]
const TEMPORARY_FOLDERS = ['/tmp', '/var/tmp', '/dev/shm']

/** Symbolic links are resolved, except that of pnpm: its target contains the version and disappears with an upgrade. */
export function packageFolder(): string {
  const folder = fileURLToPath(PACKAGE_FOLDER).replace(/[/\\]$/, '')
  const link = withoutStore(folder)
  return resolved(link) === folder ? link : folder
}

/** `a/node_modules/.pnpm/hookspan@1.0.0/node_modules/hookspan` -> `a/node_modules/hookspan`; other paths are unchanged. */
export function withoutStore(folder: string): string {
  return folder.replace(/([/\\])\.pnpm\1[^/\\]+\1node_modules\1/, '$1')
}

/** The reason why no host may refer to the folder: it is cleared, or unreadable. @param from a path to find another copy */
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

/** The program of the copy installed by a project at `from` or above. */
function copyNear(from: string): string | undefined {
  const modules = join(from, 'node_modules')
  if (existsSync(join(modules, 'hookspan', 'package.json'))) return join(modules, '.bin', 'hookspan')
  const parent = dirname(from)
  return parent === from ? undefined : copyNear(parent)
}

/** True if the folder may be gone after a reboot. Projects can be in such a folder. */
export function isTemporary(folder: string): boolean {
  const places = [...TEMPORARY_FOLDERS, tmpdir()].flatMap(each => [each, resolved(each)])
  return places.some(each => slashed(folder).startsWith(slashed(each)))
}

function slashed(path: string): string {
  return `${path.replaceAll(sep, '/').replace(/\/$/, '')}/`
}

export function hostModule(folder: string, host: string): string {
  return packageFile(folder, 'dist', 'agents', host, 'index.js')
}

/** A file of this copy of hookspan. @throws Error if it does not exist */
export function packageFile(folder: string, ...names: readonly string[]): string {
  const path = join(folder, ...names)
  if (!existsSync(path)) throw new Error(`this copy of hookspan is not complete: there is no ${path}`)
  return path
}

function resolved(path: string): string {
  return ignoreErrors(() => realpathSync(path)) ?? path
}

import { existsSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

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
  const folder = fileURLToPath(new URL('../../../', import.meta.url)).replace(/[/\\]$/, '')
  const link = withoutStore(folder)
  return resolved(link) === folder ? link : folder
}

/** `a/node_modules/.pnpm/hookspan@1.0.0/node_modules/hookspan` → `a/node_modules/hookspan`; all else as it is. */
export function withoutStore(folder: string): string {
  return folder.replace(/([/\\])\.pnpm\1[^/\\]+\1node_modules\1/, '$1')
}

/**
 * Why a host must not be told this folder: it will be gone when the host looks for it. Undefined when it lasts.
 */
export function whyNotLasting(folder: string): string | undefined {
  const path = `${folder.replaceAll(sep, '/')}/`
  const owner = CACHES.find(([part]) => path.includes(part))?.[1]
  if (owner !== undefined) return `this hookspan runs from a cache of ${owner}`
  if (/\.zip\//.test(path)) return 'this hookspan runs from inside an archive'
  const temporary = [...TEMPORARY_FOLDERS, tmpdir()].flatMap(each => [each, resolved(each)])
  const isTemporary = temporary.some(each => path.startsWith(`${each.replaceAll(sep, '/').replace(/\/$/, '')}/`))
  return isTemporary ? 'this hookspan runs from a temporary folder' : undefined
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

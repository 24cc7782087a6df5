import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makePrivateDirectory, PRIVATE_FILE } from '../delivery/trace-log/private-file.ts'
import type { FolderFile } from './folder-files.ts'

/**
 * The folder of this package; `dist/chunks` is as deep as this file in `src`.
 *
 * @throws Error if hookspan is part of a bundle, which leaves that folder behind
 */
function packageFolder(): string {
  const here: string | undefined = import.meta.url
  const folder = here === undefined ? '' : fileURLToPath(new URL('../../', here))
  if (existsSync(join(folder, 'dist', 'guards', 'index.js'))) return folder
  throw new Error('hookspan is part of a bundle; mark `hookspan` as external in the bundler')
}

const PREFIX = 'run-'

/** A folder with a running copy of hook files. */
export interface RunCopy {
  readonly path: string
  /** Deletes the copy. Files not yet imported from it cannot be loaded afterwards. */
  remove(): void
}

const copies = new Set<string>()

/**
 * Writes checked files to a private folder and runs them from there, so that later changes of the original have no effect. In
 * the copy, `hookspan/hooks` resolves to this package. It is deleted at process exit at the latest.
 *
 * @param place the parent folder, created if missing
 * @throws the error of the file system
 */
export function runCopy(files: readonly FolderFile[], place: string): RunCopy {
  const has = (path: string): boolean => files.some(file => file.path === path || file.path.startsWith(`${path}/`))
  const own = has('node_modules/hookspan') ? undefined : packageFolder()
  makePrivateDirectory(place)
  sweep(place)
  const copy = mkdtempSync(join(place, `${PREFIX}${process.pid}-`))
  if (copies.size === 0) process.on('exit', removeCopies)
  copies.add(copy)
  for (const { path, bytes } of files) {
    const full = join(copy, path)
    mkdirSync(dirname(full), { recursive: true })
    writeFileSync(full, bytes, { mode: PRIVATE_FILE })
  }
  // Without it, a `.js` file would not be an ES module.
  if (!has('package.json')) writeFileSync(join(copy, 'package.json'), '{"type":"module"}\n', { mode: PRIVATE_FILE })
  if (own !== undefined) {
    mkdirSync(join(copy, 'node_modules'), { recursive: true })
    symlinkSync(own, join(copy, 'node_modules', 'hookspan'), 'junction')
  }
  return { path: copy, remove: () => remove(copy) }
}

function removeCopies(): void {
  for (const copy of copies) remove(copy)
}

function remove(copy: string): void {
  copies.delete(copy)
  if (copies.size === 0) process.off('exit', removeCopies)
  try {
    rmSync(copy, { recursive: true, force: true })
  } catch {
    // The next process that creates a copy tries again.
  }
}

/** Removes copies of killed processes. */
function sweep(place: string): void {
  for (const name of readdirSync(place)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) remove(join(place, name))
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

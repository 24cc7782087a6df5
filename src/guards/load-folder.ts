import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ignoreErrors } from '../contract/foreign.ts'
import { fileErrorReason, makePrivateDirectory, PRIVATE_FILE } from '../delivery/trace-log/private-file.ts'
import { type ExportedHooks, errorLine, exportedHooks } from './exported-hooks.ts'
import type { AnyHook } from './hook.ts'
import { inTime } from './in-time.ts'
import { isolatedHooks } from './isolated.ts'
import type { FolderFile } from './trust.ts'

export type OptionsByFile = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** A hook loaded from a file. */
export interface LoadedHook {
  /** The exported hook, or a proxy if it runs in a thread. */
  readonly hook: AnyHook
  /** The file that exports the hook. */
  readonly file: string
  /** The hook runs in its own thread. */
  readonly isIsolated: boolean
}

/**
 * `lines`: the file, the cause and the remedy, for each file that failed to load. `names`: file names without extension,
 * loaded or not. An empty name means that some names are unknown.
 */
export interface LoadedHooks {
  readonly loaded: readonly LoadedHook[]
  readonly lines: readonly string[]
  readonly names: readonly string[]
  readonly incomplete: readonly string[]
  close(): void
}

interface FolderLoadOptions {
  readonly options: OptionsByFile
  readonly copiesFolder: string
  readonly onlyFile?: string | undefined
  readonly thread?: URL | undefined
}

export const NOTHING_LOADED: LoadedHooks = { loaded: [], lines: [], names: [], incomplete: [], close: () => undefined }

const LOAD_LIMIT_MILLIS = 10_000
const FILE = /^([^./][^/]*)\.m?js$/
const FOLDER = /^([^./][^/]*)\/index\.mjs$/

/**
 * Loads the hooks of a folder whose files were read, sorted by name: each top-level `*.mjs` or `*.js` and each
 * `name/index.mjs`. Deeper files are only imported by these. Never throws, never rejects.
 */
export async function loadFolder(
  folder: string,
  files: readonly FolderFile[],
  given: FolderLoadOptions,
): Promise<LoadedHooks> {
  const { onlyFile: only } = given
  const found = findHookFiles(files).filter(({ path }) => only === undefined || path === only)
  if (found.length === 0) return NOTHING_LOADED
  const names = found.map(({ name }) => name)
  try {
    const copy = createRunCopy(files, given.copiesFolder)
    const each = found.map(({ path, name }) => ({
      shown: join(folder, path),
      url: pathToFileURL(join(copy, path)).href,
      options: optionsOf(path, name, given.options),
    }))
    const { close, ...rest } = await loadFiles(each, given.thread)
    const closeAll = (): void => {
      close()
      // Files not yet imported from a removed copy cannot be loaded afterwards.
      removeCopy(copy)
    }
    return { ...rest, names, close: closeAll }
  } catch (error) {
    const why = `no copy of it can be run from ${given.copiesFolder}: ${fileErrorReason(error)}`
    return { ...NOTHING_LOADED, lines: [`hooks: ${folder} is not loaded: ${why}`], names }
  }
}

export async function loadFiles(
  files: readonly { readonly shown: string; readonly url: string; readonly options: OptionsByFile[string] }[],
  thread?: URL,
): Promise<LoadedHooks> {
  const loaded: LoadedHook[] = []
  const lines: string[] = []
  const incomplete: string[] = []
  const closers: (() => void)[] = []
  for (const file of files) {
    // `isolate` and `required` are for the loader and are not passed to the file.
    const { isolate, required: _, ...options } = file.options
    const isIsolated = isolate === true
    try {
      const loading = isIsolated ? isolatedHooks({ url: file.url, options, thread }) : loadInProcess(file.url, options)
      const { hooks, problems, close } = await loading
      if (close !== undefined) closers.push(close)
      loaded.push(...hooks.map(hook => ({ hook, file: file.shown, isIsolated })))
      lines.push(...problems.map(problem => `hooks: ${file.shown}: ${problem}; it is left out`))
      if (problems.length > 0) incomplete.push(file.shown)
    } catch (error) {
      incomplete.push(file.shown)
      lines.push(`hooks: ${file.shown} is not loaded: ${errorLine(error)}; fix it, or remove it from the folder`)
    }
  }
  return { loaded, lines, names: [], incomplete, close: () => closers.forEach(close => void close()) }
}

async function loadInProcess(url: string, options: unknown): Promise<ExportedHooks & { readonly close?: () => void }> {
  const load = async (): Promise<ExportedHooks> => exportedHooks(await import(/* @vite-ignore */ url), options)
  const loaded = await inTime(load(), LOAD_LIMIT_MILLIS)
  if (typeof loaded === 'symbol') throw new Error(`it was not ready within ${LOAD_LIMIT_MILLIS / 1000} s`)
  return loaded
}

export function findHookFiles(
  files: readonly FolderFile[],
): readonly { readonly path: string; readonly name: string }[] {
  const found = files.flatMap(({ path }) => {
    const name = (FILE.exec(path) ?? FOLDER.exec(path))?.[1]
    return name === undefined || name === 'node_modules' ? [] : [{ path, name }]
  })
  return found.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

export function nameOf(file: string): string {
  return file.replace(/(?:\/index)?\.m?js$/, '')
}

export function optionsOf(path: string, name: string, options: OptionsByFile): OptionsByFile[string] {
  const key = [name, path].find(each => Object.hasOwn(options, each))
  return (key === undefined ? undefined : options[key]) ?? {}
}

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

const copies = new Set<string>()

/**
 * Writes checked files to a private folder and runs them from there, so that later changes of the original have no effect. In
 * the copy, `hookspan/hooks` resolves to this package. It is deleted at process exit at the latest.
 *
 * @param place the parent folder, created if missing
 * @throws the error of the file system
 */
function createRunCopy(files: readonly FolderFile[], place: string): string {
  const includes = (path: string): boolean => files.some(file => file.path === path || file.path.startsWith(`${path}/`))
  const own = includes('node_modules/hookspan') ? undefined : packageFolder()
  makePrivateDirectory(place)
  sweepCopies(place)
  const copy = mkdtempSync(join(place, `${PREFIX}${process.pid}-`))
  if (copies.size === 0) process.on('exit', removeCopies)
  copies.add(copy)
  for (const { path, bytes } of files) {
    const full = join(copy, path)
    mkdirSync(dirname(full), { recursive: true })
    writeFileSync(full, bytes, { mode: PRIVATE_FILE })
  }
  // Without it, a `.js` file would not be an ES module.
  if (!includes('package.json'))
    writeFileSync(join(copy, 'package.json'), '{"type":"module"}\n', { mode: PRIVATE_FILE })
  if (own !== undefined) {
    mkdirSync(join(copy, 'node_modules'), { recursive: true })
    symlinkSync(own, join(copy, 'node_modules', 'hookspan'), 'junction')
  }
  return copy
}

function removeCopies(): void {
  for (const copy of copies) removeCopy(copy)
}

function removeCopy(copy: string): void {
  copies.delete(copy)
  if (copies.size === 0) process.off('exit', removeCopies)
  // If this fails, the next process that creates a copy tries again.
  ignoreErrors(() => rmSync(copy, { recursive: true, force: true }))
}

function sweepCopies(place: string): void {
  for (const name of readdirSync(place)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) removeCopy(join(place, name))
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

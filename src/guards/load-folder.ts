import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fileErrorReason } from '../delivery/trace-log/private-file.ts'
import { type ExportedHooks, hooksOf, whatWentWrong } from './exported-hooks.ts'
import type { FolderFile } from './folder-files.ts'
import type { AnyHook } from './hook.ts'
import { inTime, TOO_LATE } from './in-time.ts'
import { isolatedHooks } from './isolated.ts'
import { runCopy } from './run-copy.ts'

/** Options by file name, with or without the extension. */
export type OptionsOfFiles = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** A hook loaded from a file. */
export interface LoadedHook {
  /** The exported hook, or a proxy if it runs in a thread. */
  readonly hook: AnyHook
  /** The file that exports the hook. */
  readonly file: string
  /** The hook runs in its own thread. */
  readonly isIsolated: boolean
}

export interface LoadedHooks {
  readonly loaded: readonly LoadedHook[]
  /** One line for each file that failed to load: the file, the cause and the remedy. */
  readonly lines: readonly string[]
  /** File names without extension, loaded or not. An empty string means that some names are unknown. */
  readonly names: readonly string[]
  /** Files that failed to load at least in part. */
  readonly incomplete: readonly string[]
  /** Ends the threads and removes the running copy. */
  close(): void
}

interface HookFile {
  /** Relative to the folder. */
  readonly path: string
  /** Without extension; for `name/index.mjs`, the name of the folder. */
  readonly name: string
}

export interface LoadOptions {
  readonly options: OptionsOfFiles
  /** The folder for running copies. */
  readonly place: string
  /** Load only this file. Default: all of them. */
  readonly only?: string | undefined
  /** Default: `isolated-thread.js` beside this module. */
  readonly thread?: URL | undefined
}

export const NOTHING_LOADED: LoadedHooks = {
  loaded: [],
  lines: [],
  names: [],
  incomplete: [],
  close: () => undefined,
}

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
  given: LoadOptions,
): Promise<LoadedHooks> {
  const { only } = given
  const found = hookFiles(files).filter(({ path }) => only === undefined || path === only)
  if (found.length === 0) return NOTHING_LOADED
  const names = found.map(({ name }) => name)
  try {
    const copy = runCopy(files, given.place)
    const each = found.map(({ path, name }) => ({
      shown: join(folder, path),
      url: pathToFileURL(join(copy.path, path)).href,
      options: optionsOf(path, name, given.options),
    }))
    const { close, ...rest } = await loadFiles(each, given.thread)
    const closeAll = (): void => {
      close()
      copy.remove()
    }
    return { ...rest, names, close: closeAll }
  } catch (error) {
    const lines = [
      `hooks: ${folder} is not loaded: no copy of it can be run from ${given.place}: ${fileErrorReason(error)}`,
    ]
    return { ...NOTHING_LOADED, lines, names }
  }
}

export interface FileToLoad {
  /** The path shown to the user. */
  readonly shown: string
  readonly url: string
  readonly options: Readonly<Record<string, unknown>>
}

/** Loads the files one after the other, in the given order. Never throws, never rejects. */
export async function loadFiles(files: readonly FileToLoad[], thread?: URL): Promise<LoadedHooks> {
  const loaded: LoadedHook[] = []
  const lines: string[] = []
  const incomplete: string[] = []
  const closers: (() => void)[] = []
  for (const file of files) {
    // `isolate` and `required` are for the loader and are not passed to the file.
    const { isolate, required: _, ...options } = file.options
    const isIsolated = isolate === true
    try {
      const { hooks, troubles, close } = await (isIsolated
        ? isolatedHooks({ url: file.url, options, thread })
        : loadHere(file.url, options))
      if (close !== undefined) closers.push(close)
      loaded.push(...hooks.map(hook => ({ hook, file: file.shown, isIsolated })))
      lines.push(...troubles.map(trouble => `hooks: ${file.shown}: ${trouble}; it is left out`))
      if (troubles.length > 0) incomplete.push(file.shown)
    } catch (error) {
      incomplete.push(file.shown)
      lines.push(`hooks: ${file.shown} is not loaded: ${whatWentWrong(error)}; mend it, or take it out of the folder`)
    }
  }
  return {
    loaded,
    lines,
    names: [],
    incomplete,
    close() {
      for (const close of closers) close()
    },
  }
}

async function loadHere(url: string, options: unknown): Promise<ExportedHooks & { readonly close?: () => void }> {
  const load = async (): Promise<ExportedHooks> => hooksOf(await import(/* @vite-ignore */ url), options)
  const loaded = await inTime(load(), LOAD_LIMIT_MILLIS, undefined)
  if (loaded === TOO_LATE) throw new Error(`it was not ready within ${LOAD_LIMIT_MILLIS / 1000} s`)
  return loaded as ExportedHooks
}

export function hookFiles(files: readonly FolderFile[]): readonly HookFile[] {
  const found = files.flatMap(({ path }) => {
    const name = (FILE.exec(path) ?? FOLDER.exec(path))?.[1]
    return name === undefined || name === 'node_modules' ? [] : [{ path, name }]
  })
  return found.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

export function nameOf(file: string): string {
  return file.replace(/(?:\/index)?\.m?js$/, '')
}

/** The name of the hook that a path in the folder belongs to. */
export function hookNameOf(path: string): string {
  const [top = ''] = path.split('/')
  return nameOf(top)
}

/** The options for a file, by its name or by its path in the folder. */
export function optionsOf(path: string, name: string, options: OptionsOfFiles): Readonly<Record<string, unknown>> {
  const key = [name, path].find(each => Object.hasOwn(options, each))
  return (key === undefined ? undefined : options[key]) ?? {}
}

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { reason } from '../trace-log/private-place.ts'
import { type ExportedHooks, hooksOf, whatWentWrong } from './exported-hooks.ts'
import type { FolderFile } from './folder-files.ts'
import type { AnyHook } from './hook.ts'
import { inTime, TOO_LATE } from './in-time.ts'
import { isolatedHooks } from './isolated.ts'
import { runCopy } from './run-copy.ts'

/** By names of files, with their ending or without. */
export type OptionsOfFiles = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** A hook out of a file. */
export interface LoadedHook {
  /** As the file exports it; of one in a thread a stand-in. */
  readonly hook: AnyHook
  /** The file that it came from. */
  readonly file: string
  /** It runs in a thread of its own. */
  readonly isIsolated: boolean
}

/** What has come of files. */
export interface LoadedHooks {
  readonly loaded: readonly LoadedHook[]
  /** One each for what could not be loaded: the file, what, and what to do. */
  readonly lines: readonly string[]
  /** What the files are called, without their endings, whatever has come of them. An empty one: nobody knows which there are. */
  readonly names: readonly string[]
  /** The files of which not all is loaded. */
  readonly incomplete: readonly string[]
  /** Ends the threads, and removes what was run. */
  close(): void
}

/** A file as a hook's: where it is, and what it is called. */
interface HookFile {
  /** From the folder on. */
  readonly path: string
  /** Without its ending; of `name/index.mjs` the folder's. */
  readonly name: string
}

export interface LoadOptions {
  readonly options: OptionsOfFiles
  /** Where copies are run from. */
  readonly place: string
  /** This file alone. Default: all of them. */
  readonly only?: string | undefined
  /** Default: `isolated-thread.js` beside this. */
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
 * Loads the hooks of a folder whose files have been read, in the order of their names: each `*.mjs` or `*.js` at its top, and each
 * `name/index.mjs`. What lies deeper is for them to import. Never throws, and never rejects.
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
    const lines = [`hooks: ${folder} is not loaded: no copy of it can be run from ${given.place}: ${reason(error)}`]
    return { ...NOTHING_LOADED, lines, names }
  }
}

/** A file to load. */
export interface FileToLoad {
  /** As it is called to the person. */
  readonly shown: string
  readonly url: string
  readonly options: Readonly<Record<string, unknown>>
}

/** One behind the other, as they are called. Never throws, and never rejects. */
export async function loadFiles(files: readonly FileToLoad[], thread?: URL): Promise<LoadedHooks> {
  const loaded: LoadedHook[] = []
  const lines: string[] = []
  const incomplete: string[] = []
  const closers: (() => void)[] = []
  for (const file of files) {
    // What is said of the file is not for the file.
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

/** The files of a folder that are hooks, in the order of their names. */
export function hookFiles(files: readonly FolderFile[]): readonly HookFile[] {
  const found = files.flatMap(({ path }) => {
    const name = (FILE.exec(path) ?? FOLDER.exec(path))?.[1]
    return name === undefined || name === 'node_modules' ? [] : [{ path, name }]
  })
  return found.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

/** What the name of a file is without its ending. */
export function nameOf(file: string): string {
  return file.replace(/(?:\/index)?\.m?js$/, '')
}

/** What the hook's file is called to which a path in the folder belongs. */
export function hookNameOf(path: string): string {
  const [top = ''] = path.split('/')
  return nameOf(top)
}

/** What the file is handed that is called so, or has this path in its folder. */
export function optionsOf(path: string, name: string, options: OptionsOfFiles): Readonly<Record<string, unknown>> {
  const key = [name, path].find(each => Object.hasOwn(options, each))
  return (key === undefined ? undefined : options[key]) ?? {}
}

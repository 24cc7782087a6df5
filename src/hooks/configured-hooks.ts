import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HooksConfig } from '../config/hooks-config.ts'
import { HOOKS_DEFAULT } from '../config/hooks-config.ts'
import { type Environment, homeDirectory, hooksDirectory, stateHome } from '../config/paths.ts'
import { showName } from '../config/reading.ts'
import { type ControlHooks, createHooks } from './create-hooks.ts'
import { type FolderFile, isThere, readFolder } from './folder-files.ts'
import {
  hookFiles,
  hookNameOf,
  type LoadedHook,
  type LoadedHooks,
  loadFolder,
  NOTHING_LOADED,
  nameOf,
  type OptionsOfFiles,
} from './load-folder.ts'
import { requiredFiles } from './required-files.ts'
import { projectFolderOf, readProjectFolder, TrustStore } from './trust.ts'

/** Where hooks are loaded from, and how. */
export interface HookSettings {
  /** Of the person. Undefined: none. */
  readonly globalFolder: string | undefined
  /** Somebody has said which folder that is, and wants what is in it. */
  readonly isGlobalFolderNamed: boolean
  /** Of the project, too, where that is trusted. */
  readonly isProjectLocal: boolean
  /** For all hooks of a phase together. */
  readonly timeLimitMillis: number | undefined
  readonly options: OptionsOfFiles
  /** A private folder: what is trusted, and what is run. Undefined: there is no home directory, and nothing is trusted. */
  readonly place: string | undefined
  /** Default: the one that is installed with this. */
  readonly thread?: URL | undefined
}

/** What has come of the folders. */
export interface ConfiguredHooks {
  /** Undefined: there are none. */
  readonly hooks: ControlHooks | undefined
  /** One each for what is not loaded, and should be: what, why, and what to do. */
  readonly lines: readonly string[]
  /** Why a folder that is there is not loaded, where that is meant. */
  readonly notes: readonly string[]
  /** In the order in which they were given. */
  readonly loaded: readonly LoadedHook[]
  /** The project's folder, without links, where it is trusted as it is and files of it were loaded. */
  readonly projectFolder: string | undefined
  /** Nobody asks them any more: ends the threads of those that have one. */
  close(): void
}

/** @param home empty: there is none */
export function hookSettings(
  { hooks = HOOKS_DEFAULT }: { readonly hooks: HooksConfig | undefined },
  env: Environment,
  home: string = homeDirectory(),
): HookSettings {
  const state = stateHome(env, home)
  return {
    globalFolder: hooks.enabled ? (hooks.global_dir ?? hooksDirectory(env, home)) : undefined,
    isGlobalFolderNamed: hooks.enabled && hooks.global_dir !== undefined,
    isProjectLocal: hooks.enabled && hooks.project_local,
    timeLimitMillis: hooks.time_limit_ms,
    options: hooks.options,
    place: state === undefined ? undefined : join(state, 'hooks'),
  }
}

/**
 * Loads the hooks of the person, then those of the project, where that was asked for and the person has trusted its folder as it
 * is. Never throws, and never rejects.
 *
 * @param project the folder that the agent works in; undefined: that of nobody in particular
 */
export async function loadConfiguredHooks(
  settings: HookSettings,
  project: string | undefined,
): Promise<ConfiguredHooks> {
  const own = await ofPerson(settings)
  const { notes, folder, ...local } = await ofProject(
    { ...settings, options: without(settings.options, own.names) },
    project,
  )
  const each = distinct([...own.loaded, ...local.loaded])
  const { timeLimitMillis, globalFolder, options } = settings
  // A file that is required may have lost a hook there.
  const folders = { globalFolder: globalFolder ?? '', own: ofWholeFiles(own, each.kept), projectNames: local.names }
  const required = requiredFiles(globalFolder === undefined ? {} : options, folders)
  const { kept, lines } = distinct([...required.closed, ...each.kept])
  return {
    hooks:
      kept.length === 0
        ? undefined
        : createHooks(
            kept.map(({ hook }) => hook),
            { timeLimitMillis },
          ),
    lines: [
      ...own.lines,
      ...local.lines,
      ...each.lines,
      ...lines,
      ...required.lines,
      ...unusedOptions(settings, own.names),
    ],
    notes,
    loaded: kept,
    projectFolder: folder,
    close() {
      own.close()
      local.close()
    },
  }
}

async function ofPerson(settings: HookSettings): Promise<LoadedHooks> {
  const { globalFolder, options, place = temporary(), thread } = settings
  const { files, lines, names } = filesOfPerson(settings)
  if (globalFolder === undefined || files.length === 0) return { ...NOTHING_LOADED, lines, names }
  const loaded = await loadFolder(globalFolder, files, { options, place, thread })
  return { ...loaded, lines: [...lines, ...loaded.lines], names }
}

interface FilesOfPerson extends Pick<LoadedHooks, 'lines' | 'names'> {
  readonly files: readonly FolderFile[]
}

function filesOfPerson({ globalFolder, isGlobalFolderNamed }: HookSettings): FilesOfPerson {
  if (globalFolder === undefined) return NO_FILES
  const isAnythingThere = isThere(globalFolder)
  const { files, lines, leftOut } = isAnythingThere ? readFolder(globalFolder, { mayLink: true }) : NO_FILES
  // What could not be read is theirs all the same.
  const names = [...hookFiles(files).map(({ name }) => name), ...leftOut.map(hookNameOf)]
  if (names.length > 0 || !isGlobalFolderNamed) return { files, lines, names }
  // It may be on a disk that is not mounted.
  const line = `hooks: there are no hooks in ${globalFolder}, which hooks.global_dir names`
  return { files, lines: [line], names: [''] }
}

const NO_FILES = { files: [], lines: [], leftOut: [], names: [] } as const

/** What files of a project are handed: nothing that the person means for a file of their own. */
export function optionsOfProject(settings: HookSettings): OptionsOfFiles {
  return without(settings.options, filesOfPerson(settings).names)
}

interface HooksOfProject extends LoadedHooks, Pick<ConfiguredHooks, 'notes'> {
  /** Undefined: nothing in it may be loaded. */
  readonly folder?: string
}

async function ofProject(
  { isProjectLocal, options, place, thread }: HookSettings,
  project: string | undefined,
): Promise<HooksOfProject> {
  if (project === undefined || !isThere(projectFolderOf(project))) return { ...NOTHING_LOADED, notes: [] }
  if (!isProjectLocal) {
    const notes = [`${projectFolderOf(project)} is not loaded: hooks.project_local is off`]
    return { ...NOTHING_LOADED, notes }
  }
  const found = readProjectFolder(project)
  if (found === undefined) return { ...NOTHING_LOADED, notes: [] }
  const { path, files, hash, lines } = found
  if (lines.length > 0) return { ...NOTHING_LOADED, lines, notes: [] }
  const trusted = place === undefined ? undefined : new TrustStore(place).hashOf(path)
  if (place === undefined || trusted !== hash) {
    const why = trusted === undefined ? 'nobody has trusted it' : 'it is not as it was when it was trusted'
    const line = `hooks: ${path} is not loaded: ${why}; look at what is in it, then: hookspan hooks trust`
    return { ...NOTHING_LOADED, lines: [line], notes: [] }
  }
  return { ...(await loadFolder(path, files, { options, place, thread })), notes: [], folder: path }
}

/** What the person hands to a file of their own is not for a file of the same name that came with a project. */
function without(options: OptionsOfFiles, names: readonly string[]): OptionsOfFiles {
  // Any of them may be meant for a file of theirs that could not be read.
  if (names.includes('')) return {}
  return Object.fromEntries(Object.entries(options).filter(([file]) => !names.includes(nameOf(file))))
}

/** Those of files that lack none of what they export: the one that is not there may be the guard. */
function ofWholeFiles(own: LoadedHooks, kept: readonly LoadedHook[]): LoadedHooks {
  const dropped = own.loaded.filter(each => !kept.includes(each)).map(({ file }) => file)
  const lacking = new Set([...own.incomplete, ...dropped].map(nameOf))
  return { ...own, loaded: own.loaded.filter(({ file }) => !lacking.has(nameOf(file))) }
}

/** A guard without its options may guard nothing. What is meant for a project's file can be of any project. */
function unusedOptions({ options, isProjectLocal, globalFolder }: HookSettings, names: readonly string[]): string[] {
  if (isProjectLocal || globalFolder === undefined) return []
  // Of those that are required more is said.
  const unused = Object.entries(without(options, names)).filter(([, { required }]) => required !== true)
  return unused.map(([file]) => `hooks: there are options for ${showName(file)}, and no such file in ${globalFolder}`)
}

/** One hook has a name. The first keeps it: a project takes the place of no hook of the person. */
function distinct(loaded: readonly LoadedHook[]): {
  readonly kept: readonly LoadedHook[]
  readonly lines: readonly string[]
} {
  const first = new Map<string, LoadedHook>()
  const lines: string[] = []
  for (const each of loaded) {
    const { name } = each.hook
    const other = first.get(name)
    if (other === undefined) first.set(name, each)
    else lines.push(`hooks: ${each.file}: there is a hook "${name}" in ${other.file} already; give one another name`)
  }
  return { kept: [...first.values()], lines }
}

/** For a process without a home directory. */
function temporary(): string {
  return join(tmpdir(), `hookspan-hooks-${process.geteuid?.() ?? ''}`)
}

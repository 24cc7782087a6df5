import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HooksConfig } from '../plugin/config/hooks-config.ts'
import { HOOKS_DEFAULT } from '../plugin/config/hooks-config.ts'
import { type Environment, homeDirectory, hooksDirectory, stateHome } from '../plugin/config/paths.ts'
import { showName } from '../plugin/config/reading.ts'
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

/** The folders that hooks are loaded from, and the options of loading. */
export interface HookSettings {
  /** The user's folder. Undefined if there is none. */
  readonly globalFolder: string | undefined
  /** The configuration names the global folder, so a missing one is reported. */
  readonly isGlobalFolderNamed: boolean
  /** Also load the hooks of the project if its folder is trusted. */
  readonly isProjectLocal: boolean
  /** For all hooks of a phase together. */
  readonly timeLimitMillis: number | undefined
  readonly options: OptionsOfFiles
  /**
   * A private folder for the trust list and the copies that run. Undefined without a home directory: nothing is trusted then.
   */
  readonly place: string | undefined
  /** Default: the installed thread module. */
  readonly thread?: URL | undefined
}

/** The result of loading the configured folders. */
export interface ConfiguredHooks {
  /** Undefined if no hook was loaded. */
  readonly hooks: ControlHooks | undefined
  /** One line for each file that failed to load: the file, the cause and the remedy. */
  readonly lines: readonly string[]
  /** Reasons why an existing folder is skipped on purpose. */
  readonly notes: readonly string[]
  /** The hooks in loading order. */
  readonly loaded: readonly LoadedHook[]
  /** The real path of the project's folder, if it is trusted unchanged and files of it were loaded. */
  readonly projectFolder: string | undefined
  /** Ends the threads of isolated hooks. */
  close(): void
}

/** @param home empty if there is none */
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
 * Loads the user's hooks, then the project's if enabled and its folder is trusted unchanged. Never throws, never rejects.
 *
 * @param project the folder that the agent works in; undefined if there is none
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
  // A required file may have lost a hook to a duplicate name.
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
  // Unreadable files still belong to the user, so their options must not go to a project's file.
  const names = [...hookFiles(files).map(({ name }) => name), ...leftOut.map(hookNameOf)]
  if (names.length > 0 || !isGlobalFolderNamed) return { files, lines, names }
  // The named folder may be on a disk that is not mounted.
  const line = `hooks: there are no hooks in ${globalFolder}, which hooks.global_dir names`
  return { files, lines: [line], names: [''] }
}

const NO_FILES = { files: [], lines: [], leftOut: [], names: [] } as const

/** The options for the files of a project. Options meant for a file of the user are removed. */
export function optionsOfProject(settings: HookSettings): OptionsOfFiles {
  return without(settings.options, filesOfPerson(settings).names)
}

interface HooksOfProject extends LoadedHooks, Pick<ConfiguredHooks, 'notes'> {
  /** Undefined if nothing in it may be loaded. */
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

/** Removes options for the user's own files: a project's file of the same name must not receive them. */
function without(options: OptionsOfFiles, names: readonly string[]): OptionsOfFiles {
  // Some names are unknown, and each option may be meant for a file of the user that could not be read.
  if (names.includes('')) return {}
  return Object.fromEntries(Object.entries(options).filter(([file]) => !names.includes(nameOf(file))))
}

/** Keeps only hooks of files that loaded completely: the missing hook may be the guard. */
function ofWholeFiles(own: LoadedHooks, kept: readonly LoadedHook[]): LoadedHooks {
  const dropped = own.loaded.filter(each => !kept.includes(each)).map(({ file }) => file)
  const lacking = new Set([...own.incomplete, ...dropped].map(nameOf))
  return { ...own, loaded: own.loaded.filter(({ file }) => !lacking.has(nameOf(file))) }
}

/**
 * Reports options without a file: a guard without its options may guard nothing. Skipped if projects may have hooks, because
 * the options can be for any project.
 */
function unusedOptions({ options, isProjectLocal, globalFolder }: HookSettings, names: readonly string[]): string[] {
  if (isProjectLocal || globalFolder === undefined) return []
  // Required files are reported separately.
  const unused = Object.entries(without(options, names)).filter(([, { required }]) => required !== true)
  return unused.map(([file]) => `hooks: there are options for ${showName(file)}, and no such file in ${globalFolder}`)
}

/** Keeps the first hook of each name, so that a project cannot replace a hook of the user. */
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

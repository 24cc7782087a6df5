import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { HOOKS_DEFAULT, type HooksConfig } from '../plugin/config/hooks.ts'
import { type Environment, homeDirectory, hooksDirectory, stateHome } from '../plugin/config/paths.ts'
import { showName } from '../plugin/config/reading.ts'
import { type ControlHooks, createHooks } from './create-hooks.ts'
import type { AnyHook } from './hook.ts'
import type { LoadedHook, LoadedHooks, OptionsByFile } from './load-folder.ts'
import { findHookFiles, loadFolder, NOTHING_LOADED, nameOf } from './load-folder.ts'
import { pathExists, projectFolderOf, readFolder, readProjectFolder, TrustStore } from './trust.ts'
import { type Block, block } from './verdict.ts'

/**
 * `isGlobalFolderNamed`: the configuration names the global folder, so a missing one is reported. `privateFolder`: for the
 * trust list and the copies that run. Undefined without a home directory: nothing is trusted then.
 */
export interface HookFolderSettings {
  readonly globalFolder: string | undefined
  readonly isGlobalFolderNamed: boolean
  readonly isProjectLocal: boolean
  readonly timeLimitMillis: number | undefined
  readonly options: OptionsByFile
  readonly privateFolder: string | undefined
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

export function hookFolderSettings(
  { hooks = HOOKS_DEFAULT }: { readonly hooks: HooksConfig | undefined },
  env: Environment,
  home: string = homeDirectory(),
): HookFolderSettings {
  const state = stateHome(env, home)
  return {
    globalFolder: hooks.enabled ? (hooks.global_dir ?? hooksDirectory(env, home)) : undefined,
    isGlobalFolderNamed: hooks.enabled && hooks.global_dir !== undefined,
    isProjectLocal: hooks.enabled && hooks.project_local,
    timeLimitMillis: hooks.time_limit_ms,
    options: hooks.options,
    privateFolder: state === undefined ? undefined : join(state, 'hooks'),
  }
}

/**
 * Loads the user's hooks, then the project's if enabled and its folder is trusted unchanged. Never throws, never rejects.
 *
 * @param project the folder that the agent works in; undefined if there is none
 */
export async function loadConfiguredHooks(
  settings: HookFolderSettings,
  project: string | undefined,
): Promise<ConfiguredHooks> {
  const own = await loadUserHooks(settings)
  const {
    notes = [],
    projectFolder,
    ...local
  } = await loadProjectHooks({ ...settings, options: withoutFiles(settings.options, own.names) }, project)
  const each = deduplicate([...own.loaded, ...local.loaded])
  const { timeLimitMillis } = settings
  const required = requiredFiles(settings, own, each.kept, local.names)
  const { kept, lines } = deduplicate([...required.blocking, ...each.kept])
  const hooks = kept.map(({ hook }) => hook)
  const problems = [...own.lines, ...local.lines, ...each.lines, ...lines, ...required.lines]
  return {
    hooks: hooks.length === 0 ? undefined : createHooks(hooks, { timeLimitMillis }),
    lines: [...problems, ...unusedOptions(settings, own.names)],
    notes,
    loaded: kept,
    projectFolder,
    close() {
      own.close()
      local.close()
    },
  }
}

async function loadUserHooks(settings: HookFolderSettings): Promise<LoadedHooks> {
  const { globalFolder, options, thread } = settings
  const { files, lines, names } = readUserFiles(settings)
  if (globalFolder === undefined || files.length === 0) return { ...NOTHING_LOADED, lines, names }
  const copiesFolder = settings.privateFolder ?? join(tmpdir(), `hookspan-hooks-${process.geteuid?.() ?? ''}`)
  const loaded = await loadFolder(globalFolder, files, { options, copiesFolder, thread })
  return { ...loaded, lines: [...lines, ...loaded.lines], names }
}

function readUserFiles({ globalFolder, isGlobalFolderNamed }: HookFolderSettings) {
  if (globalFolder === undefined) return NO_FILES
  const isAnythingThere = pathExists(globalFolder)
  const { files, lines, skipped } = isAnythingThere ? readFolder(globalFolder, { followsLinks: true }) : NO_FILES
  // Unreadable files still belong to the user, so their options must not go to a project's file.
  const names = [
    ...findHookFiles(files).map(({ name }) => name),
    ...skipped.map(path => nameOf(path.replace(/\/.*/s, ''))),
  ]
  if (names.length > 0 || !isGlobalFolderNamed) return { files, lines, names }
  // The named folder may be on a disk that is not mounted.
  const line = `hooks: there are no hooks in ${globalFolder}, which hooks.global_dir names`
  return { files, lines: [line], names: [''] }
}

const NO_FILES = { files: [], lines: [], skipped: [], names: [] } as const

export function projectOptions(settings: HookFolderSettings): OptionsByFile {
  return withoutFiles(settings.options, readUserFiles(settings).names)
}

type ProjectHooks = LoadedHooks & Partial<Pick<ConfiguredHooks, 'notes' | 'projectFolder'>>

async function loadProjectHooks(
  { isProjectLocal, options, privateFolder: place, thread }: HookFolderSettings,
  project: string | undefined,
): Promise<ProjectHooks> {
  if (project === undefined || !pathExists(projectFolderOf(project))) return NOTHING_LOADED
  const off = `${projectFolderOf(project)} is not loaded: hooks.project_local is off`
  if (!isProjectLocal) return { ...NOTHING_LOADED, notes: [off] }
  const found = readProjectFolder(project)
  if (found === undefined) return NOTHING_LOADED
  const { path, files, hash, lines } = found
  if (lines.length > 0) return { ...NOTHING_LOADED, lines }
  const trusted = place === undefined ? undefined : new TrustStore(place).hashOf(path)
  if (place === undefined || trusted !== hash) {
    const why = trusted === undefined ? 'it is not trusted' : 'it has changed since it was trusted'
    const line = `hooks: ${path} is not loaded: ${why}; review it, then run: hookspan hooks trust`
    return { ...NOTHING_LOADED, lines: [line] }
  }
  return { ...(await loadFolder(path, files, { options, copiesFolder: place, thread })), projectFolder: path }
}

/**
 * Removes options for the user's own files: a project's file of the same name must not receive them. If some names are unknown,
 * each option may be meant for a file of the user that could not be read.
 */
function withoutFiles(options: OptionsByFile, names: readonly string[]): OptionsByFile {
  if (names.includes('')) return {}
  return Object.fromEntries(Object.entries(options).filter(([file]) => !names.includes(nameOf(file))))
}

/**
 * Reports options without a file: a guard without its options may guard nothing. Skipped if projects may have hooks, because
 * the options can be for any project.
 */
function unusedOptions({ options, isProjectLocal, globalFolder }: HookFolderSettings, names: readonly string[]) {
  if (isProjectLocal || globalFolder === undefined) return []
  const unused = Object.entries(withoutFiles(options, names)).filter(([, { required }]) => required !== true)
  return unused.map(([file]) => `hooks: there are options for ${showName(file)}, and no such file in ${globalFolder}`)
}

/** Keeps the first hook of each name, so that a project cannot replace a hook of the user. */
function deduplicate(loaded: readonly LoadedHook[]) {
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

/**
 * The required files that are not loaded completely: the missing hook may be the guard. A file may have lost a hook to a
 * duplicate name.
 *
 * @param projectNames the names of the project's files, which cannot replace a required file of the user
 */
function requiredFiles(
  { globalFolder, options }: HookFolderSettings,
  own: LoadedHooks,
  kept: readonly LoadedHook[],
  projectNames: readonly string[],
) {
  if (globalFolder === undefined) return { blocking: [], lines: [] }
  const dropped = own.loaded.filter(each => !kept.includes(each)).map(({ file }) => file)
  const incomplete = new Set([...own.incomplete, ...dropped].map(nameOf))
  const complete = own.loaded.filter(({ file }) => !incomplete.has(nameOf(file)))
  const there = new Set(complete.map(({ file }) => nameOf(relative(globalFolder, file))))
  const missing = Object.keys(options).filter(file => options[file]?.['required'] === true && !there.has(nameOf(file)))
  const isOwn = (file: string): boolean => own.names.includes(nameOf(file))
  const isProjects = (file: string): boolean => !isOwn(file) && projectNames.includes(nameOf(file))
  return {
    blocking: missing.map(file => blockingHook(file, globalFolder, isProjects(file))),
    // The loader has already reported files that exist but failed.
    lines: missing.flatMap(file => (isOwn(file) ? [] : [missingLine(showName(file), globalFolder, isProjects(file))])),
  }
}

function missingLine(file: string, globalFolder: string, isProjects: boolean): string {
  const end = 'or required is removed from its options'
  return isProjects
    ? `hooks: required is for files of your own folder, and ${file} is in the project's: everything is blocked until it is in ${globalFolder}, ${end}`
    : `hooks: ${file} is required, and no such file of ${globalFolder} is loaded: everything is blocked until one is, ${end}`
}

function blockingHook(file: string, globalFolder: string, isProjects: boolean): LoadedHook {
  const [reason, detail] = isProjects
    ? [
        "A hook that is required here is in the project's folder, and must be in the user's own folder.",
        `required is for files of your own folder; ${file} is in the project's`,
      ]
    : ['A hook that is required here could not be loaded.', `hookspan hooks says why it is not: ${file}`]
  const closed = (): Block => block(reason, { detail })
  const name = `required:${nameOf(file)}`
  const hook: AnyHook = { name, priority: 0, onFailure: 'block', beforeTurn: closed, beforeTool: closed }
  return { hook, file: join(globalFolder, file), isIsolated: false }
}

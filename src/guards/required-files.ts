import { join, relative } from 'node:path'
import { showName } from '../plugin/config/reading.ts'
import type { AnyHook } from './hook.ts'
import { type LoadedHook, type LoadedHooks, nameOf, type OptionsOfFiles } from './load-folder.ts'
import { type Block, block } from './verdict.ts'

/** The replacement for required files that are not loaded. */
export interface RequiredFiles {
  /** Hooks that block everything, one for each missing file. */
  readonly closed: readonly LoadedHook[]
  /** One line for each missing file that is not reported yet. */
  readonly lines: readonly string[]
}

interface Folders {
  readonly globalFolder: string
  readonly own: LoadedHooks
  /** The names of the project's files. They cannot replace a required file of the user. */
  readonly projectNames: readonly string[]
}

export function requiredFiles(options: OptionsOfFiles, folders: Folders): RequiredFiles {
  const { globalFolder, own, projectNames } = folders
  const there = new Set(own.loaded.map(({ file }) => nameOf(relative(globalFolder, file))))
  const missing = Object.keys(options).filter(file => options[file]?.['required'] === true && !there.has(nameOf(file)))
  const isOwn = (file: string): boolean => own.names.includes(nameOf(file))
  const isProjects = (file: string): boolean => !isOwn(file) && projectNames.includes(nameOf(file))
  return {
    closed: missing.map(file => ({
      hook: closedHook(file, isProjects(file)),
      file: join(globalFolder, file),
      isIsolated: false,
    })),
    // The loader has already reported files that exist but failed.
    lines: missing.filter(file => !isOwn(file)).map(file => lineOf(showName(file), globalFolder, isProjects(file))),
  }
}

function lineOf(file: string, globalFolder: string, isProjects: boolean): string {
  const end = 'or required is gone from its options'
  return isProjects
    ? `hooks: required is for files of your own folder, and ${file} is in the project's: everything is blocked until it is in ${globalFolder}, ${end}`
    : `hooks: ${file} is required, and no such file of ${globalFolder} is loaded: everything is blocked until one is, ${end}`
}

function closedHook(file: string, isProjects: boolean): AnyHook {
  const verdict = isProjects
    ? block("A hook that is required here is in the project's folder, and has to be in the person's own.", {
        detail: `required is for files of your own folder; ${file} is in the project's`,
      })
    : block('A hook that is required here could not be loaded.', {
        detail: `hookspan hooks says why it is not: ${file}`,
      })
  const closed = (): Block => verdict
  const hook = {
    name: `required:${nameOf(file)}`,
    priority: 0,
    onFailure: 'block',
    beforeTurn: closed,
    beforeTool: closed,
  }
  return hook as AnyHook
}

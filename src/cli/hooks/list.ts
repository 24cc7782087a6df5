import { sep } from 'node:path'
import {
  type ConfiguredHooks,
  type HookSettings,
  hookSettings,
  loadConfiguredHooks,
} from '../../guards/configured-hooks.ts'
import { isThere } from '../../guards/folder-files.ts'
import { projectFolderOf } from '../../guards/trust.ts'
import { hookProblems, resolveConfig } from '../../plugin/config/resolve.ts'
import { type CommandIo, EXIT } from '../command.ts'
import { columns } from './columns.ts'

/** The hook settings of the configuration. Prints their problems. */
export function settingsOf(io: CommandIo): HookSettings {
  const resolution = resolveConfig({ env: io.env, home: io.home })
  for (const line of hookProblems(resolution)) io.stderr.write(`hookspan: ${line}\n`)
  return hookSettings(resolution.config, io.env, io.home)
}

/** Lists the hooks loaded for a project, in order, and the reasons why others are not loaded. */
export async function list(project: string, io: CommandIo): Promise<number> {
  const settings = settingsOf(io)
  const configured = await loadConfiguredHooks(settings, project)
  try {
    io.stdout.write(`${places(settings, project, configured)}\n${table(configured)}`)
    for (const line of configured.lines) io.stderr.write(`hookspan: ${line}\n`)
    return configured.lines.length === 0 ? EXIT.ok : EXIT.failed
  } finally {
    configured.close()
  }
}

function places({ globalFolder }: HookSettings, project: string, { loaded, notes }: ConfiguredHooks): string {
  const yours = globalFolder === undefined ? 'none is configured' : there(globalFolder)
  const folder = projectFolderOf(project)
  const isLoaded = loaded.some(({ file }) => file.startsWith(folder))
  const note = notes.length > 0 ? ' (not loaded: hooks.project_local is off)' : ''
  return `Your folder:     ${yours}\nOf the project:  ${there(folder)}${isLoaded ? '' : note}\n`
}

function there(folder: string): string {
  return isThere(folder) ? folder : `${folder} (there is none)`
}

/** Without this note, a user would expect the receiver to run the project's hooks. */
const OF_PROJECT =
  'Those of the project are asked by programs that call loadHooks({ project }). The receiver does not ask them.\n'

function table({ hooks, loaded, projectFolder }: ConfiguredHooks): string {
  if (hooks === undefined) return 'No hooks are loaded.\n'
  const rows = hooks.hooks.map(({ name, priority, phases, decides, onFailure }) => {
    const from = loaded.find(({ hook }) => hook.name === name)
    const place = `${from?.file ?? ''}${from?.isIsolated === true ? ' (in a thread)' : ''}`
    return [String(priority), name, phases.join(' '), decides.join(' '), onFailure, place]
  })
  const isAnyOfProject = loaded.some(({ file }) => projectFolder !== undefined && file.startsWith(projectFolder + sep))
  return `${columns(['priority', 'hook', 'phases', 'decides', 'failing', 'from'], rows)}
Lower comes first before something happens, and last after it; hooks that rewrite or inject come before the others.
${isAnyOfProject ? OF_PROJECT : ''}`
}

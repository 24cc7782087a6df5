import { sep } from 'node:path'
import {
  type ConfiguredHooks,
  type HookFolderSettings,
  hookFolderSettings,
  loadConfiguredHooks,
} from '../../guards/configured-hooks.ts'
import { pathExists, projectFolderOf } from '../../guards/trust.ts'
import { hookProblems, resolveConfig } from '../../plugin/config/resolve.ts'
import { displayText } from '../../reading/display-text.ts'
import { clipToWidth, displayWidth, padEndToWidth } from '../../reading/display-width.ts'
import { type CommandIo, EXIT } from '../command.ts'

export function settingsOf(io: CommandIo): HookFolderSettings {
  const resolution = resolveConfig({ env: io.env, home: io.home })
  for (const line of hookProblems(resolution)) io.stderr.write(`hookspan: ${line}\n`)
  return hookFolderSettings(resolution.config, io.env, io.home)
}

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

function places({ globalFolder }: HookFolderSettings, project: string, { loaded, notes }: ConfiguredHooks): string {
  const yours = globalFolder === undefined ? 'none is configured' : there(globalFolder)
  const folder = projectFolderOf(project)
  const isLoaded = loaded.some(({ file }) => file.startsWith(folder))
  const note = notes.length > 0 ? ' (not loaded: hooks.project_local is off)' : ''
  return `Your folder:     ${yours}\nOf the project:  ${there(folder)}${isLoaded ? '' : note}\n`
}

function there(folder: string): string {
  return pathExists(folder) ? folder : `${folder} (does not exist)`
}

/** Without this note, a user would expect the receiver to run the project's hooks. */
const OF_PROJECT = 'Guards of the project run only in programs that call loadHooks({ project }), not in the receiver.\n'

function table({ hooks, loaded, projectFolder }: ConfiguredHooks): string {
  if (hooks === undefined) return 'No hooks are loaded.\n'
  const rows = hooks.hooks.map(({ name, priority, phases, decisions, onFailure }) => {
    const from = loaded.find(({ hook }) => hook.name === name)
    const place = `${from?.file ?? ''}${from?.isIsolated === true ? ' (in a thread)' : ''}`
    return [String(priority), name, phases.join(' '), decisions.join(' '), onFailure, place]
  })
  const isAnyOfProject = loaded.some(({ file }) => projectFolder !== undefined && file.startsWith(projectFolder + sep))
  return `${columns(['priority', 'hook', 'phases', 'decides', 'failing', 'from'], rows)}
Lower priority runs first before an action, and last after it. Guards that rewrite or inject run before the others.
${isAnyOfProject ? OF_PROJECT : ''}`
}

const MAX_CELLS = 120

/**
 * Formats rows below a header, each column as wide as its widest cell. Untrusted text is escaped, so that it cannot move the
 * cursor. Lines end with a line break.
 */
export function columns(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows.map(row => row.map(cell => clipToWidth(displayText(cell), MAX_CELLS)))]
  const widths = head.map((_, at) => Math.max(...cells.map(row => displayWidth(row[at] ?? ''))))
  return cells
    .map(row => `  ${row.map((cell, at) => padEndToWidth(cell, widths[at] ?? 0)).join('  ')}`.trimEnd())
    .map(line => `${line}\n`)
    .join('')
}

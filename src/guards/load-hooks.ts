import type { UserValue } from '../plugin/config/types.ts'
import type { ConfiguredHooks } from './configured-hooks.ts'

/** Options of `loadHooks`. */
export interface LoadHooksOptions {
  /** The folder that the agent works in, to load hooks of its project. Default: no project. */
  readonly project?: string | undefined
  /** Overrides `hooks` of the configuration: a folder, `false`, or its fields. */
  readonly hooks?: UserValue<'hooks'> | undefined
}

/**
 * Loads the configured hooks for an agent in this process: those of the user's folder, and of the project if the user trusted
 * it. Never throws, never rejects: each problem is returned as a line.
 *
 * @example
 * const { hooks, lines } = await loadHooks({ project: process.cwd() })
 * for (const line of lines) console.error(line)
 * if (hooks !== undefined) attachHooks(agent, hooks)
 */
export async function loadHooks({ project, hooks }: LoadHooksOptions = {}): Promise<ConfiguredHooks> {
  // Imported lazily, so that hooks defined in code do not load this.
  const [{ hookProblems, resolveConfig }, { hookFolderSettings, loadConfiguredHooks }] = await Promise.all([
    import('../plugin/config/resolve.ts'),
    import('./configured-hooks.ts'),
  ])
  const resolution = resolveConfig({ code: { hooks } })
  const configured = await loadConfiguredHooks(hookFolderSettings(resolution.config, process.env), project)
  return { ...configured, lines: [...hookProblems(resolution), ...configured.lines] }
}

import type { UserValue } from '../config/types.ts'
import type { ConfiguredHooks } from './configured-hooks.ts'

/** Whose hooks `loadHooks` loads. */
export interface LoadHooksOptions {
  /** The folder that the agent works in, for hooks of the project. Default: none of a project. */
  readonly project?: string | undefined
  /** Wins over what the configuration says of `hooks`: a folder, `false`, or its fields. */
  readonly hooks?: UserValue<'hooks'> | undefined
}

/**
 * Loads the hooks that the person has configured, for an agent in this process: those of their own folder, and of a project that
 * they have trusted. Never throws, and never rejects: what cannot be loaded is a line.
 *
 * @example
 * const { hooks, lines } = await loadHooks({ project: process.cwd() })
 * for (const line of lines) console.error(line)
 * if (hooks !== undefined) attachHooks(agent, hooks)
 */
export async function loadHooks({ project, hooks }: LoadHooksOptions = {}): Promise<ConfiguredHooks> {
  // Whoever makes hooks without a folder loads nothing of this.
  const [{ resolveConfig }, { hookProblems }, { hookSettings, loadConfiguredHooks }] = await Promise.all([
    import('../config/resolve.ts'),
    import('../config/hook-problems.ts'),
    import('./configured-hooks.ts'),
  ])
  const resolution = resolveConfig({ code: { hooks } })
  const configured = await loadConfiguredHooks(hookSettings(resolution.config, process.env), project)
  return { ...configured, lines: [...hookProblems(resolution), ...configured.lines] }
}

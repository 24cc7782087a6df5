import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'

/** Names of environment variables and their values. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Undefined where the variable is not set or blank: OpenTelemetry's rule, and ours. */
export function variable(env: Environment, name: string): string | undefined {
  const value: unknown = env[name]
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** The user's; empty where the system knows of none: a container may run as a user that it has no entry for, and then it throws. */
export function homeDirectory(): string {
  try {
    return homedir()
  } catch {
    return ''
  }
}

// Relative values are invalid by the XDG specification: they would depend on where the agent was started.
function baseDirectory(env: Environment, name: string, home: string, ...fallback: string[]): string {
  const named = variable(env, name)
  return named !== undefined && isAbsolute(named) ? named : join(home, ...fallback)
}

/** Trace log, debug log: `$XDG_STATE_HOME/hookspan`, else `~/.local/state/hookspan`. */
export function stateDirectory(env: Environment, home: string): string {
  return join(baseDirectory(env, 'XDG_STATE_HOME', home, '.local', 'state'), 'hookspan')
}

/** Where state is kept; undefined without a home directory: a path relative to an agent's project would be a leak. */
export function stateHome(env: Environment, home: string): string | undefined {
  const directory = stateDirectory(env, home)
  return isAbsolute(directory) ? directory : undefined
}

/** Where a configuration file is looked for, best first, when `HOOKSPAN_CONFIG` names none. */
export function configFiles(env: Environment, home: string): readonly string[] {
  const directory = join(baseDirectory(env, 'XDG_CONFIG_HOME', home, '.config'), 'hookspan')
  return ['config.yaml', 'config.yml', 'config.json'].map(name => join(directory, name))
}

/** Where a person's own hooks are, beside the configuration file; undefined without a home directory. */
export function hooksDirectory(env: Environment, home: string): string | undefined {
  const [file = ''] = configFiles(env, home)
  return isAbsolute(file) ? join(dirname(file), 'hooks') : undefined
}

/** `~/x` is in the home directory: unit files and `.env` files name paths like that, and no shell expands it there. */
export function expandHome(path: string, home: string): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path
}

import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'

/** Names of environment variables and their values. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Undefined if the variable is not set or blank: OpenTelemetry's rule, and ours. */
export function variable(env: Environment, name: string): string | undefined {
  const value: unknown = env[name]
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** The user's home directory. Empty if the system knows none: `homedir()` throws in a container for a user without an entry. */
export function homeDirectory(): string {
  try {
    return homedir()
  } catch {
    return ''
  }
}

// Relative values are invalid by the XDG specification: they would depend on the working directory.
function baseDirectory(env: Environment, name: string, home: string, ...fallback: string[]): string {
  const named = variable(env, name)
  return named !== undefined && isAbsolute(named) ? named : join(home, ...fallback)
}

/** The directory of the trace log and the debug log: `$XDG_STATE_HOME/hookspan`, or else `~/.local/state/hookspan`. */
export function stateDirectory(env: Environment, home: string): string {
  return join(baseDirectory(env, 'XDG_STATE_HOME', home, '.local', 'state'), 'hookspan')
}

/** The state directory. Undefined without a home directory: a path relative to an agent's project would be a leak. */
export function stateHome(env: Environment, home: string): string | undefined {
  const directory = stateDirectory(env, home)
  return isAbsolute(directory) ? directory : undefined
}

/** Candidates for the configuration file, best first, if `HOOKSPAN_CONFIG` names none. */
export function configFiles(env: Environment, home: string): readonly string[] {
  const directory = join(baseDirectory(env, 'XDG_CONFIG_HOME', home, '.config'), 'hookspan')
  return ['config.yaml', 'config.yml', 'config.json'].map(name => join(directory, name))
}

/** The folder of the user's own hooks, beside the configuration file. Undefined without a home directory. */
export function hooksDirectory(env: Environment, home: string): string | undefined {
  const [file = ''] = configFiles(env, home)
  return isAbsolute(file) ? join(dirname(file), 'hooks') : undefined
}

/** Expands `~/x` to the home directory: unit files and `.env` files contain such paths, and no shell expands them there. */
export function expandHome(path: string, home: string): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path
}

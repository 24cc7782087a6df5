import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'

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

export function stateDirectory(env: Environment, home: string): string {
  return join(baseDirectory(env, 'XDG_STATE_HOME', home, '.local', 'state'), 'hookspan')
}

/** The state directory. Undefined without a home directory: a path relative to an agent's project would be a leak. */
export function stateHome(env: Environment, home: string): string | undefined {
  const directory = stateDirectory(env, home)
  return isAbsolute(directory) ? directory : undefined
}

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
  const isHome = path === '~' || path.startsWith('~/') || (process.platform === 'win32' && path.startsWith('~\\'))
  return isHome ? join(home, path.slice(1)) : path
}

/**
 * The files of a user's receiver that clients need: files 0600, directories 0700. `receiver.py` of the integrations has the
 * same paths in Python.
 */
export type ReceiverPlace = Readonly<Record<'directory' | 'token' | 'address' | 'pid' | 'spool' | 'starting', string>>

export function receiverPlace(stateHome: string): ReceiverPlace {
  const directory = join(stateHome, 'receiver')
  return {
    directory,
    token: join(directory, 'token'),
    address: join(directory, 'address.json'),
    // The receiver's process id on one line, for shell scripts that check whether the process is alive.
    pid: join(directory, 'pid'),
    spool: join(directory, 'spool'),
    // Its modification time is that of the last attempt to start a receiver.
    starting: join(directory, 'starting'),
  }
}

/** The format of our tokens. Other content was not written by hookspan. */
export const TOKEN: RegExp = /^[0-9a-f]{64}$/

/** Limits the spool: an agent whose user has removed hookspan must not fill the disk. */
export const SPOOL_LIMITS = { files: 10_000, bytes: 67_108_864 } as const

/** A file of the spool. Each line is a number of events that were dropped for lack of room. */
export const DROPPED = 'dropped'

/** The reason of a fail-closed decision, of the receiver, and of its client if none answers. */
export const FAIL_CLOSED_REASON =
  'hookspan could not ask the hooks that guard this agent, which is set up to do nothing then.'

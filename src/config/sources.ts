import { homedir } from 'node:os'
import { isKeyName, KEY_NAMES, type KeyName, variableOf } from './keys.ts'
import type { ConfigFile } from './load.ts'
import { nearestName } from './nearest.ts'
import { type Environment, variable } from './paths.ts'
import { emptyMap, isPlainMap, type Plain, type PlainMap, plainCopy } from './plain.ts'
import { type Problems, showName } from './problems.ts'
import { refuse } from './reading.ts'
import type { ConfigSource } from './types.ts'

/** `ConfigInput`, checked and copied: nothing that follows can throw over it. */
export interface GivenInput {
  readonly code: Plain
  readonly env: Environment
  readonly home: string
  readonly hostName: string | undefined
}

/** One source of values. */
export interface Source {
  readonly from: ConfigSource['from']
  value(key: KeyName): Plain
  place(path: string): string
}

export function readInput(input: unknown): GivenInput {
  const part = (name: string): unknown => readProperty(input, name)
  const home = part('home')
  const hostName = part('hostName')
  return {
    code: plainCopy(part('code')),
    env: copyEnvironment(part('env') ?? process.env),
    home: typeof home === 'string' ? home : homeDirectory(),
    hostName: typeof hostName === 'string' && hostName.trim() !== '' ? hostName.trim() : undefined,
  }
}

function readProperty(holder: unknown, name: string): unknown {
  try {
    return typeof holder === 'object' && holder !== null ? (holder as Record<string, unknown>)[name] : undefined
  } catch {
    return undefined
  }
}

function copyEnvironment(env: unknown): Environment {
  const copy = emptyMap<string>()
  try {
    for (const name of Object.keys(env as object)) {
      const value = readProperty(env, name)
      if (typeof value === 'string') copy[name] = value
    }
  } catch {
    return copy
  }
  return copy
}

// It throws where the user has no entry in the password file.
function homeDirectory(): string {
  try {
    return homedir()
  } catch {
    return ''
  }
}

export function fileSource(file: ConfigFile): Source {
  return { from: 'file', value: key => file.values[key], place: path => file.place(path) }
}

export function environmentSource(env: Environment): Source {
  const place = (path: string): string => PREFIX + path.replace(/[.[].*$/s, '').toUpperCase()
  return { from: 'environment', value: key => variable(env, variableOf(key)), place }
}

export function codeSource(code: PlainMap): Source {
  return { from: 'code', value: key => code[key], place: () => 'options in code' }
}

/** The options given in code as a mapping, or a complaint. */
export function codeOptions(code: Plain, problems: Problems): PlainMap {
  if (isPlainMap(code)) return code
  if (code !== undefined) problems.add('error', 'options', refuse(code, 'a mapping of keys').reason, 'options in code')
  return emptyMap<Plain>()
}

/** Names that no key has, and that would otherwise be passed over in silence. */
export function warnAboutUnknownKeys(values: PlainMap, source: Source, problems: Problems): void {
  for (const name of Object.keys(values)) {
    if (isKeyName(name)) continue
    const outcome = (): string => {
      const meant = nearestKey(name)
      return meant === undefined ? 'ignoring it' : `did you mean ${meant}?`
    }
    problems.add('warning', showName(name), 'there is no such key', source.place(name), outcome)
  }
}

/** Only those that look like a slip: other parts of the program, and other programs, have variables of their own. */
export function warnAboutVariables(env: Environment, problems: Problems): void {
  for (const name of Object.keys(env)) {
    if (!name.startsWith(PREFIX) || KNOWN_VARIABLES.has(name)) continue
    const meant = nearestKey(name.slice(PREFIX.length))
    if (!meant) continue
    const outcome = `did you mean ${PREFIX}${meant.toUpperCase()}?`
    problems.add('warning', name, 'there is no such variable', 'environment', outcome)
  }
}

/** Keys that have got another name, of which it cannot be guessed. */
const RENAMED: ReadonlyMap<string, KeyName> = new Map([['delegation', 'parent']])

function nearestKey(name: string): string | undefined {
  return RENAMED.get(name.toLowerCase()) ?? nearestName(name, KEY_NAMES)
}

const PREFIX = 'HOOKSPAN_'
const KNOWN_VARIABLES: ReadonlySet<string> = new Set(['HOOKSPAN_CONFIG', ...KEY_NAMES.map(variableOf)])

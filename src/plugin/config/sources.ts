import { isKeyName, KEY_NAMES, KEY_ROWS, type KeyName, variableOf } from './keys.ts'
import type { ConfigFile } from './load.ts'
import { nearestName } from './nearest.ts'
import { type Environment, homeDirectory, variable } from './paths.ts'
import { emptyMap, isBlank, isPlainMap, type Plain, type PlainMap, plainCopy, Unusable } from './plain.ts'
import { type Problems, refuse, showName } from './reading.ts'
import type { ConfigSource } from './types.ts'

/** A checked copy of `ConfigInput`: reading it cannot throw. */
export interface GivenInput {
  readonly code: Plain
  readonly env: Environment
  readonly home: string
  readonly hostName: string | undefined
}

export interface Source {
  readonly from: ConfigSource['from']
  value(key: KeyName): Plain
  place(path: string): string
  readonly slips?: ReadonlySet<string>
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

export function fileSource(file: ConfigFile): Source {
  const source: Source = { from: 'file', value: key => file.values[key], place: path => file.place(path) }
  return withSlips(source, Object.keys(file.values))
}

export function environmentSource(env: Environment): Source {
  const place = (path: string): string => PREFIX + path.replace(/[.[].*$/s, '').toUpperCase()
  const source: Source = { from: 'environment', value: key => variable(env, variableOf(key)), place }
  return withSlips(source, unknownVariables(env).map(withoutPrefix))
}

export function codeSource(code: PlainMap): Source {
  const source: Source = { from: 'code', value: key => code[key], place: () => 'options in code' }
  return withSlips(source, Object.keys(code))
}

/** A misspelt privacy key must not leave privacy open: the key counts as set to an unusable value. */
function withSlips(source: Source, names: readonly string[]): Source {
  const slips = new Map<string, string>()
  for (const name of names) {
    const key = isKeyName(name) ? undefined : meantKey(name)
    const isOpen = key !== undefined && KEY_ROWS[key].closed !== undefined && isBlank(source.value(key))
    if (isOpen && !slips.has(key)) slips.set(key, name)
  }
  if (slips.size === 0) return source
  const reason = (name: string): string => `perhaps meant by ${showName(name)}, which is no key`
  return {
    ...source,
    value(key) {
      const slip = slips.get(key)
      return slip === undefined ? source.value(key) : new Unusable('', reason(slip))
    },
    place: path => source.place(slips.get(path) ?? path),
    slips: new Set(slips.values()),
  }
}

/** The key that a name was probably meant for. Privacy keys also match other words (`capture_content`). */
function meantKey(name: string): KeyName | undefined {
  const near = nearestName(name, KEY_NAMES) as KeyName | undefined
  const words = name.toLowerCase()
  return near ?? (words.includes('content') && words.includes('capture') ? 'content_capture' : undefined)
}

export function codeOptions(code: Plain, problems: Problems): PlainMap {
  if (isPlainMap(code)) return code
  if (code !== undefined) problems.add('error', 'options', refuse(code, 'a mapping of keys').reason, 'options in code')
  return emptyMap<Plain>()
}

export function warnAboutUnknownKeys(values: PlainMap, source: Source, problems: Problems): void {
  for (const name of Object.keys(values)) {
    if (isKeyName(name) || source.slips?.has(name)) continue
    const outcome = (): string => {
      const meant = nearestKey(name)
      return meant === undefined ? 'ignoring it' : `did you mean ${meant}?`
    }
    problems.add('warning', showName(name), 'there is no such key', source.place(name), outcome)
  }
}

/** Warns only about likely misspellings: other parts of the program, and other programs, have variables of their own. */
export function warnAboutVariables(env: Environment, source: Source, problems: Problems): void {
  for (const name of unknownVariables(env)) {
    const meant = nearestKey(withoutPrefix(name))
    if (!meant || source.slips?.has(withoutPrefix(name))) continue
    const outcome = `did you mean ${PREFIX}${meant.toUpperCase()}?`
    problems.add('warning', name, 'there is no such variable', 'environment', outcome)
  }
}

function unknownVariables(env: Environment): string[] {
  return Object.keys(env).filter(name => name.startsWith(PREFIX) && !KNOWN_VARIABLES.has(name))
}

function withoutPrefix(name: string): string {
  return name.slice(PREFIX.length).toLowerCase()
}

/** Renamed keys with old names from which the new ones cannot be guessed. */
const RENAMED: ReadonlyMap<string, KeyName> = new Map([['delegation', 'parent']])

function nearestKey(name: string): string | undefined {
  return RENAMED.get(name.toLowerCase()) ?? nearestName(name, KEY_NAMES)
}

const PREFIX = 'HOOKSPAN_'
const KNOWN_VARIABLES: ReadonlySet<string> = new Set(['HOOKSPAN_CONFIG', ...KEY_NAMES.map(variableOf)])

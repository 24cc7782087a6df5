import { readFileSync, statSync } from 'node:fs'
import { basename, isAbsolute } from 'node:path'
import { BACKEND_FIELDS, isShownField } from './backends.ts'
import { configFiles, type Environment, expandHome, variable } from './paths.ts'
import { emptyMap, isPlainMap, type Plain, type PlainMap, Unusable } from './plain.ts'
import { type Problems, quote } from './reading.ts'
import { type ParsedText, parseYaml, type TextFault } from './yaml-text.ts'

export interface ConfigFile {
  readonly path: string
  readonly values: PlainMap
  /** The location of a value: `config.yaml line 7`. A part without a line of its own has the line of its parent. */
  place(path: string): string
}

/** A file that exists and cannot be used. It may contain any setting. */
export interface BrokenFile {
  readonly path?: undefined
  readonly key: string
  readonly fault: string
  readonly place?: string | undefined
}

const MAX_BYTES = 1_048_576

/**
 * Reads `HOOKSPAN_CONFIG`, or else the first of `configFiles`. Never reads the working directory: agents often start in a
 * repository written by someone other than the user.
 */
export function loadConfigFile(
  env: Environment,
  home: string,
  problems: Problems,
): ConfigFile | BrokenFile | undefined {
  const path = findFile(env, home, problems)
  if (typeof path !== 'string') return path
  const parsed = readFile(path)
  if ('fault' in parsed) {
    const { fault, line, column } = parsed
    return { key: path, fault, place: line === undefined ? undefined : `line ${line}, column ${column}` }
  }
  warnAboutMode(path, parsed.values, problems)
  const place = (inside: string): string => `${basename(path)} line ${lineOf(parsed.lines, inside)}`
  return { path, values: expandVariables(parsed.values, env) as PlainMap, place }
}

function findFile(env: Environment, home: string, problems: Problems): string | BrokenFile | undefined {
  const named = variable(env, 'HOOKSPAN_CONFIG')
  if (named !== undefined) return namedFile(expandHome(named, home))
  // Without a home directory, the default would be a relative path.
  const found = configFiles(env, home).filter(path => isAbsolute(path) && mayBeThere(path))
  for (const unused of found.slice(1)) problems.add('warning', unused, `not read, because ${found[0]} is there`)
  return found[0]
}

function namedFile(path: string): string | BrokenFile | undefined {
  if (path === '/dev/null') return undefined
  const relative = !isAbsolute(path)
  if (!relative && mayBeThere(path)) return path
  const fault = relative ? `expected an absolute path, got ${quote(path)}` : 'it names a file that is not there'
  return { key: 'HOOKSPAN_CONFIG', fault, place: 'environment' }
}

/** False only if the system reports the file as absent. If access is denied, the file may exist. */
function mayBeThere(path: string): boolean {
  try {
    statSync(path)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code !== 'ENOENT' && code !== 'ENOTDIR'
  }
}

function readFile(path: string): ParsedText | TextFault {
  try {
    const stats = statSync(path)
    // Reading a pipe or a device would block the host until data arrives.
    if (!stats.isFile()) return { fault: 'it is not a file' }
    return stats.size > MAX_BYTES ? { fault: 'it is larger than 1 MiB' } : parseYaml(readFileSync(path, 'utf8'))
  } catch (error) {
    return { fault: `it cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}` }
  }
}

function lineOf(lines: ReadonlyMap<string, number>, path: string): number {
  let inside = path
  while (inside !== '') {
    const line = lines.get(inside)
    if (line !== undefined) return line
    inside = inside.slice(0, Math.max(0, inside.lastIndexOf('.'), inside.lastIndexOf('[')))
  }
  return 1
}

function warnAboutMode(path: string, values: PlainMap, problems: Problems): void {
  if (process.platform === 'win32') return
  let mode = 0
  try {
    mode = statSync(path).mode
  } catch {
    // It may be gone, or not readable any more.
  }
  if ((mode & 0o002) !== 0) problems.add('warning', path, 'anybody can write to it', undefined, 'chmod 600 it')
  const backends = [values['backends'] as Plain | Plain[]].flat()
  const holdsSecret = backends.some(each => isPlainMap(each) && Object.entries(each).some(isSecretField))
  if ((mode & 0o044) === 0 || !holdsSecret) return
  const remedy = 'chmod 600 it, or name environment variables instead (fields that end in _env)'
  problems.add('warning', path, 'it holds secrets, and others can read it', undefined, remedy)
}

function isSecretField([name, value]: readonly [string, Plain]): boolean {
  if (typeof value === 'string' && /^https?:\/\/[^/]*@/i.test(value)) return isLiteralText(value)
  if (name === 'headers') return isPlainMap(value) ? Object.values(value).some(isLiteralText) : isLiteralText(value)
  return !Object.hasOwn(BACKEND_FIELDS, name) && !name.endsWith('_env') && !isShownField(name) && isLiteralText(value)
}

/** True if the file contains the secret itself, not a reference to a variable. */
function isLiteralText(value: Plain): boolean {
  return typeof value === 'string' && value.trim() !== '' && !/(^|[^$])\$\{/.test(value)
}

// `$${` stands for a literal `${`.
const REFERENCE = /\$\$\{|\$\{([^}]*)\}?/g
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

function expandVariables(value: Plain, env: Environment): Plain {
  if (typeof value === 'string') return expandText(value, env)
  if (Array.isArray(value)) return value.map(element => expandVariables(element, env))
  if (!isPlainMap(value)) return value
  const expanded = emptyMap<Plain>()
  for (const [name, entry] of Object.entries(value)) expanded[name] = expandVariables(entry, env)
  return expanded
}

function expandText(text: string, env: Environment): string | Unusable {
  let fault: Unusable | undefined
  const expanded = text.replace(REFERENCE, (reference: string, inside: string | undefined) => {
    if (inside === undefined) return '${'
    const found = look(inside, reference, env)
    if (typeof found === 'string') return found
    fault ??= found
    return ''
  })
  return fault ?? expanded
}

function look(inside: string, reference: string, env: Environment): string | Unusable {
  const [, name, fallback] = reference.endsWith('}') ? (NAME.exec(inside) ?? []) : []
  // The text between the braces is not shown: it may be a secret.
  if (name === undefined) return new Unusable('text', 'it holds a "${" that no name of a variable follows')
  const held = env[name]
  // `:-` also replaces an empty value, as in a shell.
  if (fallback !== undefined) return held === undefined || held === '' ? fallback : held
  return held ?? new Unusable('text', `the variable ${name} is not set`)
}

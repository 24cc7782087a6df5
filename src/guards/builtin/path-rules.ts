import { existsSync } from 'node:fs'
import { isAbsolute, normalize, resolve } from 'node:path'
import { oneLine } from '../../content/one-line.ts'
import { foldersIn, type ToolKind } from '../tool-call.ts'
import { type Allowed, checkKeys, listOf } from './options.ts'
import { canonicalPath, isInside } from './places.ts'
import { invalidRule, NON_EMPTY, type RuleCheck, type RuleViolation } from './rules.ts'
import type { ShellCommand, ShellReading } from './shell-commands.ts'

const FOR = ['read', 'edit', 'write', 'shell'] as const

/** Rules for the files that tools may use. */
export interface PathRules {
  /** Files must be in one of these folders. */
  readonly inside?: readonly string[] | undefined
  /** Files must not be any of these files, nor in any of these folders. */
  readonly outside?: readonly string[] | undefined
  /**
   * The kinds of tools that the rule applies to. `read` includes search; a tool of unknown kind is always checked. Default:
   * all.
   */
  readonly for?: readonly (typeof FOR)[number][] | undefined
  /** The base of relative paths if the agent does not report the working folder. Default: such paths are undecidable. */
  readonly cwd?: string | undefined
}

const ABSOLUTE: Allowed = { means: 'an absolute path', is: value => typeof value === 'string' && isAbsolute(value) }

interface Folders {
  readonly inside: readonly string[] | undefined
  readonly outside: readonly string[]
}

type PathStatus = 'fine' | 'wrong' | 'unknown'

export function pathCheck(rules: PathRules): RuleCheck {
  checkKeys('guardrails: paths', rules, { inside: NON_EMPTY, outside: NON_EMPTY, for: listOf(FOR), cwd: ABSOLUTE })
  if (rules.inside === undefined && rules.outside === undefined) throw invalidRule('paths has no rule: inside, outside')
  const base = rules.cwd ?? process.cwd()
  resolveFolders(rules, base)
  return (tool, reading) => {
    if (!appliesTo(rules.for ?? FOR, tool.kind)) return []
    const folders = resolveFolders(rules, base)
    // The folders named in the arguments of a shell, the most likely one last. The tool may ignore an argument that it does not
    // know, so it may work in any of them, or in the agent's folder.
    const moves = tool.kind === 'shell' ? [...foldersIn(tool.arguments)].reverse() : []
    const own = moves.length > 0 ? tool.agentCwd : tool.cwd
    const from = [own, rules.cwd].find(each => each !== undefined && isAbsolute(each))
    const cwds = [from, ...moves.flatMap(folder => resolvePaths(folder, from))]
    const named = [...tool.paths, ...(/^file:/i.test(tool.url ?? '') ? [tool.url as string] : [])]
    const judgePath = (path: string, begins: Cwds): RuleViolation[] =>
      violationsOf(pathStatus(path, begins, folders, tool.kind === 'search'), `the path ${oneLine(path)}`, rules)
    return [
      ...moves.flatMap(folder => judgePath(folder, [from])),
      ...named.flatMap(path => (moves.includes(path) ? [] : judgePath(path, cwds))),
      ...(reading === undefined ? [] : shellViolations(reading, cwds, folders, rules)),
    ]
  }
}

type Cwds = readonly (string | undefined)[]

function appliesTo(kinds: readonly ToolKind[], kind: ToolKind): boolean {
  if (kind === 'shell' || kind === 'read' || kind === 'edit' || kind === 'write') return kinds.includes(kind)
  return kind === 'search' ? kinds.includes('read') : kinds.some(each => each !== 'shell')
}

/** Resolved for each call: a link on the way may have changed. */
function resolveFolders(rules: PathRules, base: string): Folders {
  const canonical = (folder: unknown): string => {
    const path = typeof folder === 'string' ? canonicalPath(folder, base) : undefined
    if (path === undefined) throw invalidRule(`paths has a folder that cannot be found by its text: ${String(folder)}`)
    return path
  }
  return { inside: rules.inside?.map(canonical), outside: (rules.outside ?? []).map(canonical) }
}

function violationsOf(place: PathStatus, what: string, rules: PathRules): RuleViolation[] {
  const where = rules.inside === undefined ? '' : ` Folders that are open: ${rules.inside.join(', ')}`
  if (place === 'fine') return []
  if (place === 'wrong') {
    const reason = `A file that it names lies where nothing may be read or changed.${where}`
    return [{ decision: 'block', reason, detail: `Not allowed by paths: ${what}.` }]
  }
  const reason = `It is not certain which files it names: write plain and full paths.${where}`
  return [{ decision: 'unknown', reason, detail: `It is not certain which file it is: ${what}.` }]
}

function pathStatus(path: string, cwds: Cwds, folders: Folders, reaches: boolean): PathStatus {
  const places = (some: Cwds): Cwds => some.flatMap(cwd => resolvePaths(path, cwd))
  const last = places(cwds.slice(-1))
  if (last.some(each => each !== undefined && isWrong(each, folders))) return 'wrong'
  const all = [...places(cwds.slice(0, -1)), ...last]
  const known = all.filter(each => each !== undefined)
  if (known.some(each => isWrong(each, folders))) return 'unknown'
  if (known.length < all.length) return 'unknown'
  const isAbove = folders.outside.some(folder => known.some(each => isInside(folder, each)))
  return reaches && isAbove ? 'unknown' : 'fine'
}

function resolvePaths(path: string, cwd: string | undefined): Cwds {
  const hasParents = path.includes('..') && !/^file:/i.test(path)
  const isPlain = cwd !== undefined && !/^[~$]/.test(path)
  // Both readings of `..`: the system follows a link before it goes up, while many tools remove `x/..` textually first.
  const readings = hasParents ? [path, isPlain ? resolve(cwd, path) : normalize(path)] : [path]
  return readings.map(each => canonicalPath(each, cwd))
}

function isWrong(path: string, { inside, outside }: Folders): boolean {
  if (outside.some(folder => isInside(path, folder))) return true
  return inside !== undefined && !inside.some(folder => isInside(path, folder))
}

const NAMES_NO_FILES = new Set(
  'echo printf true false : exit return kill sleep wait export local declare typeset readonly unset shift type which test ['.split(
    ' ',
  ),
)
const STREAMS = /^\/dev\/(?:null|stdin|stdout|stderr|tty|zero|u?random|fd\/\d+)$/
const MAX_CWDS = 8

function shellViolations(reading: ShellReading, from: Cwds, folders: Folders, rules: PathRules): RuleViolation[] {
  const findings: RuleViolation[] = []
  let cwds = from
  for (const command of reading.commands) {
    const called = /^[\w.+-]{1,40}$/.test(command.name) ? command.name : 'a command'
    for (const place of commandStatuses(command, cwds, folders))
      findings.push(...violationsOf(place, `an argument of ${called}`, rules))
    cwds = cwdsAfter(command, cwds)
  }
  return findings
}

function commandStatuses(command: ShellCommand, cwds: Cwds, folders: Folders): PathStatus[] {
  const targets = command.redirects.filter(each => each === undefined || !STREAMS.test(each))
  const written = targets.map(each => (each === undefined ? 'unknown' : pathStatus(each, cwds, folders, false)))
  if (NAMES_NO_FILES.has(command.name)) return written
  const named = command.args.flatMap(arg => (arg === undefined ? [] : pathsIn(arg)))
  const hasMore = command.args.filter(arg => arg === undefined).length > command.globs.length
  return [
    ...written,
    ...named.flatMap(path => (isNoFile(path, folders) ? [] : [pathStatus(path, cwdsFor(path, cwds), folders, true)])),
    ...command.globs.map(glob => globStatus(glob, cwds, folders)),
    ...(hasMore ? ['unknown' as const] : []),
  ]
}

const SCHEME = /^(?!file:)[a-z][a-z\d+.-]+:\/\//i
const MAX_PATH = 4096

/** The parts of an argument that may name a file: `x`, `--file=x`, `-ox`, `if=x`, `@x`, `x:y`. */
function pathsIn(arg: string): string[] {
  if (arg === '' || arg.length > MAX_PATH || arg.includes('\n') || SCHEME.test(arg)) return []
  if (arg.startsWith('$')) return [`./${arg}`]
  const attached = /^-[A-Za-z]([/~.].*)$/.exec(arg)?.[1] ?? /^[^=/]*=(.+)$/.exec(arg)?.[1] ?? /^@(.+)$/.exec(arg)?.[1]
  const listed = /^([/~.][^:]*):/.exec(arg)?.[1]
  const all = [arg.startsWith('-') ? undefined : arg, attached, listed]
  return all.filter(each => each !== undefined && each !== '' && !SCHEME.test(each)) as string[]
}

/**
 * True for streams and for words like `/api` (`grep /api src`), whose top-level entry does not exist. Blocked paths still
 * count.
 */
function isNoFile(path: string, folders: Folders): boolean {
  if (STREAMS.test(path)) return true
  const top = /^\/[^/]+/.exec(path)?.[0]
  return top !== undefined && !existsSync(top) && !folders.outside.some(folder => isInside(path, folder))
}

function globStatus(glob: string, cwds: Cwds, folders: Folders): PathStatus {
  const before = glob.slice(0, glob.indexOf('*'))
  const folder = before.slice(0, before.lastIndexOf('/') + 1)
  const rest = glob.slice(folder.length)
  // `.*` also matches `..`.
  if (/(?:^|\/)(?:\.\.(?:\/|$)|\.\*)/.test(rest)) return 'unknown'
  return pathStatus(folder === '' ? '.' : folder, cwdsFor(folder, cwds), folders, true)
}

/**
 * Most words are not files. A word without a slash is in the folder itself, so an unknown folder is no reason to ask about it.
 */
function cwdsFor(path: string, cwds: Cwds): Cwds {
  return /^[~.]|\//.test(path) ? cwds : cwds.filter(cwd => cwd !== undefined)
}

/**
 * The folders in which the next command may run. A `cd` may have failed or run in a subshell, so the old ones stay possible.
 */
function cwdsAfter(command: ShellCommand, cwds: Cwds): Cwds {
  if (!/^(?:cd|pushd|popd|chdir)$/.test(command.name)) return cwds
  const target =
    command.args.length === 0 ? '~' : command.args.find(arg => arg === undefined || !/^-[A-Za-z]/.test(arg))
  if (command.name === 'popd' || target === undefined || target === '-' || /^[+-]\d/.test(target))
    return [...cwds, undefined]
  const next = cwds.flatMap(cwd => resolvePaths(target, cwd))
  const all = [...new Set([...cwds, ...next])]
  return all.length > MAX_CWDS ? [undefined] : all
}

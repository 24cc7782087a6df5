import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { posix, win32 } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ignoreErrors } from '../../contract/foreign.ts'

export interface PathFileSystem {
  readonly readlink: (path: string) => string | undefined
  /** The path as stored by the file system, with its letter case and long names. */
  readonly realpath: (path: string) => string | undefined
}

export interface CanonicalPathOptions {
  readonly home?: string | undefined
  readonly files?: PathFileSystem | undefined
  readonly platform?: NodeJS.Platform | undefined
}

const HOME = /^(?:~|\$HOME|\$\{HOME\})(?=[/\\]|$)/
const FOREIGN = /^[~$]/
const FILE_URL = /^file:/i
const SCHEME = /^[a-z][a-z\d+.-]+:\/\//i
/** Characters. No system opens a longer path. */
const LONGEST = 8192
const MAX_LINKS = 40

/**
 * The canonical path of a file: absolute, with links resolved (also links to missing targets), in one Unicode form. Undefined
 * if the file is ambiguous: the home of another user, a relative path without `cwd`, a URL, or not a path.
 *
 * Hard links, and links created between this check and the use of the file, are not detected.
 */
export function canonicalPath(
  path: string,
  cwd: string | undefined,
  options: CanonicalPathOptions = { home: homedir() },
): string | undefined {
  const rules = (options.platform ?? process.platform) === 'win32' ? win32 : posix
  const full = absolute(path, cwd, options.home, rules)
  return full === undefined ? undefined : resolved(full, rules, options.files ?? REAL_FILE_SYSTEM)?.normalize('NFC')
}

function absolute(path: string, cwd: string | undefined, home: string | undefined, rules: Rules) {
  const isPath = path !== '' && path.length <= LONGEST && (FILE_URL.test(path) || !SCHEME.test(path))
  const fromUrl = (): string => fileURLToPath(path, { windows: rules === win32 })
  const named = isPath && FILE_URL.test(path) ? ignoreErrors(fromUrl) : path
  if (!isPath || named === undefined || named.includes('\0')) return undefined
  const mark = HOME.exec(named)?.[0]
  if (mark === undefined && FOREIGN.test(named)) return undefined
  const full = mark === undefined ? named : home === undefined ? undefined : home + named.slice(mark.length)
  if (full === undefined || rules.isAbsolute(full)) return full
  // `C:x` is relative to the unknown working directory of that drive.
  const isOfDrive = rules === win32 && /^[a-z]:/i.test(full)
  return mark === undefined && cwd !== undefined && rules.isAbsolute(cwd) && !isOfDrive
    ? `${cwd}${rules.sep}${full}`
    : undefined
}

const REAL_FILE_SYSTEM: PathFileSystem = {
  readlink: path =>
    ignoreErrors(() => {
      const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
      return isLink ? readlinkSync(path) : undefined
    }),
  realpath: path => ignoreErrors(() => realpathSync.native(path)),
}

type Rules = typeof posix

function segmentsOf(path: string, rules: Rules): string[] {
  return path.split(rules === win32 ? /[\\/]/ : '/').filter(segment => segment !== '' && segment !== '.')
}

/** Resolves segment by segment: `..` after a link leads to the parent of the target. Undefined for a cycle of links. */
function resolved(path: string, rules: Rules, files: PathFileSystem): string | undefined {
  let { root } = rules.parse(path)
  let at: string[] = []
  const waiting = segmentsOf(path.slice(root.length), rules).reverse()
  let links = 0
  for (let segment = waiting.pop(); segment !== undefined; segment = waiting.pop()) {
    if (segment === '..') {
      at.pop()
      continue
    }
    at.push(segment)
    const target = files.readlink(root + at.join(rules.sep))
    if (target === undefined) continue
    if (++links > MAX_LINKS) return undefined
    at.pop()
    const base = rules.parse(target).root
    if (base !== '') {
      root = base
      at = []
    }
    waiting.push(...segmentsOf(target.slice(base.length), rules).reverse())
  }
  return inStoredForm(root, at, rules, files)
}

function inStoredForm(root: string, segments: readonly string[], rules: Rules, files: PathFileSystem): string {
  for (let end = segments.length; end > 0; end--) {
    const real = files.realpath(root + segments.slice(0, end).join(rules.sep))
    if (real !== undefined) return [real, ...segments.slice(end)].join(rules.sep)
  }
  return root + segments.join(rules.sep)
}

/** Returns true if a path is a folder or inside it. Both must be canonical; `platform` decides whether case matters. */
export function isInside(path: string, folder: string, platform: NodeJS.Platform = process.platform): boolean {
  const comparable = (each: string): string => {
    const form = platform === 'win32' ? each.normalize('NFC').replaceAll('\\', '/') : each.normalize('NFC')
    const cased = platform === 'darwin' || platform === 'win32' ? form.toLowerCase() : form
    return cased.endsWith('/') ? cased : `${cased}/`
  }
  return comparable(path).startsWith(comparable(folder))
}

import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { posix, win32 } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What is asked of the file system; undefined where nothing is, or nothing can be seen. */
export interface PlaceFiles {
  /** Where a link leads, as it says it; undefined for anything else. */
  readonly readlink: (path: string) => string | undefined
  /** As the file system writes it: in the right case, with long names. */
  readonly realpath: (path: string) => string | undefined
}

export interface PlaceOptions {
  /** Home directory of the person. */
  readonly home: string | undefined
  /** Default: the machine's. */
  readonly files?: PlaceFiles | undefined
  /** Default: this one. */
  readonly platform?: NodeJS.Platform | undefined
}

const HOME = /^(?:~|\$HOME|\$\{HOME\})(?=[/\\]|$)/
/** `~user`, `~+`, other variables. */
const FOREIGN = /^[~$]/
const FILE_URL = /^file:/i
const SCHEME = /^[a-z][a-z\d+.-]+:\/\//i
/** Characters; no system opens a longer one. */
const LONGEST = 8192
const MOST_LINKS = 40

/**
 * The one path by which a file is known: absolute, links resolved, also those that lead to what does not exist yet, in one
 * Unicode form. Undefined where the text does not say which file it is: another person's home, a relative path without `cwd`,
 * an address, no path at all.
 *
 * A link that is made between this answer and the use of the file, and hard links, are not seen.
 */
export function canonicalPath(path: string, cwd: string | undefined, options: PlaceOptions): string | undefined {
  const platform = options.platform ?? process.platform
  const rules = platform === 'win32' ? win32 : posix
  const full = absolute(path, cwd, options.home, platform)
  return full === undefined ? undefined : resolved(full, rules, options.files ?? MACHINE)?.normalize('NFC')
}

function absolute(
  path: string,
  cwd: string | undefined,
  home: string | undefined,
  platform: NodeJS.Platform,
): string | undefined {
  const rules = platform === 'win32' ? win32 : posix
  const isPath = path !== '' && path.length <= LONGEST && (FILE_URL.test(path) || !SCHEME.test(path))
  const named = isPath && FILE_URL.test(path) ? fromFileUrl(path, platform) : path
  if (!isPath || named === undefined || named.includes('\0')) return undefined
  const mark = HOME.exec(named)?.[0]
  if (mark === undefined && FOREIGN.test(named)) return undefined
  const full = mark === undefined ? named : home === undefined ? undefined : home + named.slice(mark.length)
  if (full === undefined || rules.isAbsolute(full)) return full
  // `C:x` is relative to the working directory of that drive, which is not known.
  const isOfDrive = platform === 'win32' && /^[a-z]:/i.test(full)
  return mark === undefined && cwd !== undefined && rules.isAbsolute(cwd) && !isOfDrive
    ? `${cwd}${rules.sep}${full}`
    : undefined
}

function fromFileUrl(url: string, platform: NodeJS.Platform): string | undefined {
  try {
    return fileURLToPath(url, { windows: platform === 'win32' })
  } catch {
    return undefined
  }
}

const MACHINE: PlaceFiles = {
  readlink(path) {
    try {
      const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
      return isLink ? readlinkSync(path) : undefined
    } catch {
      return undefined
    }
  },
  realpath(path) {
    try {
      return realpathSync.native(path)
    } catch {
      return undefined
    }
  },
}

type Rules = typeof posix

function segmentsOf(path: string, rules: Rules): string[] {
  return path.split(rules === win32 ? /[\\/]/ : '/').filter(segment => segment !== '' && segment !== '.')
}

/** Segment by segment: `..` behind a link leads to the parent of what it points to. Undefined for links in a circle. */
function resolved(path: string, rules: Rules, files: PlaceFiles): string | undefined {
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
    if (++links > MOST_LINKS) return undefined
    at.pop()
    const base = rules.parse(target).root
    if (base !== '') {
      root = base
      at = []
    }
    waiting.push(...segmentsOf(target.slice(base.length), rules).reverse())
  }
  return asWritten(root, at, rules, files)
}

/** The part of a path that exists, as the file system writes it, and the rest. */
function asWritten(root: string, segments: readonly string[], rules: Rules, files: PlaceFiles): string {
  for (let end = segments.length; end > 0; end--) {
    const real = files.realpath(root + segments.slice(0, end).join(rules.sep))
    if (real !== undefined) return [real, ...segments.slice(end)].join(rules.sep)
  }
  return root + segments.join(rules.sep)
}

/** Whether a path is a folder or lies in it. Both are canonical; `platform` says whether the case of letters counts. */
export function isInside(path: string, folder: string, platform: NodeJS.Platform = process.platform): boolean {
  const comparable = (each: string): string => {
    const form = platform === 'win32' ? each.normalize('NFC').replaceAll('\\', '/') : each.normalize('NFC')
    const cased = platform === 'darwin' || platform === 'win32' ? form.toLowerCase() : form
    return cased.endsWith('/') ? cased : `${cased}/`
  }
  return comparable(path).startsWith(comparable(folder))
}

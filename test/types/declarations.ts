import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'

/** Where a name is declared. */
export interface Place {
  readonly file: string
  readonly name: string
}

const DECLARATION = /^(?:export )?(?:declare )?(?:default )?(?:interface|type|const|function|class) (\w+)/
const COMMENT = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/

/** Reads the `.d.ts` files of a build. They are the compiler's, so their form is regular: one statement begins at a line's start. */
export class Declarations {
  readonly #root: URL
  readonly #texts = new Map<string, string>()

  constructor(root: URL) {
    this.#root = root
  }

  /** Name → where it is declared, of all that a file exports; what comes of other packages is left out. */
  exported(file: string): Map<string, Place> {
    const text = this.#text(file)
    const found = new Map<string, Place>()
    for (const [, name = ''] of text.matchAll(
      /^export (?:declare )?(?:default )?(?:interface|type|const|function|class) (\w+)/gm,
    )) {
      found.set(name, { file, name })
    }
    for (const [, names = '', from = ''] of text.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)'/gm)) {
      const there = this.exported(resolve(file, from))
      for (const name of listed(names)) found.set(name, there.get(name) ?? { file: resolve(file, from), name })
    }
    for (const [, from = ''] of text.matchAll(/^export (?:type )?\* from '([^']+)'/gm)) {
      for (const [name, place] of this.exported(resolve(file, from))) found.set(name, place)
    }
    return found
  }

  /** Types of ours that a declaration names. */
  mentions({ file, name }: Place): string[] {
    const text = this.#text(file)
    const body = this.#statement(file, name)
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .replace(/'[^']*'/g, '')
    const imported = [...text.matchAll(/^import (?:type )?\{([^}]*)\} from '(\.[^']+)'/gm)].flatMap(([, names = '']) =>
      listed(names),
    )
    const local = text.split('\n').flatMap(line => DECLARATION.exec(line)?.[1] ?? [])
    const own = new Set([...imported, ...local])
    own.delete(name)
    return [...own].filter(each => new RegExp(`\\b${each}\\b`).test(body)).filter(each => /^[A-Z]/.test(each))
  }

  /** `''` for the declaration itself, `.member` for a member of its own, where there is no doc comment. */
  undocumented({ file, name }: Place): string[] {
    const statement = this.#statement(file, name)
    const before = this.#text(file).slice(0, this.#text(file).indexOf(statement))
    const silent = COMMENT.test(before) ? [] : ['']
    if (!/^export interface /.test(statement)) return silent
    return [...silent, ...members(statement).flatMap(([member, doc]) => (doc === '' ? [`.${member}`] : []))]
  }

  /** The doc comment of a member, without its stars. */
  docOf({ file, name }: Place, member: string): string {
    return members(this.#statement(file, name)).find(([found]) => found === member)?.[1] ?? ''
  }

  #statement(file: string, name: string): string {
    const lines = this.#text(file).split('\n')
    const start = lines.findIndex(line => DECLARATION.exec(line)?.[1] === name)
    if (start < 0) return ''
    const end = lines.findIndex((line, at) => at > start && /^(\S(?<![}|)])|\/\*\*)/.test(line))
    return lines.slice(start, end < 0 ? undefined : end).join('\n')
  }

  #text(file: string): string {
    const known = this.#texts.get(file)
    if (known !== undefined) return known
    const url = new URL(file, this.#root)
    const text = existsSync(url) ? readFileSync(url, 'utf8') : ''
    this.#texts.set(file, text)
    return text
  }
}

/** The members of an interface with their doc comments; what is nested in a member is none. */
function members(statement: string): (readonly [string, string])[] {
  const pattern = /^ {4}(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {4})?(?:readonly )?'?([\w.]+|\[\w+)'?[?(<:]/gm
  const found = [...statement.matchAll(pattern)].map(([, doc = '', member = '']) => [member, plain(doc)] as const)
  // An overload is documented by the first of its name.
  return found.filter(([member], at) => found.findIndex(([other]) => other === member) === at)
}

function plain(comment: string): string {
  return comment.replace(/\s*\n\s*\*?\s*/g, ' ').trim()
}

function listed(names: string): string[] {
  return names
    .split(',')
    .map(name =>
      name
        .replace(/^\s*type /, '')
        .replace(/^.* as /, '')
        .trim(),
    )
    .filter(name => name !== '')
}

function resolve(from: string, specifier: string): string {
  return posix.normalize(posix.join(posix.dirname(from), specifier)).replace(/\.ts$/, '.d.ts')
}

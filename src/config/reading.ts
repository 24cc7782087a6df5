import type { Environment } from './paths.ts'
import { type Plain, Unusable } from './plain.ts'
import type { ConfigProblem } from './types.ts'

export type ProblemLevel = ConfigProblem['level']

const MAX_SHOWN = 40
/** Of each level: nobody reads more, and a file that is no configuration at all has tens of thousands. */
const MAX_PROBLEMS = 50

/** What is done about it; as a function where it costs something to find out, because most of too many are not shown. */
export type Outcome = string | undefined | (() => string | undefined)

/** Collects what is to be said, in the one form that all of it has. */
export class Problems {
  readonly #found = new Map<string, ConfigProblem>()
  readonly #count: Record<ProblemLevel, number> = { error: 0, warning: 0 }

  get found(): readonly ConfigProblem[] {
    return [...this.#found.values(), ...this.#notShown('error'), ...this.#notShown('warning')]
  }

  /** `place`: file and line, or variable. */
  add(level: ProblemLevel, key: string, text: string, place?: string, outcome?: Outcome): void {
    if (this.#count[level] >= MAX_PROBLEMS) {
      this.#count[level] += 1
      return
    }
    const done = typeof outcome === 'function' ? outcome() : outcome
    const message = `config: ${key}: ${text}${place ? ` (${place})` : ''}${done ? `; ${done}` : ''}`
    if (this.#found.has(message)) return
    this.#found.set(message, { level, key, message })
    this.#count[level] += 1
  }

  #notShown(level: ProblemLevel): ConfigProblem[] {
    const more = this.#count[level] - MAX_PROBLEMS
    if (more <= 0) return []
    return [{ level, key: 'more', message: `config: and ${more} more ${level}${more === 1 ? '' : 's'}` }]
  }
}

/** Somebody else's text inside a message: quoted, short, on one line. What holds an @ may hold credentials. */
export function quote(text: string): string {
  if (text.includes('@')) return 'other text'
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text)
}

// Words of letters with separators; or too short for a secret.
const SHOWN_NAME = /^(?=.{1,40}$)[._-]*[A-Za-z]{1,14}(?:[._-]+[A-Za-z]{1,14})*[._-]*$|^[A-Za-z0-9_.-]{1,11}$/

/**
 * A name out of somebody's configuration, as it may be shown. A missing space (`{api_key:sk-12}`) makes a secret part of
 * a name; secrets hold digits and other characters, or long runs of letters.
 */
export function showName(name: string): string {
  return SHOWN_NAME.test(name) ? name : '(a name that is not shown)'
}

/** `a, b or c` */
export function alternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** A value that can be used, or why not: `expected a number ≥ 0, got "soon"`. */
export type Reading<Value = unknown> = { readonly value: Value } | { readonly reason: string }

/** Where the value that is being read stands, and who hears about those parts of it that are left out. */
export interface Site {
  /** `backends[0].endpoint` */
  readonly path: string
  /** The same, as it may be shown. */
  readonly name: string
  readonly level: ProblemLevel
  readonly problems: Problems
  readonly env: Environment
  readonly home: string
  /** `config.yaml line 7`, a variable's name. */
  place(path: string): string
}

export function within(site: Site, key: string | number): Site {
  const [path, name] = typeof key === 'number' ? [`[${key}]`, `[${key}]`] : [`.${key}`, `.${showName(key)}`]
  return { ...site, path: site.path + path, name: site.name + name }
}

export function report(site: Site, text: string, outcome?: Outcome, level: ProblemLevel = site.level): void {
  site.problems.add(level, site.name, text, site.place(site.path), outcome)
}

/** `hidden`: it may be a secret, so only its kind is told. */
export function refuse(value: Plain, expected: string, hidden = false): { readonly reason: string } {
  if (value instanceof Unusable && value.reason !== undefined) return { reason: value.reason }
  return { reason: `expected ${expected}, got ${describe(value, hidden)}` }
}

function describe(value: Plain, hidden: boolean): string {
  if (value === undefined) return 'nothing'
  if (value instanceof Unusable) return value.what
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (hidden) return typeof value === 'string' ? 'other text' : `a ${typeof value}`
  return typeof value === 'string' ? quote(value) : String(value)
}

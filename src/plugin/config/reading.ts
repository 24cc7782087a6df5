import type { Environment } from './paths.ts'
import { type Plain, Unusable } from './plain.ts'

/** A problem of the configuration, for its author. `message` is one line and contains no secret. */
export interface ConfigProblem {
  /** `error`: a requested value is not used. `warning`: it is used, or the request was not addressed to hookspan. */
  readonly level: 'error' | 'warning'
  readonly key: string
  readonly message: string
}

export type ProblemLevel = ConfigProblem['level']

const MAX_SHOWN = 40
/** Limits the problems of each level: a file that is not a configuration at all would have tens of thousands. */
const MAX_PROBLEMS = 50

/** The consequence of a problem. A function if it is costly to compute, because most of too many problems are not shown. */
export type Consequence = string | undefined | (() => string | undefined)

export class Problems {
  readonly #found = new Map<string, ConfigProblem>()
  readonly #count: Record<ProblemLevel, number> = { error: 0, warning: 0 }

  get found(): readonly ConfigProblem[] {
    return [...this.#found.values(), ...this.#notShown('error'), ...this.#notShown('warning')]
  }

  add(level: ProblemLevel, key: string, text: string, place?: string, outcome?: Consequence): void {
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

/** Quotes user text for a message: short, on one line. Text with an @ is hidden, because it may contain credentials. */
export function quote(text: string): string {
  if (text.includes('@')) return 'other text'
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text)
}

const SHOWN_NAME = /^(?=.{1,40}$)[._-]*[A-Za-z]{1,14}(?:[._-]+[A-Za-z]{1,14})*[._-]*$|^[A-Za-z0-9_.-]{1,11}$/

/**
 * A name from the user's configuration, hidden if it may contain a secret. Shown are words of letters with separators, and
 * texts too short for a secret. A missing space (`{api_key:sk-12}`) makes a secret part of a name. Secrets contain digits and
 * other characters, or long runs of letters.
 */
export function showName(name: string): string {
  return SHOWN_NAME.test(name) ? name : '(a name that is not shown)'
}

export function alternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** A usable value, or the reason why it is not: `expected a number ≥ 0, got "soon"`. */
export type ReadResult<Value = unknown> = { readonly value: Value } | { readonly reason: string }

export interface Site {
  readonly path: string
  readonly name: string
  readonly level: ProblemLevel
  readonly problems: Problems
  readonly env: Environment
  readonly home: string
  place(path: string): string
}

export function within(site: Site, key: string | number): Site {
  const [path, name] = typeof key === 'number' ? [`[${key}]`, `[${key}]`] : [`.${key}`, `.${showName(key)}`]
  return { ...site, path: site.path + path, name: site.name + name }
}

export function report(site: Site, text: string, outcome?: Consequence, level: ProblemLevel = site.level): void {
  site.problems.add(level, site.name, text, site.place(site.path), outcome)
}

export function accept<Value>(
  reading: ReadResult<Value>,
  site: Site,
  outcome: Consequence = 'leaving it out',
): Value | undefined {
  if ('value' in reading) return reading.value
  report(site, reading.reason, outcome)
  return undefined
}

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

import type { Environment } from './paths.ts'
import { type Plain, Unusable } from './plain.ts'
import { type Outcome, type ProblemLevel, type Problems, quote, showName } from './problems.ts'

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

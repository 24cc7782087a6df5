import { isNullable, mostSteps, parseRegex } from './regex-cost.ts'

export type PatternCheck =
  | { readonly ok: true; readonly pattern: RegExp }
  | { readonly ok: false; readonly reason: string }

/** Limits the steps at one position of a text. One unbounded repeat passes, two adjacent ones do not. */
const MAX_STEPS = 20_000
const MAX_SOURCE = 2000

/** The end of V8's message. The rest quotes the pattern, which may contain the text it is meant to hide. */
const SYNTAX_REASON = /: ([A-Za-z\\][A-Za-z {}\\]{2,60})$/

function compile(source: string): RegExp | string {
  let reason: string | undefined
  // The constructor decides about the syntax. Without `u` it also accepts older syntax.
  for (const flags of ['gu', 'g']) {
    try {
      return new RegExp(source, flags)
    } catch (error) {
      reason = SYNTAX_REASON.exec(error instanceof Error ? error.message : '')?.[1]
    }
  }
  return `it is not a valid regular expression${reason === undefined ? '' : ` (${reason.toLowerCase()})`}`
}

function failed(reason: string): PatternCheck {
  return { ok: false, reason }
}

/** Compiles a custom pattern. Refuses one that matches everywhere or can backtrack badly, because the host waits. */
export function checkPattern(source: string): PatternCheck {
  if (source.length > MAX_SOURCE) return failed(`it is longer than ${MAX_SOURCE} characters`)
  const pattern = compile(source)
  if (typeof pattern === 'string') return failed(pattern)
  const tree = parseRegex(source)
  if (isNullable(tree)) return failed('it matches the empty string')
  if (mostSteps(tree) > MAX_STEPS) {
    return failed('it can take very long (nested or neighbouring repeats that match the same characters): bound them')
  }
  return { ok: true, pattern }
}

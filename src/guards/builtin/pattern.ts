import { checkPattern } from '../../content/redact-patterns.ts'
import { globMatcher } from './glob.ts'
import { whyNotLinear } from './linear-regex.ts'

/** A configured pattern: a literal text, a glob or a regular expression. */
export type PatternConfig = string | { readonly glob: string } | { readonly regex: string }

export type CompiledPattern =
  | { readonly ok: true; readonly matches: (text: string) => boolean }
  /** The end of a message that names the pattern. */
  | { readonly ok: false; readonly reason: string }

const NONE: CompiledPattern = { ok: false, reason: 'it is neither a text, nor { glob }, nor { regex }' }

/**
 * Compiles a pattern that matches in time linear in the text. A literal text or regular expression matches anywhere; a glob
 * (`*` within a segment, `**` across segments, `?`) matches the whole text. A regular expression that may be slower is
 * rejected.
 */
export function compilePattern(config: PatternConfig): CompiledPattern {
  if (typeof config === 'string') return fixed(config)
  if (typeof config !== 'object' || config === null) return NONE
  if ('glob' in config && typeof config.glob === 'string') return globMatcher(config.glob)
  if ('regex' in config && typeof config.regex === 'string') return regular(config.regex)
  return NONE
}

function fixed(text: string): CompiledPattern {
  if (text === '') return { ok: false, reason: 'it is empty' }
  return { ok: true, matches: each => each.includes(text) }
}

function regular(source: string): CompiledPattern {
  const checked = checkPattern(source)
  if (!checked.ok) return checked
  const reason = whyNotLinear(source)
  if (reason !== undefined) return { ok: false, reason }
  // A global expression would continue after its last match.
  const pattern = new RegExp(checked.pattern.source, checked.pattern.flags.replace('g', ''))
  return { ok: true, matches: text => pattern.test(text) }
}

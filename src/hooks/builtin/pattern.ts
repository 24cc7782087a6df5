import { checkPattern } from '../../content/redact-patterns.ts'
import { globMatcher } from './glob.ts'
import { whyNotLinear } from './linear-regex.ts'

/** A configured pattern: a text that is looked for as it stands, or what its key says. */
export type PatternConfig = string | { readonly glob: string } | { readonly regex: string }

export type CompiledPattern =
  | { readonly ok: true; readonly matches: (text: string) => boolean }
  /** Why it cannot be used: the end of a line that names it. */
  | { readonly ok: false; readonly reason: string }

const NONE: CompiledPattern = { ok: false, reason: 'it is neither a text, nor { glob }, nor { regex }' }

/**
 * A pattern that is matched in time linear in the text. A fixed text and a regular expression are looked for anywhere in it; a
 * glob (`*` within a segment, `**` across them, `?`) fits all of it. A regular expression that can take longer is refused.
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
  // A global one would go on where the last match ended.
  const pattern = new RegExp(checked.pattern.source, checked.pattern.flags.replace('g', ''))
  return { ok: true, matches: text => pattern.test(text) }
}

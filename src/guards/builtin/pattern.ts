import { checkPattern } from '../../content/redact-patterns.ts'
import { whyNotLinear } from './linear-regex.ts'

/** A configured pattern: a literal text, a glob or a regular expression. */
export type PatternConfig = string | { readonly glob: string } | { readonly regex: string }

export type CompiledPattern =
  | { readonly ok: true; readonly matches: (text: string) => boolean }
  | { readonly ok: false; readonly reason: string }

const NOT_A_PATTERN: CompiledPattern = { ok: false, reason: 'it is neither a text, nor { glob }, nor { regex }' }

/**
 * Compiles a pattern that matches in time linear in the text. A literal text or regular expression matches anywhere; a glob
 * (`*` within a segment, `**` across segments, `?`) matches the whole text. A regular expression that may be slower is
 * rejected.
 */
export function compilePattern(config: PatternConfig): CompiledPattern {
  if (config === '') return { ok: false, reason: 'it is empty' }
  if (typeof config === 'string') return { ok: true, matches: text => text.includes(config) }
  if (typeof config !== 'object' || config === null) return NOT_A_PATTERN
  if ('glob' in config && typeof config.glob === 'string') return globMatcher(config.glob)
  if ('regex' in config && typeof config.regex === 'string') return regular(config.regex)
  return NOT_A_PATTERN
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

/** `?` -> `one`, `*` -> `some` (both within a segment), `**` -> `all`, `**` and a slash -> `folders` (zero or more). */
type Token =
  | { readonly kind: 'character'; readonly text: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'some' }
  | { readonly kind: 'all' }
  | { readonly kind: 'folders' }

const LONGEST = 500

/** Matches the whole text. A backslash escapes the next character. Takes at most text length × glob length steps. */
export function globMatcher(glob: string): CompiledPattern {
  if (glob === '') return { ok: false, reason: 'it is empty' }
  if (glob.length > LONGEST) return { ok: false, reason: `it is longer than ${LONGEST} characters` }
  const tokens = tokensOf(glob)
  return { ok: true, matches: text => matchesGlob(tokens, text) }
}

const TOKEN = /\*\*\/|\*\*+|\*|\?|\\?([\s\S])/gu

function tokensOf(glob: string): Token[] {
  return [...glob.matchAll(TOKEN)].flatMap(([text, character], at, all): Token[] => {
    if (character !== undefined) return [{ kind: 'character', text: character }]
    if (text === '?') return [{ kind: 'one' }]
    if (text === '*') return [{ kind: 'some' }]
    // Only at the start of a segment: `a**/b` does not match `ab`.
    const before = all[at - 1]?.[0]
    if (text !== '**/') return [{ kind: 'all' }]
    const isSegment = before === undefined || before.endsWith('/')
    return isSegment ? [{ kind: 'folders' }] : [{ kind: 'all' }, { kind: 'character', text: '/' }]
  })
}

/** Tracks all reachable positions of the glob at once, so there is no backtracking. */
function matchesGlob(tokens: readonly Token[], text: string): boolean {
  let places = addPositions(tokens, new Set(), 0)
  for (const character of text) {
    const next = new Set<number>()
    for (const at of places) step(tokens, next, at, character)
    if (next.size === 0) return false
    places = next
  }
  return places.has(tokens.length)
}

function step(tokens: readonly Token[], next: Set<number>, at: number, character: string): void {
  const token = tokens[at]
  const isSlash = character === '/'
  if (token === undefined) return
  if (token.kind === 'character') {
    if (token.text === character) addPositions(tokens, next, at + 1)
  } else if (token.kind === 'one') {
    if (!isSlash) addPositions(tokens, next, at + 1)
  } else if (token.kind === 'folders') {
    next.add(at)
    if (isSlash) addPositions(tokens, next, at + 1)
  } else if (token.kind === 'all' || !isSlash) {
    addPositions(tokens, next, at)
  }
}

function addPositions(tokens: readonly Token[], places: Set<number>, from: number): Set<number> {
  for (let at = from; ; at++) {
    places.add(at)
    const kind = tokens[at]?.kind
    if (kind !== 'some' && kind !== 'all' && kind !== 'folders') return places
  }
}

import { withoutColours } from './one-line.ts'
import type { TextRedactor } from './safe-text.ts'

/** Replaces a secret. Contains no quote and no backslash, so that JSON text stays valid. */
export const MASK = '[REDACTED]'

export interface SecretSpan {
  readonly start: number
  readonly end: number
  /** Default: `MASK`. */
  readonly mask?: string
}

/** A family of secrets: a fast search for candidates in every text, and an exact check of each. */
export interface SecretFamily {
  /** Global. Must cost about a nanosecond per character on ordinary text. */
  readonly candidates: RegExp
  /**
   * Each secret of the family has one of these in its candidate. Searching for one costs a fiftieth of the pattern, unless it
   * begins with a frequent letter.
   */
  readonly hints?: readonly string[]
  /** `at` is the start of the candidate. The span may begin before it. */
  spanAt(text: string, at: number): SecretSpan | undefined
}

export function maskSpans(text: string, family: SecretFamily): string {
  const { candidates, hints } = family
  if (hints !== undefined && !hints.some(hint => text.includes(hint))) return text
  candidates.lastIndex = 0
  let masked = ''
  let kept = 0
  for (let hit = candidates.exec(text); hit !== null; hit = candidates.exec(text)) {
    const span = family.spanAt(text, hit.index)
    if (span === undefined || span.start < kept) continue
    masked += text.slice(kept, span.start) + (span.mask ?? MASK)
    kept = span.end
    // A span may end inside its own candidate, if a key's value looks like the next key.
    candidates.lastIndex = Math.max(span.end, hit.index + 1)
  }
  return kept === 0 ? text : masked + text.slice(kept)
}

/** Each round masks more, until a round changes nothing. Real texts have needed three. */
const MAX_ROUNDS = 8

/** Masks until nothing changes any more. `again` masks in the later rounds. If no secret is found, the colours stay. */
export function maskInRounds(text: string, mask: TextRedactor, again: TextRedactor = mask): string {
  const plain = withoutColours(text)
  let masked = mask(plain)
  if (masked === plain) return text
  for (let round = 1, before = plain; masked !== before && round < MAX_ROUNDS; round++) {
    before = masked
    masked = again(before)
  }
  return masked
}

/** Runs a sticky pattern at one position. Returns the end of the match, or -1. */
export function endOfMatch(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}

export function isWordCharacter(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}

const ESCAPED_HEAD = /(?<=\\)(?:[bfnrtv]|u[\da-fA-F]{4})|(?<=%)[\da-fA-F]{2}|(?<=\[[\d;]{0,12})\d{0,3}m/y

/**
 * Skips an escape before a word. Words of JSON text, a URL or terminal output can be glued to one: in `"a\nghp_…"`, the
 * letters before the underscore read `nghp`. Returns the start of the word after such an escape, or else `start`.
 */
export function afterEscape(text: string, start: number): number {
  // A fast path: nearly all positions have no escape, and the pattern costs ten times as much.
  if (start === 0 || !'\\%[;0123456789'.includes(text.charAt(start - 1))) return start
  const end = endOfMatch(ESCAPED_HEAD, text, start)
  return end === -1 ? start : end
}

/** What stands in the place of a secret. It holds no quote and no backslash, so JSON text stays JSON text. */
export const MASK = '[REDACTED]'

export interface SecretSpan {
  readonly start: number
  readonly end: number
  /** Default `MASK`. */
  readonly mask?: string
}

/** One family of secrets: where one may be (cheap, run over every text), and whether and how far one really is there. */
export interface SecretFamily {
  /** Global; must cost about a nanosecond a character on ordinary text. */
  readonly candidates: RegExp
  /** `at` is where the candidate begins; the span may begin before it. */
  spanAt(text: string, at: number): SecretSpan | undefined
}

export function maskSpans(text: string, family: SecretFamily): string {
  const { candidates } = family
  candidates.lastIndex = 0
  let masked = ''
  let kept = 0
  for (let hit = candidates.exec(text); hit !== null; hit = candidates.exec(text)) {
    const span = family.spanAt(text, hit.index)
    if (span === undefined || span.start < kept) continue
    masked += text.slice(kept, span.start) + (span.mask ?? MASK)
    kept = span.end
    // A span may end inside its own candidate, as a key's value that looks like the next key does.
    candidates.lastIndex = Math.max(span.end, hit.index + 1)
  }
  return kept === 0 ? text : masked + text.slice(kept)
}

/** Runs a sticky pattern at one place: the end of the match, or -1. */
export function endOfMatch(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}

export function isWordCharacter(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}

const ESCAPED_HEAD = /(?<=\\)(?:[bfnrtv]|u[\da-fA-F]{4})|(?<=%)[\da-fA-F]{2}|(?<=\[[\d;]{0,12})\d{0,3}m/y

/**
 * A word inside JSON text, a URL or terminal output can be glued to an escape: in `"a\nghp_…"` the letters before the
 * underscore read `nghp`. Returns where the word begins after such an escape, else `start`.
 */
export function afterEscape(text: string, start: number): number {
  // In nearly all places there is none: the pattern costs ten times as much as this.
  if (start === 0 || !'\\%[;0123456789'.includes(text.charAt(start - 1))) return start
  const end = endOfMatch(ESCAPED_HEAD, text, start)
  return end === -1 ? start : end
}

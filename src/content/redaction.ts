import { keepAll } from './clip.ts'
import { rewriteJson } from './json-text.ts'
import { ADDRESSES } from './secret-addresses.ts'
import { ASSIGNMENTS } from './secret-assignments.ts'
import { COMMAND_CREDENTIALS, ORACLE_LOGINS, STATEMENTS } from './secret-commands.ts'
import { SCHEMED_CREDENTIALS } from './secret-credentials.ts'
import { isSecretKey } from './secret-keys.ts'
import { maskRecords, RECORDS } from './secret-records.ts'
import { MASK, maskInRounds, maskSpans, type SecretFamily } from './secret-span.ts'
import { PREFIXED_TOKENS, UNSEPARATED_TOKENS } from './secret-tokens.ts'

export interface RedactorOptions {
  readonly enabled: boolean
  readonly patterns: readonly RegExp[]
  /** Runs first, so that its result is masked as well. */
  readonly own?: ((text: string) => string) | undefined
}

const PIECE = 8192
const OVERLAP = 1024

/**
 * Applies a custom pattern to a long text in pieces. A pattern may rescan a long run from each of its characters (`\w+@` over
 * hexadecimal). Pieces make the cost linear instead of quadratic. A match longer than `OVERLAP` may be missed.
 */
function maskOwn(text: string, pattern: RegExp): string {
  let masked = ''
  let kept = 0
  for (let from = 0; from < text.length; from += PIECE - OVERLAP) {
    const isLast = from + PIECE >= text.length
    const piece = isLast ? text : text.slice(0, from + PIECE)
    const border = isLast ? text.length : from + PIECE - OVERLAP
    pattern.lastIndex = Math.max(from, kept)
    for (let hit = pattern.exec(piece); hit !== null && hit.index < border; hit = pattern.exec(piece)) {
      masked += text.slice(kept, hit.index) + MASK
      kept = hit.index + hit[0].length
      if (hit[0] === '') pattern.lastIndex++
    }
    if (isLast) break
  }
  return kept === 0 ? text : masked + text.slice(kept)
}

/** Assignments come last: earlier families mask parts of their values more precisely. */
const FAMILIES: readonly SecretFamily[] = [
  RECORDS,
  UNSEPARATED_TOKENS,
  PREFIXED_TOKENS,
  ADDRESSES,
  SCHEMED_CREDENTIALS,
  COMMAND_CREDENTIALS,
  STATEMENTS,
  ORACLE_LOGINS,
  ASSIGNMENTS,
]

/** JSON inside JSON doubles the backslashes at each level, so no text has many. */
const DEEPEST = 12
const JSON_HEAD = /^\s{0,1000}[[{"]/
/** More backslashes than the patterns for escaped text support. */
const DEEP = '\\'.repeat(31)

/** True if escapes may hide a secret from the patterns: characters by number, or many levels. */
function mayHide(text: string): boolean {
  return (text.includes('\\u00') || text.includes(DEEP)) && JSON_HEAD.test(text)
}

/**
 * Masks secrets in the decoded strings of JSON: in the escaped text, a quote may appear to end a value that goes on. Undefined
 * if the text is not JSON.
 */
function maskJson(text: string, leaf: (text: string) => string): string | undefined {
  if (!JSON_HEAD.test(text)) return undefined
  const json = rewriteJson(text, Number.POSITIVE_INFINITY, { leaf, isSecret: isSecretKey, keepsSpace: true })?.text
  if (json === undefined) return undefined
  return json.includes(MASK) ? json + (/\s*$/.exec(text.slice(-100))?.[0] ?? '') : text
}

function maskFamilies(text: string): string {
  let masked = text
  for (const family of FAMILIES) masked = maskSpans(masked, family)
  return masked
}

/** Creates a function that masks the secrets in a text. Linear; a second run changes nothing. `keepAll` if disabled. */
export function createRedactor({ enabled, patterns, own }: RedactorOptions): (text: string) => string {
  if (!enabled) return keepAll
  function maskAt(text: string, depth: number): string {
    let masked = text
    for (const pattern of patterns) masked = maskOwn(masked, pattern)
    // A mask is shorter than the secret, so another flag may be within reach of its command in the next round.
    const seen = maskInRounds(masked, maskFamilies)
    if (depth === DEEPEST || (seen === masked && !mayHide(masked))) return seen
    const json = maskJson(maskRecords(masked), inner => maskAt(inner, depth + 1))
    return json === undefined ? seen : json.includes(MASK) ? json : masked
  }
  return own === undefined ? text => maskAt(text, 0) : text => maskAt(own(text), 0)
}

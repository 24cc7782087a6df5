import { endOfQuoted, quoteLevel } from './secret-quotes.ts'
import { afterEscape, endOfMatch, isWordCharacter, MASK, type SecretFamily, type SecretSpan } from './secret-span.ts'
import { isPlaceholder, isSpokenOf, looksRandom } from './secret-values.ts'

const SCHEME_PREFIX = /bearer(?:\s+|%20)|basic(?:\s+|%20)/iy
const TOKEN = /[\w.~+/-]{8,}={0,2}/y
/** `Bearer error="invalid_token"`: a challenge, not a credential. */
const PARAMETER = /^[a-z_]+=$/

/** `user:password` in base64. A word (`basic understanding`) decodes to bytes, not to printable text with a colon. */
function isUserAndPassword(base64: string): boolean {
  const decoded = Buffer.from(base64.slice(0, 400), 'base64').toString('latin1')
  return /^[\x20-\x7e]*:/.test(decoded)
}

function isBearerToken(token: string): boolean {
  return !PARAMETER.test(token) && (/\d/.test(token) || token.length >= 24)
}

/** `Bearer …` and `Basic …`, anywhere in a text. */
export const SCHEMED_CREDENTIALS: SecretFamily = {
  candidates: /(?:bearer|basic)(?:\s|%20)/gi,
  spanAt(text, at) {
    const isGlued = at > 0 && isWordCharacter(text.charCodeAt(at - 1))
    if (isGlued && afterEscape(text, at - 1) !== at) return undefined
    const start = endOfMatch(SCHEME_PREFIX, text, at)
    const end = start === -1 ? -1 : endOfMatch(TOKEN, text, start)
    if (end === -1) return undefined
    const token = text.slice(start, end)
    const isBearer = /e/i.test(text.charAt(at + 1))
    return (isBearer ? isBearerToken(token) : isUserAndPassword(token)) ? { start, end } : undefined
  },
}

/** Values of headers with credentials: `SSWS 00a…`, `Digest username="…", …`, or only a key. */

/** Schemes that stay visible: they show the kind of credential, and nothing about the secret. */
const SHOWN_SCHEME =
  /(?:bearer|basic|token|bot|apikey|api-key|negotiate|ntlm|googlelogin|key|digest|hawk|oauth|signature|aws4-hmac-sha256)\s+/iy
const SCHEME = /^[A-Za-z][\w.+-]{1,40}$/
const CREDENTIAL_LIST =
  /(?:[\w-]{1,30}=(?:(?<quote>\\{0,31}")(?![\s,:}\]\\])[^"\\]{0,400}\k<quote>|[^\s,"'\\]{1,400})(?:,\s?|$|(?=[\s"'\\])))+/y
const LINE = /(?:[^\r\n\\"'`]|\\(?!\\{0,31}[nr"'`]))*/y
const WORD = /(?:[^\s\\"'`]|\\(?!\\{0,31}[nrt"'`]))*/y
const STOP = /[.,;:)\]}>]{1,3}$/
const NEXT_HEADER = /^[\w-]{1,40}:$/
const MAX_LINE = 600

const HEADER = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|apikey|[a-z]+(?:-[a-z\d]+)+)$/i
const CREDENTIALS = /^(?:proxy-|x-[\w-]*)?authorization$|^(?:x-)?auth$/i

/** True for a header's name. Lists of names in code or in a policy contain such words, too. */
export function isHeaderName(name: string): boolean {
  return HEADER.test(name)
}

export function holdsCredentials(name: string): boolean {
  return CREDENTIALS.test(name)
}

/** The quote around the header's line, as in `-H "Authorization: …"`. It shows the end of the value. */
function quoteBefore(text: string, nameStart: number): string {
  const at = nameStart - 1
  if (at < 0 || !`"'\``.includes(text.charAt(at))) return ''
  return text.slice(at - quoteLevel(text, at, 0), at + 1)
}

/** The credentials after `Authorization:`, whatever their scheme. Undefined if a sentence follows instead. */
export function credentialsSpan(text: string, nameStart: number, valueAt: number): SecretSpan | undefined {
  const shown = endOfMatch(SHOWN_SCHEME, text, valueAt)
  const start = shown === -1 ? valueAt : shown
  const words = firstWords(text, start)
  if (text.startsWith(MASK, start) || isSpokenOf(words[0] ?? '', true)) return undefined
  const opening = quoteBefore(text, nameStart)
  const end = opening === '' ? endOfWords(text, start, words, shown !== -1) : endInQuote(text, start, opening, words)
  return end <= start || isPlaceholder(text.slice(start, end)) ? undefined : { start, end }
}

function firstWords(text: string, start: number): string[] {
  const line = text.slice(start, start + MAX_LINE)
  return line.slice(0, endOfMatch(LINE, line, 0)).split(/(\s+)/, 3)
}

function endInQuote(text: string, start: number, opening: string, words: string[]): number {
  const second = start + (words[0]?.length ?? 0) + (words[1]?.length ?? 0)
  const lists = [start, second].map(at => endOfMatch(CREDENTIAL_LIST, text, at))
  return Math.max(endOfQuoted(text, start, opening), ...lists)
}

function endOfWords(text: string, start: number, words: string[], isScheme: boolean): number {
  const list = endOfList(text, start)
  if (list !== -1) return list
  const [first = '', gap = '', second = ''] = words
  if (second.startsWith(MASK)) return start
  if (!isScheme && SCHEME.test(first) && second !== '' && !NEXT_HEADER.test(second)) {
    const secondAt = start + first.length + gap.length
    const parameters = endOfList(text, secondAt)
    if (parameters !== -1) return parameters
    if (looksRandom(withoutStop(second))) return endOfKey(text, secondAt)
  }
  return isScheme || looksRandom(withoutStop(first)) ? endOfKey(text, start) : start
}

/** After a comma and a space the list continues, even with a word that is not a parameter: `id=x, 00Qx7Zk2`. */
function endOfList(text: string, start: number): number {
  const end = endOfMatch(CREDENTIAL_LIST, text, start)
  return end === -1 || text.charAt(end - 1) !== ' ' ? end : Math.max(endOfKey(text, end), end - 2)
}

function withoutStop(word: string): string {
  return word.replace(STOP, '')
}

function endOfKey(text: string, start: number): number {
  const end = endOfMatch(WORD, text, start)
  return end - (STOP.exec(text.slice(Math.max(start, end - 3), end))?.[0].length ?? 0)
}

import { endOfQuoted, quoteLevel } from './secret-quotes.ts'
import { endOfMatch, MASK, type SecretSpan } from './secret-span.ts'
import { isPlaceholder, isSpokenOf, looksRandom } from './secret-values.ts'

/** What a header that holds credentials says behind its colon: `SSWS 00a…`, `Digest username="…", …`, or a bare key. */

/** Schemes that are shown: they say how somebody asked, and nothing about the secret. */
const SHOWN_SCHEME =
  /(?:bearer|basic|token|bot|apikey|api-key|negotiate|ntlm|googlelogin|key|digest|hawk|oauth|signature|aws4-hmac-sha256)\s+/iy
const SCHEME = /^[A-Za-z][\w.+-]{1,40}$/
const CREDENTIAL_LIST =
  /(?:[\w-]{1,30}=(?:(?<quote>\\{0,31}")(?![\s,:}\]\\])[^"\\]{0,400}\k<quote>|[^\s,"'\\]{1,400})(?:,\s?|$|(?=[\s"'\\])))+/y
const LINE = /(?:[^\r\n\\"'`]|\\(?!\\{0,31}[nr"'`]))*/y
const NEXT_HEADER = /^[\w-]{1,40}:$/
const LONGEST = 4096

const HEADER = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|apikey|[a-z]+(?:-[a-z\d]+)+)$/i
const CREDENTIALS = /^(?:proxy-|x-[\w-]*)?authorization$|^(?:x-)?auth$/i

/** The header's name, and nothing else: a word that a list of names in code or in a policy may hold, too. */
export function isHeaderName(name: string): boolean {
  return HEADER.test(name)
}

/** Whether more than one word may be the secret. */
export function holdsCredentials(name: string): boolean {
  return CREDENTIALS.test(name)
}

/** The quote that the header's line stands in, as in `-H "Authorization: …"`: it says how far the value reaches. */
function quoteBefore(text: string, nameStart: number): string {
  const at = nameStart - 1
  if (at < 0 || !`"'\``.includes(text.charAt(at))) return ''
  return text.slice(at - quoteLevel(text, at, 0), at + 1)
}

function lineEnd(text: string, from: number): number {
  return from + Math.max(0, endOfMatch(LINE, text.slice(from, from + LONGEST), 0))
}

/** The credentials behind `Authorization:`, whatever their scheme; undefined where a sentence goes on instead. */
export function credentialsSpan(text: string, nameStart: number, valueAt: number): SecretSpan | undefined {
  const shown = endOfMatch(SHOWN_SCHEME, text, valueAt)
  const start = shown === -1 ? valueAt : shown
  const opening = quoteBefore(text, nameStart)
  const end = opening === '' ? endOfWords(text, start, shown !== -1) : endInQuote(text, start, opening)
  if (end <= start || text.startsWith(MASK, start)) return undefined
  const value = text.slice(start, end)
  return isPlaceholder(value) || isSpokenOf(/^\S*/.exec(value)?.[0] ?? '', true) ? undefined : { start, end }
}

function endInQuote(text: string, start: number, opening: string): number {
  const reach = text.slice(0, start + LONGEST)
  return Math.max(endOfQuoted(reach, start, opening), Math.max(start, endOfMatch(CREDENTIAL_LIST, text, start)))
}

/** In running text: the key alone, a scheme and its key, or a list of parameters. */
function endOfWords(text: string, start: number, isScheme: boolean): number {
  const list = endOfMatch(CREDENTIAL_LIST, text, start)
  if (list !== -1) return list
  const [first = '', gap = '', second = ''] = text.slice(start, lineEnd(text, start)).split(/(\s+)/, 3)
  const key = withoutStop(first)
  if (isScheme) return start + key.length
  if (isSpokenOf(first, true)) return start
  if (second.startsWith(MASK)) return start
  if (!SCHEME.test(first) || second === '' || NEXT_HEADER.test(second)) {
    return looksRandom(key) ? start + key.length : start
  }
  const secondAt = start + first.length + gap.length
  const parameters = endOfMatch(CREDENTIAL_LIST, text, secondAt)
  if (parameters !== -1) return parameters
  const secondKey = withoutStop(second)
  if (looksRandom(secondKey)) return secondAt + secondKey.length
  return looksRandom(key) ? start + key.length : start
}

function withoutStop(word: string): string {
  return word.replace(/[.,;:)\]}>]{1,3}$/, '')
}

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
const WORD = /(?:[^\s\\"'`]|\\(?!\\{0,31}[nrt"'`]))*/y
const STOP = /[.,;:)\]}>]{1,3}$/
const NEXT_HEADER = /^[\w-]{1,40}:$/
/** Of a line, to tell what its first two words are. */
const LONGEST_LINE = 600

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

/** The credentials behind `Authorization:`, whatever their scheme; undefined where a sentence goes on instead. */
export function credentialsSpan(text: string, nameStart: number, valueAt: number): SecretSpan | undefined {
  const shown = endOfMatch(SHOWN_SCHEME, text, valueAt)
  const start = shown === -1 ? valueAt : shown
  const words = firstWords(text, start)
  if (text.startsWith(MASK, start) || isSpokenOf(words[0] ?? '', true)) return undefined
  const opening = quoteBefore(text, nameStart)
  const end = opening === '' ? endOfWords(text, start, words, shown !== -1) : endInQuote(text, start, opening, words)
  return end <= start || isPlaceholder(text.slice(start, end)) ? undefined : { start, end }
}

/** A word, what stands behind it, and the next word. */
function firstWords(text: string, start: number): string[] {
  const line = text.slice(start, start + LONGEST_LINE)
  return line.slice(0, endOfMatch(LINE, line, 0)).split(/(\s+)/, 3)
}

function endInQuote(text: string, start: number, opening: string, words: string[]): number {
  const second = start + (words[0]?.length ?? 0) + (words[1]?.length ?? 0)
  const lists = [start, second].map(at => endOfMatch(CREDENTIAL_LIST, text, at))
  return Math.max(endOfQuoted(text, start, opening), ...lists)
}

/** In running text: the key alone, a scheme and its key, or a list of parameters. */
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

/** Behind a comma and a space the list goes on, also with what is no parameter: `id=x, 00Qx7Zk2`. */
function endOfList(text: string, start: number): number {
  const end = endOfMatch(CREDENTIAL_LIST, text, start)
  return end === -1 || text.charAt(end - 1) !== ' ' ? end : Math.max(endOfKey(text, end), end - 2)
}

function withoutStop(word: string): string {
  return word.replace(STOP, '')
}

/** The sentence's punctuation is not the key's. */
function endOfKey(text: string, start: number): number {
  const end = endOfMatch(WORD, text, start)
  return end - (STOP.exec(text.slice(Math.max(start, end - 3), end))?.[0].length ?? 0)
}

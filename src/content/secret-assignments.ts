import { credentialsSpan, holdsCredentials } from './secret-headers.ts'
import { type SecretKeyStrength, secretKeyStrength } from './secret-keys.ts'
import { pairedValueAt } from './secret-pairs.ts'
import { endOfQuoted, endOfStructure, quoteLevel } from './secret-quotes.ts'
import { afterEscape, endOfMatch, isWordCharacter, MASK, type SecretFamily, type SecretSpan } from './secret-span.ts'
import { isCode, isPlaceholder, isSpokenOf, looksGenerated, looksRandom } from './secret-values.ts'

/** `password=…`, `"api_key": …`, `--token …`, `Cookie: …`, `<password>…</password>`: a secret's name, a sign, a value. */

interface Assignment {
  readonly text: string
  readonly name: string
  readonly nameStart: number
  readonly strength: SecretKeyStrength
  /** The quote behind the name, with its backslashes; empty when there is none. */
  readonly quote: string
  /** The same with all backslashes that stand there, also where they are no level of escaping. */
  readonly closing: string
  /** The name is the quoted key of an object: what follows is JSON, or close to it. */
  readonly isKey: boolean
  /** `=`, `:`, `>` or, for flags, a space. */
  readonly sign: string
  readonly spaced: boolean
  readonly valueAt: number
}

const LONGEST_NAME = 64
const LONGEST_ELEMENT = 4096
const SEPARATOR =
  /(\\{0,31}["'`])?(\]?)[?!]?\*{0,2}(\s{0,8}(?:=>|={1,3}|:=|:(?!:|\/\/)|%3[ADad](?:%20)?)(?!\s*\n\s*\n)(?:\*{2}(?=\s))?\s{0,8}|>|\(\s{0,4}(?=["'`\\])|\s{1,8})/y
const OPENING = /[bfru]{0,2}(\\{0,31}["'`])/iy
const CLOSES_INSTEAD = /[\s,;:)}\]]|$/y

/**
 * A comma or semicolon ends a value when the next assignment, or nothing of the value's, follows; an ampersand where a
 * query or a command goes on; a `<` where a tag begins; a quote unless a letter or digit follows it.
 */
const BARE =
  /(?!["'`])(?:[^\s"'`\\&;,<]|\\(?!\\{0,31}[nrt"'`])[\s\S]|[,;](?![\s"'\\{[]|$|[\w. -]{1,40}[=:])|&(?!&|\s|$|["'`\\]|(?:amp;)?[\w.%[\]-]{1,40}=)|<(?!\/?[A-Za-z!][^<>\n]{0,60}>|[\s/]|$)|["'`](?=\w))+/y
/** What JSON allows without quotes. */
const SCALAR = /[^\s,}\]"'`\\]+/y
const COOKIE_HEADER = /cookies?$/i
const COOKIES = /[^\s"'`\\;=]+=[^\s"'`\\;]*(?:;\s?[^\s"'`\\;]+)*/y
const PATH = /[~./]|[A-Za-z]:/y
const ENVIRONMENT_NAME = /^[A-Z][A-Z\d]*_[A-Z\d_]+$/
const NAMES_A_KEY = /(?:api|access|secret|private|encryption|signing|master|account) $/i
const BEFORE_PASSWORD = /(?:\blogin \S{1,64}|identified by|with|encrypted|\bset|\w login) $/i
const BEFORE_NAME = /(?:\b(?:config(?:ure)?|secrets?) set (?:\S{1,80}[/:])?|#define )$/
/** Directives that take a password behind a space. */
const DIRECTIVE = /^(?:requirepass|masterauth)$/
const SETTER = /(?:^|\.)(?:(?:with|set)\w+|password|passphrase|token|secret|api_?key|access_?key|secret_?key)$/i

function isNameCharacter(code: number): boolean {
  return isWordCharacter(code) || code === 95 || code === 45 || code === 46
}

/** From anywhere in a name to its ends; undefined when it is longer than a name. */
function nameAround(text: string, at: number): { start: number; end: number } | undefined {
  let start = at
  let end = at
  while (start > 0 && isNameCharacter(text.charCodeAt(start - 1))) if (at - --start > LONGEST_NAME) return undefined
  while (end < text.length && isNameCharacter(text.charCodeAt(end))) if (++end - at > LONGEST_NAME) return undefined
  while (end > at && '-.'.includes(text.charAt(end - 1))) end--
  return { start: afterEscape(text, start), end }
}

type Named = Pick<Assignment, 'text' | 'name' | 'nameStart' | 'strength'>

function assignmentAt(text: string, at: number): Assignment | undefined {
  const around = nameAround(text, at)
  if (around === undefined) return undefined
  const name = text.slice(around.start, around.end)
  const strength = strengthOf(text, name, around.start)
  if (strength === undefined) return undefined
  const named = { text, name, nameStart: around.start, strength }
  const pairedAt = pairedValueAt(text, name, around.start, around.end)
  if (pairedAt !== -1) return paired(named, around.end, pairedAt)
  SEPARATOR.lastIndex = around.end
  const separator = SEPARATOR.exec(text)
  if (separator === null) return undefined
  const [, closing = '', bracket = '', sign = ''] = separator
  const quote = ownQuote(closing)
  return {
    ...named,
    quote,
    closing,
    isKey: /["']$/.test(quote) && bracket === '',
    sign: sign.trim(),
    spaced: /\s$/.test(sign),
    valueAt: SEPARATOR.lastIndex,
  }
}

/** The quote at the end of `closing`, with the backslashes that are its own. */
function ownQuote(closing: string): string {
  return closing === '' ? '' : closing.slice(closing.length - 1 - quoteLevel(closing, closing.length - 1, 0))
}

const CLOSING = /\\{0,31}["'`]|/y

function paired(named: Named, nameEnd: number, valueAt: number): Assignment {
  const closing = named.text.slice(nameEnd, endOfMatch(CLOSING, named.text, nameEnd))
  const quote = ownQuote(closing)
  return { ...named, quote, closing, isKey: quote !== '', sign: ':', spaced: true, valueAt }
}

function strengthOf(text: string, name: string, start: number): SecretKeyStrength | undefined {
  if (/^keys?$/i.test(name)) return NAMES_A_KEY.test(text.slice(Math.max(0, start - 12), start)) ? 'weak' : undefined
  return secretKeyStrength(name)
}

function valueSpan(found: Assignment): SecretSpan | undefined {
  // Before anything looks for the value's end: masked text is gone through again, and may be long.
  if (found.text.startsWith(MASK, found.valueAt)) return undefined
  if (found.sign === '>') return elementSpan(found)
  if (found.sign === '' && !mayFollowSpace(found)) return undefined
  const opened = openingOf(found)
  if (found.sign === '(' && !(opened !== undefined && SETTER.test(found.name))) return undefined
  if (opened !== undefined) return quotedSpan(found, opened.opening, opened.start)
  return beginsStructure(found) ? structureSpan(found) : bareSpan(found)
}

/** `<password>…</password>` */
function elementSpan({ text, nameStart, valueAt }: Assignment): SecretSpan | undefined {
  if (!'<:'.includes(text.charAt(nameStart - 1) || ' ')) return undefined
  const reach = text.slice(valueAt, valueAt + LONGEST_ELEMENT)
  const length = reach.indexOf('<')
  const end = length === -1 ? valueAt + reach.length : valueAt + length
  const isClosed = length !== -1 && text[end + 1] === '/'
  const value = text.slice(valueAt, end)
  return isPlaceholder(value) || !/\w/.test(value) || (isClosed ? /"\s*[,:}\]]/ : /[\s"]/).test(value)
    ? undefined
    : { start: valueAt, end }
}

/** A flag's value, a netrc line, SQL's `PASSWORD '…'`, or a name of several words followed by what can only be a key. */
function mayFollowSpace({ text, name, nameStart, quote, valueAt }: Assignment): boolean {
  if (quote !== '') return false
  const value = text.slice(valueAt, valueAt + 100)
  if (name.startsWith('-')) return !/^[-|&;<>]/.test(value)
  if (/^(?:token|auth|secret|jwt|key|cookie|pass)s?$/.test(name)) return false
  const before = text.slice(Math.max(0, nameStart - 100), nameStart)
  if (DIRECTIVE.test(name) || (/ set |#define /.test(before) && BEFORE_NAME.test(before))) return true
  if (/^password$/i.test(name) && BEFORE_PASSWORD.test(before)) return true
  return /[a-z][_-][a-z]/i.test(name) && looksGenerated(/^[^\s\\]*/.exec(value)?.[0] ?? '')
}

/** The quote that opens the value, and where the value begins behind it. */
function openingOf({ text, valueAt, quote, closing }: Assignment): { opening: string; start: number } | undefined {
  OPENING.lastIndex = valueAt
  const opening = OPENING.exec(text)?.[1]
  const start = OPENING.lastIndex
  if (opening === undefined) return undefined
  // Python doubles the backslashes of a text and leaves its quotes: then only the same again can be the end.
  if (!isLevel(opening) && opening !== closing) return undefined
  // In `{"note": "the password:", …}` the quote behind the sign closes the string that the name stands in.
  return opening !== quote && endOfMatch(CLOSES_INSTEAD, text, start) !== -1 ? undefined : { opening, start }
}

function isLevel(opening: string): boolean {
  return quoteLevel(opening, opening.length - 1, 0) === opening.length - 1
}

function quotedSpan({ text, isKey, strength }: Assignment, opening: string, start: number): SecretSpan | undefined {
  if (text.startsWith(MASK, start)) return undefined
  const end = isLevel(opening) ? endOfQuoted(text, start, opening) : endAtSame(text, start, opening)
  const value = text.slice(start, end)
  if (isPlaceholder(value) || (!isKey && strength === 'weak' && value.length < 6)) return undefined
  return { start, end }
}

function endAtSame(text: string, start: number, opening: string): number {
  const reach = text.slice(start, start + LONGEST_ELEMENT)
  const length = reach.indexOf(opening)
  return start + (length === -1 ? reach.length : length)
}

/** A password of a `.env` file may begin with a bracket; where code or JSON has a value, that opens something. */
function beginsStructure({ text, valueAt, sign, spaced }: Assignment): boolean {
  return /[{[]/.test(text.charAt(valueAt)) && (sign === ':' || spaced)
}

/** Masked as a whole only where JSON says how far it reaches; else what is inside speaks for itself. */
function structureSpan({ text, valueAt, isKey, quote }: Assignment): SecretSpan | undefined {
  if (!isKey || /[}\]]/.test(text.charAt(valueAt + 1))) return undefined
  return { start: valueAt, end: endOfStructure(text, valueAt, quote), mask: `${quote}${MASK}${quote}` }
}

function bareSpan(found: Assignment): SecretSpan | undefined {
  const { text, name, nameStart, valueAt, isKey, sign, quote } = found
  // Headers hold more than one word.
  if (!isKey && sign !== '') {
    if (holdsCredentials(name)) return credentialsSpan(text, nameStart, valueAt)
    const cookies = COOKIE_HEADER.test(name) ? endOfMatch(COOKIES, text, valueAt) : -1
    if (cookies !== -1)
      return isPlaceholder(text.slice(valueAt, cookies)) ? undefined : { start: valueAt, end: cookies }
  }
  // Not the password, and before its end is looked for: a path may hold the name many times.
  if (/^-*pwd$/i.test(name) && endOfMatch(PATH, text, valueAt) !== -1) return undefined
  const end = isKey ? endOfMatch(SCALAR, text, valueAt) : endOfBare(text, valueAt)
  if (end <= valueAt) return undefined
  const value = text.slice(valueAt, end)
  if (!isSecretValue(value, text.charAt(end), found)) return undefined
  return isKey ? { start: valueAt, end, mask: `${quote}${MASK}${quote}` } : { start: valueAt, end }
}

function isSecretValue(value: string, next: string, found: Assignment): boolean {
  const { name, sign, spaced, strength, isKey } = found
  const isGlued = sign === '=' && !spaced
  if (sign.startsWith('==') && /^[A-Za-z_$][\w.$]*:?$/.test(value)) return false
  if (isPlaceholder(value) || isSpokenOf(value, !isGlued) || isCode(value, name, spaced, next)) return false
  if (strength === 'strong' || isKey || sign === '') return true
  return (isGlued && ENVIRONMENT_NAME.test(name)) || looksRandom(value)
}

/** The sentence's punctuation, and closing brackets that the value did not open, belong to what stands around it. */
function endOfBare(text: string, start: number): number {
  const longest = endOfMatch(BARE, text, start)
  if (longest <= start) return start
  const value = text.slice(start, longest)
  // Looked for once: a value can end with any number of brackets.
  const foreign = ['()', '[]', '{}', '<>'].filter(([opening = '']) => !value.includes(opening)).map(pair => pair[1])
  const endings = `.:${foreign.join('')}`
  let end = longest
  while (end > start && endings.includes(text.charAt(end - 1))) end--
  return end
}

export const ASSIGNMENTS: SecretFamily = {
  candidates:
    /(?:ke[ny]|cre[td]|p(?:ass|wd|sk)|auth|cook|jwt)[\w.-]{0,40}["'`\\\]\s?!*]{0,40}(?:[=:\s>%,(]|[nr][\s\\])/gi,
  spanAt(text, at) {
    const found = assignmentAt(text, at)
    return found === undefined ? undefined : valueSpan(found)
  },
}

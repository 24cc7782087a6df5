import { commandValueAt, takesValueBehindSpace } from './secret-commands.ts'
import { credentialsSpan, holdsCredentials } from './secret-credentials.ts'
import { type NamedValue, type SecretKeyStrength, secretKeyStrength } from './secret-keys.ts'
import { beginsBlock, behindProperties, blockSpan, elementSpan } from './secret-markup.ts'
import { pairedValueAt } from './secret-neighbours.ts'
import {
  endOfQuoted,
  endOfSpelled,
  endOfStructure,
  isSpelled,
  LINE_END,
  QUOTE,
  quoteLevel,
  SPACE,
} from './secret-quotes.ts'
import { azureKeyAt } from './secret-records.ts'
import { afterEscape, endOfMatch, isWordCharacter, MASK, type SecretFamily, type SecretSpan } from './secret-span.ts'
import {
  declaredValueAt,
  isCode,
  isMode,
  isPlaceholder,
  isSpokenOf,
  isType,
  looksRandom,
  WRAPPER,
} from './secret-values.ts'

/** `password=…`, `"api_key": …`, `--token …`, `Cookie: …`, `<password>…</password>`: a secret's name, a sign, a value. */

interface Assignment extends NamedValue {
  /** The quote after the name, with its backslashes, or empty. `closing`: with all backslashes, even if no level of escaping. */
  readonly quote: string
  readonly closing: string
  /** True if the name is the quoted key of an object: the rest is JSON, or similar. */
  readonly isKey: boolean
  /** `=`, `:`, `(`, `{`, or empty for the space after a flag. */
  readonly sign: string
  readonly gap: string
}

const MAX_NAME = 64
const SIGN = String.raw`=>|\|\||\?\?|={1,3}|:=|:(?!:|\/\/)|[：＝]|%3[ADad](?:%20)?`
/** After a name: its closing quote, a sign and the gap before the value, or only the gap. */
const SEPARATOR = new RegExp(
  String.raw`(${QUOTE})?(\]?)[?!]?\*{0,2}(?:${SPACE}{0,8}(${SIGN})(?!\s*\n\s*\n)(?:\*{2}(?=\s))?([ \t]{0,8}${LINE_END}(?:[+>|-](?=\s)| {0,8}\d{1,6}(?:[\t→:|]|\\{1,31}t))?[ \t]{0,40}|${SPACE}{0,8})|([({])\s{0,4}(?=["'\`\\])|\s{1,8}|(?:\\{1,31}t){1,8})`,
  'y',
)
const OPENING = new RegExp(`${WRAPPER}(?:[bfru]{0,2}|[N@$])(${QUOTE})`, 'iy')
const TRIPLE = /^\\{0,15}(["'])\\{0,15}\1\\{0,15}\1$/
const LINE_BREAK = /\n|\\n/
const CLOSES_INSTEAD = /[\s,;:)}\]]|$/y
const NUMBER = /-?\d/y
const STATEMENT = /^\s*(?:if|elif|else|while|for|def|class|case|with|except|when|unless)\b/
const KEYWORD = /^(?:return|pass|raise|throw|break|continue|yield|do|else|then|end|begin|default)$/
const LINE_IS_OVER = /[,;]?[ \t]*(?:[\r\n"'`]|\\|$)/y

/**
 * An unquoted value. A comma or semicolon ends it before the next assignment or before a character that no value has. An
 * ampersand ends it if a query or a command continues, a `<` if a tag begins, a quote unless a letter or digit follows.
 */
const BARE =
  /(?!["'`])(?:[^\s"'`\\&;,<]|\\(?!\\{0,31}[nrt"'`])[\s\S]|[,;](?![\s"'\\{[]|$|[\w. -]{1,40}[=:])|&(?!&|\s|$|["'`\\]|(?:amp;)?[\w.%[\]-]{1,40}=|(?:amp;){0,2}(?:quot|apos|lt|gt|#\w{2,4});)|<(?!\/?[A-Za-z!][^<>\n]{0,60}>|[\s/]|$)|["'`](?=\w))+/y
const SCALAR = /[^\s,}\]"'`\\]+/y
const COOKIE_HEADER = /cookies?$/i
const COOKIES = /[^\s"'`\\;=]+=[^\s"'`\\;]*(?:;\s?[^\s"'`\\;]+)*/y
const PATH = /[~./]|[A-Za-z]:/y
const ENVIRONMENT_NAME = /^-?[A-Z][A-Z\d]*_[A-Z\d_]+$/
const NAMES_A_KEY = /(?:api|access|secret|private|encryption|signing|master|account) $/i
const SETTER = /(?:^|\.)(?:(?:with|set)\w+|password|passphrase|token|secret|api_?key|access_?key|secret_?key)$/i

/** `arn:aws:secretsmanager:eu-west-1:123456789012:secret:db` is a secret's name, not its value. */
const ARN_BEFORE = /\barn:[\w-]{1,20}:secretsmanager:[\w-]{0,30}:\w{0,20}:$/
/** `eas secret:create` */
const SUBCOMMAND = /^(?:create|set|get|list|push|pull|add|remove|delete|update|rotate|show)$/

function isNameCharacter(code: number): boolean {
  return isWordCharacter(code) || code === 95 || code === 45 || code === 46
}

function nameAround(text: string, at: number): { start: number; end: number } | undefined {
  let start = at
  let end = at
  while (start > 0 && isNameCharacter(text.charCodeAt(start - 1))) if (at - --start > MAX_NAME) return undefined
  while (end < text.length && isNameCharacter(text.charCodeAt(end))) if (++end - at > MAX_NAME) return undefined
  while (end > at && '-.'.includes(text.charAt(end - 1))) end--
  return { start: afterEscape(text, start), end }
}

type Named = Omit<NamedValue, 'valueAt'>

/** True if the dash marks a removed line of a diff. After a backslash the line continues, and the dash belongs to a flag. */
function isRemovedLine(text: string, at: number): boolean {
  if (text.charAt(at) !== '-' || text.charAt(at + 1) === '-') return false
  return /[^\\](?:\r?\n|\\{1,31}n)(?:[+>|-]|\s{0,8}\d{1,6}(?:[\t→:|]|\\{1,31}t))?$/.test(
    text.slice(Math.max(0, at - 60), at),
  )
}

function assignmentAt(text: string, at: number): Assignment | SecretSpan | undefined {
  const around = nameAround(text, at)
  if (around === undefined) return undefined
  const nameStart = isRemovedLine(text, around.start) ? around.start + 1 : around.start
  const name = text.slice(nameStart, around.end)
  const strength = strengthOf(text, name, nameStart)
  if (strength === undefined) return azureKeyAt(text, name, nameStart)
  if (text.charAt(nameStart - 1) === ':' && ARN_BEFORE.test(text.slice(Math.max(0, nameStart - 80), nameStart)))
    return undefined
  const named = { text, name, nameStart, strength }
  const pairedAt = pairedValueAt(text, name, nameStart, around.end)
  if (pairedAt !== -1) return paired(named, around.end, pairedAt)
  const element = elementSpan(text, nameStart, around.end)
  if (element !== undefined) return element === 'none' ? undefined : element
  const declaredAt = declaredValueAt(text, around.end)
  if (declaredAt !== -1) {
    if (endOfMatch(OPENING, text, declaredAt) !== -1) return declared(named, declaredAt)
    if (isType(text.slice(around.end, declaredAt))) return undefined
  }
  const commandAt = commandValueAt(text, name, around.end)
  if (commandAt !== -1) return declared(named, commandAt)
  return separated(named, around.end)
}

function declared(named: Named, valueAt: number): Assignment {
  return { ...named, quote: '', closing: '', isKey: false, sign: '=', gap: ' ', valueAt }
}

function separated(named: Named, nameEnd: number): Assignment | undefined {
  SEPARATOR.lastIndex = nameEnd
  const separator = SEPARATOR.exec(named.text)
  if (separator === null) return undefined
  const [, closing = '', bracket = '', sign = '', gap = '', parenthesis = ''] = separator
  const quote = ownQuote(closing)
  return {
    ...named,
    quote,
    closing,
    isKey: quote !== '' && !quote.endsWith('`') && bracket === '',
    sign: sign === '' ? parenthesis : sign.replace('：', ':').replace('＝', '='),
    gap: gap === '' && sign === '：' ? ' ' : gap,
    valueAt: SEPARATOR.lastIndex,
  }
}

function ownQuote(closing: string): string {
  if (closing === '' || isSpelled(closing)) return closing
  return closing.slice(closing.length - 1 - quoteLevel(closing, closing.length - 1, 0))
}

const CLOSING = /\\{0,31}["'`]|/y

function paired(named: Named, nameEnd: number, valueAt: number): Assignment {
  const closing = named.text.slice(nameEnd, endOfMatch(CLOSING, named.text, nameEnd))
  const quote = ownQuote(closing)
  return { ...named, quote, closing, isKey: quote !== '', sign: ':', gap: ' ', valueAt }
}

function strengthOf(text: string, name: string, start: number): SecretKeyStrength | undefined {
  if (/^keys?$/i.test(name)) return NAMES_A_KEY.test(text.slice(Math.max(0, start - 12), start)) ? 'weak' : undefined
  return secretKeyStrength(name)
}

function valueSpan(assignment: Assignment): SecretSpan | undefined {
  const { text, sign, gap, name } = assignment
  const valueAt = sign === ':' && gap !== '' ? behindProperties(text, assignment.valueAt) : assignment.valueAt
  // Checked before searching the value's end: masked text is scanned again, and may be long.
  if (valueAt === -1 || text.startsWith(MASK, valueAt)) return undefined
  const found = valueAt === assignment.valueAt ? assignment : { ...assignment, valueAt }
  if (sign === '' && (found.quote !== '' || !takesValueBehindSpace(found))) return undefined
  if (sign === ':' && beginsBlock(text, valueAt)) return blockSpan(found)
  const opened = openingOf(found)
  if ((sign === '(' || sign === '{') && !(opened !== undefined && SETTER.test(name))) return undefined
  if (opened !== undefined) return quotedSpan(found, opened.opening, opened.start)
  if (sign === '||' || sign === '??') return undefined
  return beginsStructure(found) ? structureSpan(found) : bareSpan(found)
}

function openingOf({
  text,
  valueAt,
  quote,
  closing,
  sign,
  gap,
}: Assignment): { opening: string; start: number } | undefined {
  OPENING.lastIndex = valueAt
  const opening = OPENING.exec(text)?.[1]
  const start = OPENING.lastIndex
  if (opening === undefined) return undefined
  // Python doubles the backslashes of a text but not its quotes. Then only an identical quote can close it.
  if (!isSpelled(opening) && !isLevel(opening) && opening !== closing) return undefined
  // `{"note": "the password:", …}`: the quote after the sign closes the string that contains the name.
  if (opening === quote) return { opening, start }
  // After a line that ends with a colon, it is the docstring of a Python class or function.
  if (TRIPLE.test(opening)) return sign === ':' && LINE_BREAK.test(gap) ? undefined : { opening, start }
  return endOfMatch(CLOSES_INSTEAD, text, start) === -1 ? { opening, start } : undefined
}

function isLevel(opening: string): boolean {
  return quoteLevel(opening, opening.length - 1, 0) === opening.length - 1
}

function quotedSpan(
  { text, isKey, strength, sign }: Assignment,
  opening: string,
  start: number,
): SecretSpan | undefined {
  if (text.startsWith(MASK, start)) return undefined
  const isSame = isSpelled(opening) || !isLevel(opening)
  const end = isSame ? endOfSpelled(text, start, opening) : endOfQuoted(text, start, opening)
  const value = text.slice(start, end)
  if (isPlaceholder(value) || isMode(value)) return undefined
  // `process.env.DB_PASSWORD || 'none'`
  if ((sign === '||' || sign === '??') && !looksRandom(value)) return undefined
  return !isKey && strength === 'weak' && value.length < 6 ? undefined : { start, end }
}

/** True if a bracket opens a structure, as in code or JSON. A password of a `.env` file may begin with a bracket. */
function beginsStructure({ text, valueAt, sign, gap }: Assignment): boolean {
  return /[{[]/.test(text.charAt(valueAt)) && (sign === ':' || gap !== '')
}

/** Masks a whole structure only in JSON, which shows its end. Otherwise the text inside is checked separately. */
function structureSpan({ text, valueAt, isKey, quote }: Assignment): SecretSpan | undefined {
  if (!isKey || isSpelled(quote) || /[}\]]/.test(text.charAt(valueAt + 1))) return undefined
  return { start: valueAt, end: endOfStructure(text, valueAt, quote), mask: `${quote}${MASK}${quote}` }
}

function bareSpan(found: Assignment): SecretSpan | undefined {
  const { text, name, nameStart, valueAt, isKey, sign, gap, quote } = found
  // Headers may contain more than one word.
  if (!isKey && sign !== '') {
    if (holdsCredentials(name)) return credentialsSpan(text, nameStart, valueAt)
    const cookies = COOKIE_HEADER.test(name) ? endOfMatch(COOKIES, text, valueAt) : -1
    if (cookies !== -1)
      return isPlaceholder(text.slice(valueAt, cookies)) ? undefined : { start: valueAt, end: cookies }
  }
  // `PWD` may be a working directory. Checked before searching the end, because a path may contain the name many times.
  if (/^-*pwd$/i.test(name) && endOfMatch(PATH, text, valueAt) !== -1) return undefined
  const end = isKey ? endOfMatch(SCALAR, text, valueAt) : endOfBare(text, valueAt)
  if (end <= valueAt) return undefined
  if (LINE_BREAK.test(gap) && !isAloneOnLine(found, end)) return undefined
  const value = text.slice(valueAt, end)
  if (!isSecretValue(value, text.charAt(end), found)) return undefined
  return isKey ? { start: valueAt, end, mask: `${quote}${MASK}${quote}` } : { start: valueAt, end }
}

/** The line below `password:` may also be the next name, a list, or the code block that the colon begins. */
function isAloneOnLine({ text, nameStart, valueAt, sign, isKey }: Assignment, end: number): boolean {
  if (sign !== ':' || endOfMatch(LINE_IS_OVER, text, end) === -1) return false
  if (isKey) return endOfMatch(NUMBER, text, valueAt) !== -1
  const line = text.slice(Math.max(0, nameStart - 80), nameStart)
  return !STATEMENT.test(line.slice(line.lastIndexOf('\n') + 1)) && !KEYWORD.test(text.slice(valueAt, end))
}

function isSecretValue(value: string, next: string, found: Assignment): boolean {
  const { name, sign, gap, strength, isKey } = found
  if (sign === ':' && gap === '' && SUBCOMMAND.test(value)) return false
  const isGlued = sign === '=' && gap === ''
  if (sign.startsWith('==') && /^[A-Za-z_$][\w.$]*:?$/.test(value)) return false
  if (isPlaceholder(value) || isSpokenOf(value, !isGlued) || isCode(value, name, gap !== '', next)) return false
  if (strength === 'strong' || isKey || sign === '') return true
  return (isGlued && ENVIRONMENT_NAME.test(name)) || looksRandom(value)
}

/** Excludes the sentence's punctuation, and closing brackets without an opening one in the value. */
function endOfBare(text: string, start: number): number {
  const longest = endOfMatch(BARE, text, start)
  if (longest <= start) return start
  const value = text.slice(start, longest)
  // Computed once, because a value can end with any number of brackets.
  const foreign = ['()', '[]', '{}', '<>'].filter(([opening = '']) => !value.includes(opening)).map(pair => pair[1])
  const endings = `.:${foreign.join('')}`
  let end = longest
  while (end > start && endings.includes(text.charAt(end - 1))) end--
  return end
}

export const ASSIGNMENTS: SecretFamily = {
  // Signs and quotes beyond Latin-1 are not listed in a class: that slows each text with such a character.
  candidates:
    /(?:ke[ny]|cre[td]|p(?:ass|wd|sk)|auth|cook|jwt)[\w.-]{0,40}["'`\\\]\s?!*&;%]{0,40}(?:[=:\s<>%,({&;[]|[nrt][\s\\=:+>|-]|u002[27]|[\u0100-\uffff])/gi,
  spanAt(text, at) {
    const found = assignmentAt(text, at)
    return found === undefined || 'end' in found ? found : valueSpan(found)
  },
}

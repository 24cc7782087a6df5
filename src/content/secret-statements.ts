import { endOfQuoted } from './secret-quotes.ts'
import { endOfMatch, MASK, type SecretFamily, type SecretSpan } from './secret-span.ts'
import { isPlaceholder } from './secret-values.ts'

/** SQL with a password but no sign after its name, and logins of Oracle's tools. */

const LONGEST = 512
const IDENTIFIED =
  /\bIDENTIFIED\s{1,8}(?:WITH\s{1,8}\S{1,64}\s{1,8})?(?:BY|AS)\s{1,8}(?:PASSWORD\s{1,8})?(?=\\{0,31}["'])/iy
/** Oracle accepts a password without quotes. */
const UNQUOTED = /\bIDENTIFIED\s{1,8}BY\s{1,8}(?!VALUES\b)(?=[\w$#])/iy
const CREATES_USER = /\b(?:create|alter)\s{1,8}(?:user|role)\s{1,8}\S{1,64}\s{1,8}$/i
const QUOTE = /\\{0,31}["']/y
const BARE_PASSWORD = /[\w$#!%*.-]+/y
/** `sqlplus -S scott/…@db`. The login may be quoted. */
const LOGIN =
  /sql(?:plus|ldr)\s{1,4}(?:-\w{1,8}\s{1,4}(?:\d[\d.]*\s{1,4})?)?(?:userid=)?\\{0,31}["']?\w[\w$#.-]{0,64}\/(?=[\w$#!%"*])/iy
const LOGIN_PASSWORD = /[^\s@"'\\]+/y

function quotedAt(text: string, quoteAt: number): SecretSpan | undefined {
  const start = endOfMatch(QUOTE, text, quoteAt)
  const end = endOfQuoted(text.slice(0, start + LONGEST), start, text.slice(quoteAt, start))
  return isPlaceholder(text.slice(start, end)) ? undefined : { start, end }
}

function bareAt(text: string, start: number, word: RegExp): SecretSpan | undefined {
  const end = start === -1 ? -1 : endOfMatch(word, text, start)
  return end === -1 || text.startsWith(MASK, start) || isPlaceholder(text.slice(start, end))
    ? undefined
    : { start, end }
}

export const STATEMENTS: SecretFamily = {
  candidates: /IDENTIFIED\s/gi,
  spanAt(text, at) {
    const quoteAt = endOfMatch(IDENTIFIED, text, at)
    if (quoteAt !== -1) return quotedAt(text, quoteAt)
    const start = endOfMatch(UNQUOTED, text, at)
    if (start === -1 || !CREATES_USER.test(text.slice(Math.max(0, at - 100), at))) return undefined
    return bareAt(text, start, BARE_PASSWORD)
  },
}

export const ORACLE_LOGINS: SecretFamily = {
  candidates: /sql(?:plus|ldr)\s/gi,
  spanAt(text, at) {
    return bareAt(text, endOfMatch(LOGIN, text, at), LOGIN_PASSWORD)
  },
}

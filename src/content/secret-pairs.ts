import { isHeaderName } from './secret-headers.ts'
import { endOfMatch } from './secret-span.ts'

/**
 * A secret's name and its value as two strings beside each other: `define('DB_PASSWORD', '…')`, `["--token", "…"]`,
 * `{"name": "DB_PASSWORD", "value": "…"}`, `<add key="DB_PASSWORD" value="…">`, and the same over two lines of YAML.
 */

const NAMED_BEFORE = /(?:name|key|header|variable|field)\\{0,31}["']?\s{0,4}[:=]\s{0,4}\\{0,31}["']?$/i
/** Over two lines, which a diff or a listing may number or mark. */
const VALUE_BEHIND =
  /\\{0,31}["']?(?:[\s,+>|]|\\{1,31}[nrt]|\d{1,6}(?=[\s\\→:|])){0,60}\\{0,31}["']?val(?:ue)?\\{0,31}["']?\s{0,4}[:=]\s{0,4}/iy
const COMMA = /\\{0,31}["'`]\s{0,4},\s{0,40}(?=[bfru]{0,2}\\{0,31}["'`])/iy
const SETTER =
  /(?:\b(?:\w*[_.])?(?:set|put|add|define|append|header|insert)\w*|putenv|setenv|[a-z](?:Set|Put|Add)\w*|(?:Header|Item|Property|Env)s?)\(\s*\\{0,31}["'`]$/
/** Not a key, which a colon follows. */
const NEXT_NAME = /[bfru]{0,2}\\{0,31}["'`]([\w.-]{0,80})\\{0,31}["'`](\s{0,8}:)?/iy

const ENVIRONMENT_NAME = /^[A-Z][A-Z\d]*_[A-Z\d_]+$/
const ONLY_NAME = /^(?:[A-Z][A-Z\d_]*|[A-Za-z]+(?:-[A-Za-z]+)*)$/

/** Whether `second` behind `first` in a list is what belongs to it, and not the next name. */
export function isValueOf(first: string, second: string): boolean {
  if (first.startsWith('-')) return !second.startsWith('-')
  return (isHeaderName(first) || ENVIRONMENT_NAME.test(first)) && !ONLY_NAME.test(second)
}

/** A field that says what the field `value` beside it is. */
export function isNameField(key: string): boolean {
  return /^(?:name|key|header|variable|field)$/i.test(key)
}

export function isValueField(key: string): boolean {
  return /^(?:val(?:ue)?|(?:secret|string)_?value)$/i.test(key)
}

/** Where the value begins that belongs to the name; -1 when nothing beside it does. */
export function pairedValueAt(text: string, name: string, start: number, end: number): number {
  const fieldAt = endOfMatch(VALUE_BEHIND, text, end)
  if (fieldAt !== -1 && NAMED_BEFORE.test(textBefore(text, start))) return fieldAt
  const valueAt = `"'\``.includes(text.charAt(start - 1) || ' ') ? endOfMatch(COMMA, text, end) : -1
  if (valueAt === -1) return -1
  if (SETTER.test(textBefore(text, start))) return valueAt
  NEXT_NAME.lastIndex = valueAt
  const [, next = ' ', colon] = NEXT_NAME.exec(text) ?? []
  return colon === undefined && isValueOf(name, next) ? valueAt : -1
}

function textBefore(text: string, start: number): string {
  return text.slice(Math.max(0, start - 50), start)
}

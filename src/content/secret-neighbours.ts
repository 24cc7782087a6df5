import { keepAll } from './clip.ts'
import { isHeaderName } from './secret-credentials.ts'
import { saysValueIsSecret } from './secret-records.ts'
import { endOfMatch, MASK } from './secret-span.ts'

/**
 * A secret's name and its value as two adjacent strings: `define('DB_PASSWORD', '…')`, `["--token", "…"]`, `{"name":
 * "DB_PASSWORD", "value": "…"}`, `<add key="DB_PASSWORD" value="…">`, and the same on two lines of YAML.
 */

const NAMED_BEFORE = /(?:name|key|header|variable|field|label)\\{0,31}["']?\s{0,4}[:=]\s{0,4}\\{0,31}["']?$/i
/** May span two lines, with the line numbers or marks of a listing or diff. */
const VALUE_BEHIND =
  /\\{0,31}["']?(?:[\s,+>|-]|\\{1,31}[nrt]|\d{1,6}(?=[\s\\→:|])){0,60}\\{0,31}["']?val(?:ue)?\\{0,31}["']?\s{0,4}[:=]\s{0,4}/iy
/** Terraform: `variable "db_password" { … default = "…" }` */
const TERRAFORM_BEFORE = /\bvariable\s{1,4}\\{0,31}"$/
const TERRAFORM_DEFAULT = /\\{0,31}"\s{0,4}\{[^{}]{0,400}?\bdefault\s{0,20}=\s{0,8}/y
/** `add_argument("--password", default="…")` */
const ARGUMENT_DEFAULT =
  /\\{0,31}["'](?:\s{0,4},\s{0,4}\\{0,31}["']-\w{1,3}\\{0,31}["'])?\s{0,4},\s{0,40}(?:[^()"'\\]{0,80}?\b)?default\s{0,2}=\s{0,2}/y
const COMMA = /\\{0,31}["'`]\s{0,4},\s{0,40}(?=[bfru]{0,2}\\{0,31}["'`])/iy
const SETTER =
  /(?:\b(?:\w*[_.])?(?:set|put|add|define|append|header|insert)\w*|putenv|setenv|[a-z](?:Set|Put|Add)\w*|(?:Header|Item|Property|Env)s?)\(\s*\\{0,31}["'`]$/
/** The next string. With a colon after it, it is a key. */
const NEXT_NAME = /[bfru]{0,2}\\{0,31}["'`]([\w.-]{0,80})\\{0,31}["'`](\s{0,8}:)?/iy

const NAME_FIELD = /^(?:name|key|header|variable|field|label)$/i
const VALUE_FIELD = /^(?:val(?:ue)?|(?:secret|string)_?value)$/i
const ENVIRONMENT_NAME = /^[A-Z][A-Z\d]*_[A-Z\d_]+$/
const ONLY_NAME = /^(?:[A-Z][A-Z\d_]*|[A-Za-z]+(?:-[A-Za-z]+)*)$/

function isValueOf(first: string, second: string): boolean {
  if (first.startsWith('-')) return !second.startsWith('-')
  return (isHeaderName(first) || ENVIRONMENT_NAME.test(first)) && !ONLY_NAME.test(second)
}

export function pairedValueAt(text: string, name: string, start: number, end: number): number {
  const fieldAt = endOfMatch(VALUE_BEHIND, text, end)
  if (fieldAt !== -1 && NAMED_BEFORE.test(textBefore(text, start))) return fieldAt
  if (!`"'\``.includes(text.charAt(start - 1) || ' ')) return -1
  const defaultAt = defaultValueAt(text, name, start, end)
  if (defaultAt !== -1) return defaultAt
  const valueAt = endOfMatch(COMMA, text, end)
  if (valueAt === -1) return -1
  if (SETTER.test(textBefore(text, start))) return valueAt
  NEXT_NAME.lastIndex = valueAt
  const [, next = ' ', colon] = NEXT_NAME.exec(text) ?? []
  return colon === undefined && isValueOf(name, next) ? valueAt : -1
}

function defaultValueAt(text: string, name: string, start: number, end: number): number {
  if (name.startsWith('-')) return endOfMatch(ARGUMENT_DEFAULT, text, end)
  return TERRAFORM_BEFORE.test(textBefore(text, start)) ? endOfMatch(TERRAFORM_DEFAULT, text, end) : -1
}

function textBefore(text: string, start: number): string {
  return text.slice(Math.max(0, start - 50), start)
}

export interface Masking {
  leaf(text: string): string
  isSecret(key: string): boolean
  readonly readsShortKeys?: boolean
}

const REACH = 200
const MAX_ARGUMENT = 2000

/** Detects secrets by their neighbours in one container: flag and argument, header name, `name` beside `value`. */
export class Neighbours {
  #previous = ''
  /** The strings of a list so far, joined to one command line. */
  #line = ''
  #isNamed = false

  /** The function that masks the list's next string, even if only the preceding ones show that it is a secret. */
  leafOf(masking: Masking): (text: string) => string {
    return masking.leaf === keepAll ? keepAll : text => this.#element(text, masking)
  }

  #element(text: string, { leaf, isSecret }: Masking): string {
    const redacted = leaf(text)
    const isHidden = this.#isSecretArgument(redacted, leaf, isSecret)
    this.#previous = text.length <= REACH ? text : ''
    this.#line = `${this.#line} ${text.slice(0, REACH)}`.slice(-REACH)
    return isHidden ? MASK : redacted
  }

  #isSecretArgument(text: string, leaf: Masking['leaf'], isSecret: Masking['isSecret']): boolean {
    const first = this.#previous
    if (first === '' || text === '' || text.length > MAX_ARGUMENT) return false
    if (isSecret(first) && isValueOf(first, text)) return true
    if (text.includes(MASK) || (!first.startsWith('-') && !text.startsWith('-'))) return false
    // After its flag, an argument is one word, whatever it contains.
    const word = text.replace(/\s/g, '_')
    return !leaf(`${this.#line} ${word}`).endsWith(` ${word}`)
  }

  isSecretField(key: string): boolean {
    return this.#isNamed && VALUE_FIELD.test(key)
  }

  field(key: string, text: string, { isSecret }: Masking): void {
    if ((NAME_FIELD.test(key) && isSecret(text)) || saysValueIsSecret(key, text)) this.#isNamed = true
  }
}

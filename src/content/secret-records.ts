import { PRIVATE_KEYS } from './secret-private-keys.ts'
import { SPACE } from './secret-quotes.ts'
import { endOfMatch, MASK, maskInRounds, maskSpans, type SecretFamily, type SecretSpan } from './secret-span.ts'

/**
 * Records with a field that marks another value as secret: the data of a Kubernetes `Secret`, a private JWK, an SSM parameter
 * of type `SecureString`. Only text between quotes is masked in JSON, so that it stays valid.
 */

const QUOTE = String.raw`\\{0,31}["']?`
const COLON = String.raw`${QUOTE}\s{0,8}:\s{0,8}`

/** Scanned distance around the field that identifies a record. */
export const RECORD_REACH = 8192

const KIND_BEFORE = new RegExp(`kind${COLON}${QUOTE}$`)
const IS_SECRET = /Secret(?:List)?(?![\w-])/y
const DATA = new RegExp(
  String.raw`(?:^|[\s"'+>|-]|\\{1,31}[nt"'])(?:stringData|data)${QUOTE}[ \t]{0,8}:(?:${SPACE}{0,40}(?=\{))?`,
  'g',
)
const OF_JSON = new RegExp(String.raw`(${QUOTE}[\w.-]{1,80}${COLON}\\{0,31}["'])([^"'\\]{1,4096})(?=\\{0,31}["'])`, 'g')
const LINE_END = String.raw`(?:\r?\n|\\{1,31}n)`
const MARK = String.raw`(?: {0,8}\d{1,6}(?:[\t→:|]|\\{1,31}t)|[+>|-](?=\s))?`
/** A line of YAML that is indented more than `data:`, or blank. */
const OF_YAML = new RegExp(
  String.raw`(${LINE_END}${MARK}(?: |\t){1,60}(?:${QUOTE}[\w.-]{1,80}${QUOTE}:[ \t]{1,8})?\\{0,31}["']?)((?:[^\s"'\\]|\\(?!\\{0,31}[nrt"']))(?:[^\r\n"'\\]|\\(?!\\{0,31}[nr"']))*)`,
  'y',
)
const BLOCK_HEAD = /^[|>][-+\d]{0,2}$/
const NEXT_RECORD = new RegExp(String.raw`${LINE_END}(?:${MARK}|[+>|-])[ \t]{0,40}---`, 'g')
const QUOTE_OF_STRING = /(?<!\\)"/g

const KIND = new RegExp(`kind${COLON}`, 'y')

function around(text: string, at: number): { from: number; record: string } {
  let before = text.slice(Math.max(0, at - RECORD_REACH), at)
  let behind = text.slice(at, at + RECORD_REACH)
  const last = before.lastIndexOf('kind', before.length - 34)
  if (last > 0 && endOfMatch(KIND, before, last) !== -1) before = before.slice(last)
  const next = behind.indexOf('kind')
  if (next !== -1 && endOfMatch(KIND, behind, next) !== -1) behind = behind.slice(0, next)
  const from = at - before.length
  let start = lastEnd(before, NEXT_RECORD)
  let end = firstStart(behind, NEXT_RECORD)
  // YAML in a JSON string: the record ends with the string.
  if (/\\n[^"]{0,80}$/.test(before)) {
    start = Math.max(start, lastEnd(before, QUOTE_OF_STRING))
    end = Math.min(end, firstStart(behind, QUOTE_OF_STRING))
  }
  return { from: from + start, record: text.slice(from + start, at + end) }
}

function lastEnd(text: string, border: RegExp): number {
  let end = 0
  for (const found of text.matchAll(border)) end = found.index + found[0].length
  return end
}

function firstStart(text: string, border: RegExp): number {
  border.lastIndex = 0
  return border.exec(text)?.index ?? text.length
}

function kubernetesAt(text: string, at: number): SecretSpan | undefined {
  if (endOfMatch(IS_SECRET, text, at) === -1) return undefined
  if (!KIND_BEFORE.test(text.slice(Math.max(0, at - 40), at))) return undefined
  const { from, record } = around(text, at)
  DATA.lastIndex = 0
  for (let hit = DATA.exec(record); hit !== null; hit = DATA.exec(record)) {
    const span = dataSpan(record, DATA.lastIndex)
    if (span !== undefined) return { start: from + span.start, end: from + span.end, mask: span.mask ?? MASK }
  }
  return undefined
}

function dataSpan(record: string, at: number): SecretSpan | undefined {
  if (record.charAt(at) === '{') {
    const close = record.indexOf('}', at)
    const end = close === -1 ? record.length : close
    return changed(record, at, end, record.slice(at, end).replace(OF_JSON, maskedUnlessEmpty))
  }
  let mask = ''
  let end = at
  for (;;) {
    OF_YAML.lastIndex = end
    const [whole, before = '', value = ''] = OF_YAML.exec(record) ?? []
    if (whole === undefined) break
    end += whole.length
    mask += before + (BLOCK_HEAD.test(value) || value === '' ? value : MASK)
    if (/["']/.test(record.charAt(end)) || record.startsWith('\\"', end)) {
      const quote = /^\\{0,31}["']/.exec(record.slice(end))?.[0] ?? ''
      mask += quote
      end += quote.length
    }
  }
  return changed(record, at, end, mask)
}

function maskedUnlessEmpty(_: string, before: string): string {
  return before + MASK
}

function changed(text: string, start: number, end: number, mask: string): SecretSpan | undefined {
  return mask === text.slice(start, end) ? undefined : { start, end, mask }
}

const PRIVATE_MEMBER = new RegExp(String.raw`(\\{0,31}["'](?:d|p|q|dp|dq|qi|k)${COLON}\\{0,31}["'])([\w-]{20,})`, 'g')
const IS_KEY_TYPE = new RegExp(String.raw`kty${COLON}\\{0,31}["'](?:RSA|EC|OKP|oct)\b`, 'y')

/** The private members of a JSON web key, before and after its `kty`. Another `kty` belongs to another key. */
function jsonWebKeyAt(text: string, at: number): SecretSpan | undefined {
  if (endOfMatch(IS_KEY_TYPE, text, at) === -1) return undefined
  const before = text.slice(Math.max(0, at - RECORD_REACH), at)
  const behind = text.slice(at, at + RECORD_REACH)
  const start = at - before.length + Math.max(0, before.lastIndexOf('{'), before.lastIndexOf('kty'))
  const ends = [behind.indexOf('}'), behind.indexOf('kty', 1)].filter(end => end !== -1)
  const end = at + Math.min(behind.length, ...ends)
  return changed(text, start, end, text.slice(start, end).replace(PRIVATE_MEMBER, maskedUnlessEmpty))
}

/** `"Type": "SecureString", "Value": "…"` */
const SECURE_VALUE = new RegExp(
  String.raw`SecureString${QUOTE}(?:${SPACE}|[,+>|→:-]|\d{1,6}(?=[\t→:|]|\\{1,31}t)){1,60}${QUOTE}[vV]alue${COLON}(?:\\{0,31}["'])?`,
  'y',
)
const VALUE = /(?:[^\s"'\\]|\\(?!\\{0,31}[nrt"']))+/y
const QUOTED = /(?:[^"'\\]|\\(?!\\{0,31}["']))+/y

function secureStringAt(text: string, at: number): SecretSpan | undefined {
  const start = endOfMatch(SECURE_VALUE, text, at)
  if (start === -1 || text.startsWith(MASK, start)) return undefined
  const end = endOfMatch(/["']/.test(text.charAt(start - 1)) ? QUOTED : VALUE, text, start)
  return end === -1 ? undefined : { start, end }
}

/** `"keyName": "key1", …, "value": "…"` */
const NAMED_KEY = new RegExp(String.raw`keyName${COLON}[^{}]{1,200}?\bvalue${COLON}\\{0,31}["']`, 'y')
/** `"key1": "…"`, `"primaryKey": "…"`: Azure's names of the two keys of a service. */
const ORDINAL_KEY = new RegExp(
  String.raw`(?:key[12]|(?:primary|secondary)Key)\\{0,31}["']${COLON}\\{0,31}["'](?=[A-Za-z\d+/]{32})`,
  'y',
)
const AZURE_NAMES = new Set(['keyName', 'key1', 'key2', 'primaryKey', 'secondaryKey'])
const BASE64 = /[A-Za-z\d+/]{32,}={0,2}/y

export function azureKeyAt(text: string, name: string, at: number): SecretSpan | undefined {
  if (!AZURE_NAMES.has(name)) return undefined
  const start = Math.max(endOfMatch(ORDINAL_KEY, text, at), endOfMatch(NAMED_KEY, text, at))
  const end = start === -1 ? -1 : endOfMatch(BASE64, text, start)
  return end !== -1 && looksEncoded(text.slice(start, end)) ? { start, end } : undefined
}

function looksEncoded(value: string): boolean {
  return /\d/.test(value) && /[a-z]/.test(value)
}

/** Azure's keys are omitted: `ASSIGNMENTS` finds them, because it stops at their names anyway. */
export const RECORDS: SecretFamily = {
  candidates: /[Sk][et][cy](?:ret["'\s\\]|ureString|["'\\])/g,
  hints: ['Sec', 'kty'],
  spanAt(text, at) {
    if (text.charAt(at) === 'k') return jsonWebKeyAt(text, at)
    return text.charAt(at + 3) === 'u' ? secureStringAt(text, at) : kubernetesAt(text, at)
  },
}

/** Used before JSON is split into strings, because a single string does not show its name. */
const AZURE_KEYS: SecretFamily = {
  candidates: /key(?:Name|[12])|(?:prim|second)aryKey/g,
  hints: ['keyName', 'key1', 'key2', 'Key'],
  spanAt(text, at) {
    return azureKeyAt(text, /^[A-Za-z12]*/.exec(text.slice(at, at + 12))?.[0] ?? '', at)
  },
}

export function saysValueIsSecret(key: string, text: string): boolean {
  if (/^type$/i.test(key)) return text === 'SecureString' || text === 'CONCEALED'
  return (
    key === 'keyName' || ((key === 'id' || key === 'kid') && /\.vault\.azure\.net\/secrets\//.test(text.slice(0, 200)))
  )
}

const MEMBERS = new Set('data stringData d p q dp dq qi k key1 key2 primaryKey secondaryKey'.split(' '))

/** True if the kind of object makes the field secret. `sibling` reads another field of it. */
export function isSecretMember(key: string, value: unknown, sibling: (key: string) => unknown): boolean {
  if (!MEMBERS.has(key)) return false
  if (key === 'data' || key === 'stringData') return sibling('kind') === 'Secret'
  if (typeof value !== 'string') return false
  if (key.length > 2) return /^[A-Za-z\d+/]{32,}={0,2}$/.test(value) && looksEncoded(value)
  return value.length >= 20 && typeof sibling('kty') === 'string'
}

/**
 * Masks secrets that only the whole text identifies, not a single string of its JSON: records, and private keys as lists of
 * lines.
 */
export function maskRecords(text: string): string {
  const mask = (plain: string): string => maskSpans(maskSpans(maskSpans(plain, PRIVATE_KEYS), AZURE_KEYS), RECORDS)
  // A later round finds further values of a record.
  return maskInRounds(text, mask, masked => maskSpans(masked, RECORDS))
}

import { SPACE } from './secret-quotes.ts'
import { endOfMatch, type SecretSpan } from './secret-span.ts'
import { isPlaceholder, looksRandom } from './secret-values.ts'

/** XML and HTML: `<password type="x">…</password>`, `<entry key="password">…</entry>`, `<key>Password</key><string>…`. */

const MAX_ELEMENT = 4096
const LESS = String.raw`(?:<|&(?:amp;)?lt;|\\{1,31}u003[cC])`
const GREATER = String.raw`(?:>|&(?:amp;)?gt;|\\{1,31}u003[eE])`
/** Between two elements, with optional diff marks. */
const GAP = String.raw`(?:${SPACE}|[+→:|-]|\d{1,6}(?=[\t→:|]|\\{1,31}t)){0,40}`

const TAG_BEFORE = new RegExp(String.raw`${LESS}(?:[\w-]{1,30}:)?$`)
const TAG_END = new RegExp(String.raw`(\s[^<>]{0,300}?)?(?<!\/)${GREATER}`, 'y')
const KEY_BEFORE = /<[\w-]{0,30}(?:key|name)>\s{0,8}$/i
const VALUE_BEHIND = new RegExp(
  String.raw`\s{0,8}<\/[\w-]{1,30}>${GAP}(?:<[\w-]{1,30}>[^<>]{0,80}<\/[\w-]{1,30}>${GAP})?<(?:string|[\w-]{0,30}value)>`,
  'iy',
)
const ATTRIBUTE_BEFORE = /<([\w:.-]{1,30})\s(?:[^<>]{0,60}\s)?(?:name|key|id)=\\{0,31}["']$/i
const ATTRIBUTE_END = new RegExp(String.raw`\\{0,31}["'](?:\s[^<>]{0,200}?)?(?<!\/)>${GAP}(?:<value>${GAP})?`, 'y')
const CDATA = new RegExp(String.raw`${GAP}<!\[CDATA\[`, 'y')
const NEXT_TAG = new RegExp(LESS)
const IS_CLOSED = new RegExp(String.raw`${LESS}(?:\/|%2F)`, 'y')
/** Elements with a setting as their text. The text of other elements may be a label. */
const OF_SETTINGS = /^(?:entry|property|prop|constant|param|parameter|arg|config|setting|add|env|variable|attribute)$/i

interface Element {
  readonly valueAt: number
  readonly hasAttributes: boolean
  /** True if the text may be visible text of a page. */
  readonly mayBeLabel: boolean
}

function elementAt(text: string, start: number, end: number): Element | undefined {
  const last = text.charAt(start - 1)
  if (!`<:;cC>"'`.includes(last === '' ? ' ' : last)) return undefined
  const before = text.slice(Math.max(0, start - 110), start)
  if (last === '>') {
    const valueAt = KEY_BEFORE.test(before) ? endOfMatch(VALUE_BEHIND, text, end) : -1
    return valueAt === -1 ? undefined : { valueAt, hasAttributes: false, mayBeLabel: false }
  }
  if (last === '"' || last === "'") {
    const tag = ATTRIBUTE_BEFORE.exec(before)?.[1]
    const valueAt = tag === undefined ? -1 : endOfMatch(ATTRIBUTE_END, text, end)
    return valueAt === -1 ? undefined : { valueAt, hasAttributes: true, mayBeLabel: !OF_SETTINGS.test(tag ?? '') }
  }
  if (!TAG_BEFORE.test(before)) return undefined
  TAG_END.lastIndex = end
  const tagEnd = TAG_END.exec(text)
  if (tagEnd === null) return undefined
  const hasAttributes = tagEnd[1] !== undefined
  // `<Password label="…">Type it here</Password>` is a component of a page.
  return { valueAt: TAG_END.lastIndex, hasAttributes, mayBeLabel: hasAttributes && /[A-Z]/.test(text.charAt(start)) }
}

/** The value of the element with this name. `none` if the element contains no secret. */
export function elementSpan(text: string, start: number, end: number): SecretSpan | 'none' | undefined {
  const element = elementAt(text, start, end)
  if (element === undefined) return undefined
  const { hasAttributes, mayBeLabel } = element
  const content = endOfMatch(CDATA, text, element.valueAt)
  const valueAt = content === -1 ? element.valueAt : content
  const reach = text.slice(valueAt, valueAt + MAX_ELEMENT)
  const length = content === -1 ? reach.search(NEXT_TAG) : reach.indexOf(']]>')
  const isClosed = content !== -1 || (length !== -1 && endOfMatch(IS_CLOSED, text, valueAt + length) !== -1)
  const value = length === -1 ? reach : reach.slice(0, length)
  if (isPlaceholder(value) || !/\w/.test(value)) return 'none'
  if (!isClosed && (hasAttributes || /[\s"]/.test(value))) return 'none'
  if (content === -1 && /"\s*[,:}\]]/.test(value)) return 'none'
  if (mayBeLabel && (/\s/.test(value.trim()) || !looksRandom(value.trim()))) return 'none'
  return { start: valueAt, end: valueAt + value.length }
}

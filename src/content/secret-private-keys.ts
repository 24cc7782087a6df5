import { afterEscape, endOfMatch, MASK, type SecretFamily, type SecretSpan } from './secret-span.ts'

const PRIVATE_KEY_HEAD = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const PRIVATE_KEY_TAIL = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/
const MAX_PRIVATE_KEY = 16_384

/** A block without an END line was truncated: it extends to the closing quote, or else to the end of the text. */
function privateKeyAt(text: string, start: number): SecretSpan | undefined {
  const body = endOfMatch(PRIVATE_KEY_HEAD, text, start)
  if (body === -1) return undefined
  const tail = PRIVATE_KEY_TAIL.exec(text.slice(body, body + MAX_PRIVATE_KEY))
  if (tail !== null) return { start, end: body + tail.index + tail[0].length }
  let end = text.indexOf('"', body)
  if (end === -1) end = text.length
  while (end > body && text.charCodeAt(end - 1) === 92) end--
  // If the key is a list of lines, the next strings belong to it as well.
  for (let next = end; next !== -1 && next - start < MAX_PRIVATE_KEY; next = endOfMatch(NEXT_STRING, text, end))
    end = next
  return { start, end }
}

const NEXT_STRING = /\\{0,31}["']\s{0,4},\s{0,40}\\{0,31}["'][A-Za-z0-9+/]{16,100}={0,2}(?=\\{0,31}["'])/y
const PRIVATE_KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const LINE_BREAK =
  /(?:(?:\s|\\{1,31}[nrt])+(?:(?:[+>|-]{1,2}|\d{1,6}[→:|]?)(?:\s|\\{1,31}[nrt])*-?)?|\\{0,31}["']\s{0,4},\s{0,40}\\{0,31}["'])$/
const KEY_LINE = /[A-Za-z0-9+/=]{1,100}$/

/** The lines before an END line without its BEGIN. They must look like a key. Only the last one may be short. */
function privateKeyTailAt(text: string, at: number): SecretSpan | undefined {
  const end = endOfMatch(PRIVATE_KEY_END, text, at)
  if (end === -1) return undefined
  let start = at
  for (let shortest = 1; at - start < MAX_PRIVATE_KEY; shortest = 30) {
    const before = text.slice(Math.max(0, start - 120), start)
    const gap = LINE_BREAK.exec(before)?.[0].length ?? 0
    const line = KEY_LINE.exec(before.slice(0, before.length - gap))?.[0] ?? ''
    if (gap === 0 || line.length < shortest) break
    start -= gap + line.length
    start = afterEscape(text, start)
  }
  return start === at ? undefined : { start, end }
}

export const PRIVATE_KEYS: SecretFamily = {
  candidates: /-----[BE]/g,
  hints: ['-----'],
  spanAt(text, at) {
    return text[at + 5] === 'B' ? privateKeyAt(text, at) : privateKeyTailAt(text, at)
  },
}

const OPENS_KEY = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/
const LINE_OF_KEY = /^(?:[\s\d]{0,12}[|:→>+-]?\s{0,4})?[A-Za-z0-9+/]{16,100}={0,2}\s*$/
const HEADER_OF_KEY = /^[\w-]{1,40}: /
const MAX_LINES = 400

/** Masks the lines of a private key that are separate strings, as in a list of lines or of numbered objects. */
export function acrossStrings(leaf: (text: string) => string): (text: string) => string {
  let linesLeft = 0
  return text => {
    if (linesLeft > 0) {
      linesLeft--
      if (LINE_OF_KEY.test(text)) return MASK
      if (/\s/.test(text) && !HEADER_OF_KEY.test(text)) linesLeft = 0
    }
    const masked = leaf(text)
    if (masked !== text && OPENS_KEY.test(text.slice(-200))) linesLeft = MAX_LINES
    return masked
  }
}

import { endOfMatch } from './secret-span.ts'

/**
 * Finds the end of a quoted or bracketed value in text that may be JSON inside JSON. `opening` is the quote with its
 * backslashes (`"`, `\"`, `\\\"`).
 */

const BACKSLASH = 92

/** White space, and the end of a line, including their escaped forms in JSON: `\t`, `\n`, `\\n`. */
export const SPACE: string = String.raw`(?:\s|\\{1,31}[nrt])`

export const LINE_END: string = String.raw`(?:\r?\n|(?:\\{1,31}r)?\\{1,31}n)`

/** `'\''` and `'"'"'` in a quoted command. */
const OF_SHELL = String.raw`\\{0,31}'\\{1,31}'\\{0,31}'|\\{0,31}'\\{0,31}"\\{0,31}'\\{0,31}"\\{0,31}'`
/** `"""` of TOML and Python; `""` of CSV. */
const REPEATED = [
  ...[0, 1, 3, 7, 15].flatMap(level => [`"`, `'`].map(quote => `(?:\\\\{${level}}${quote}){3}`)),
  String.raw`""(?=\w|\s?:)`,
].join('|')
/** HTML entities, URL encoding, JSON escapes, typographic quotes. */
const ENCODED = String.raw`&(?:amp;){0,2}(?:quot|apos|#34|#39|#x2[27]);|%2[27]|\\{1,31}u002[27]|[“”‘’「」]`

export const QUOTE: string = String.raw`(?:${OF_SHELL}|${REPEATED}|${ENCODED}|\\{0,31}["'\`])`

const PLAIN = /^\\{0,31}["'`]$/

export function isSpelled(quote: string): boolean {
  return !PLAIN.test(quote)
}

const MAX_SPELLED = 4096
const CURLY_ENDS: Readonly<Record<string, string>> = { '“': '”', '‘': '’', '「': '」' }

export function endOfSpelled(text: string, from: number, opening: string): number {
  // A slice limits the search, which would otherwise run to the end of the text for each value.
  const within = text.slice(from, from + MAX_SPELLED)
  const length = within.indexOf(CURLY_ENDS[opening] ?? opening)
  return from + (length === -1 ? within.length : length)
}

/**
 * The escaping level of a quote: JSON inside JSON has 1 backslash, one level deeper 3, then 7. Other backslashes before it
 * belong to the content: `\\\\"` is two escaped backslashes and a quote of level 0.
 */
export function quoteLevel(text: string, at: number, from: number): number {
  let count = 0
  while (at - count > from && text.charCodeAt(at - count - 1) === BACKSLASH) count++
  let level = 0
  for (let rest = count; rest % 2 === 1; rest = (rest - 1) / 2) level = level * 2 + 1
  return level
}

const JSON_AFTER_STRING = /"\s*(?:[,:}\]]|$)/y

function endsJsonString(text: string, at: number): boolean {
  return quoteLevel(text, at, 0) === 0 && endOfMatch(JSON_AFTER_STRING, text, at) !== -1
}

function endOfJsonString(text: string, from: number, limit: number): number {
  const within = text.slice(from, limit)
  for (let at = within.indexOf('"'); at !== -1; at = within.indexOf('"', at + 1)) {
    if (endsJsonString(text, from + at)) return from + at
  }
  return limit
}

/** The end of the content that begins at `from`. The end of the text if it was truncated before its closing quote. */
export function endOfQuoted(text: string, from: number, opening: string): number {
  const quote = opening.charAt(opening.length - 1)
  const level = opening.length - 1
  for (let at = text.indexOf(quote, from); at !== -1; at = text.indexOf(quote, at + 1)) {
    const found = quoteLevel(text, at, from)
    // A quote of a lower level closes the text around the value.
    if (found > level) continue
    const end = at - found
    // `--secret-string '{"user": "bob"}'`: the double quotes belong to the value.
    const isJson = '{['.includes(text.charAt(from)) && '}]'.includes(text.charAt(end - 1))
    return quote === '"' || isJson ? end : endOfJsonString(text, from, end)
  }
  return quote === '"' ? text.length : endOfJsonString(text, from, text.length)
}

/** The end of the object or array that begins at `from`, including its bracket. The end of the text if it was truncated. */
export function endOfStructure(text: string, from: number, opening: string): number {
  const quote = opening.charAt(opening.length - 1)
  const level = opening.length - 1
  const marks = /[{}[\]"']/g
  marks.lastIndex = from
  let depth = 0
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    const at = mark.index
    if (mark[0] === quote) {
      const found = quoteLevel(text, at, from)
      if (found < level) return at - found
      if (found === level) marks.lastIndex = endOfQuoted(text, at + 1, opening) + opening.length
    } else if (mark[0] === '"' || mark[0] === "'") {
      if (mark[0] === '"' && endsJsonString(text, at)) return at
    } else {
      depth += mark[0] === '{' || mark[0] === '[' ? 1 : -1
      if (depth === 0) return at + 1
    }
  }
  return text.length
}

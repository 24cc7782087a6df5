import { endOfMatch } from './secret-span.ts'

/**
 * Where a quoted value or a bracketed one ends, in text that may be JSON inside JSON: `opening` is the quote as it
 * stands there, with its backslashes (`"`, `\"`, `\\\"`).
 */

const BACKSLASH = 92

/**
 * How deep a quote is escaped: JSON inside JSON writes it with 1 backslash, once more inside JSON with 3, then 7. What
 * stands in front of those is the content's: in `\\\\"` two escaped backslashes and a quote of level 0.
 */
export function quoteLevel(text: string, at: number, from: number): number {
  let count = 0
  while (at - count > from && text.charCodeAt(at - count - 1) === BACKSLASH) count++
  let level = 0
  for (let rest = count; rest % 2 === 1; rest = (rest - 1) / 2) level = level * 2 + 1
  return level
}

const JSON_AFTER_STRING = /"\s*(?:[,:}\]]|$)/y

/** Whether a double quote can be the end of a JSON string, going by what follows it. */
function endsJsonString(text: string, at: number): boolean {
  return quoteLevel(text, at, 0) === 0 && endOfMatch(JSON_AFTER_STRING, text, at) !== -1
}

/** A lone apostrophe inside a JSON string must not reach beyond that string: the first double quote that ends one. */
function endOfJsonString(text: string, from: number, limit: number): number {
  // A slice copies nothing, and keeps the search from running to the end of the text for each of many values.
  const within = text.slice(from, limit)
  for (let at = within.indexOf('"'); at !== -1; at = within.indexOf('"', at + 1)) {
    if (endsJsonString(text, from + at)) return from + at
  }
  return limit
}

/** The end of the content that begins at `from`; the end of the text when it was cut off before its closing quote. */
export function endOfQuoted(text: string, from: number, opening: string): number {
  const quote = opening.charAt(opening.length - 1)
  const level = opening.length - 1
  for (let at = text.indexOf(quote, from); at !== -1; at = text.indexOf(quote, at + 1)) {
    const found = quoteLevel(text, at, from)
    // Less deep: it closes the text around the value.
    if (found <= level) return quote === '"' ? at - found : endOfJsonString(text, from, at - found)
  }
  return quote === '"' ? text.length : endOfJsonString(text, from, text.length)
}

/** The end of the object or array that begins at `from`, brackets included; the end of the text when it was cut off. */
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

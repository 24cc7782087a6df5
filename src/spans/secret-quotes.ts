/**
 * Where a quoted value or a bracketed one ends, in text that may be JSON inside JSON: `opening` is the quote as it
 * stands there, with its backslashes (`"`, `\"`, `\\\"`).
 */

const BACKSLASH = 92

function backslashesBefore(text: string, at: number, from: number): number {
  let count = 0
  while (at - count > from && text.charCodeAt(at - count - 1) === BACKSLASH) count++
  return count
}

/**
 * With `level` backslashes in front of the opening quote, a quote belongs to the content when it has more than that
 * (the content's own escapes come in steps of twice as many); with fewer, it closes the text around the value.
 */
function closingDepth(text: string, at: number, from: number, level: number): number | undefined {
  const depth = backslashesBefore(text, at, from) % (2 * (level + 1))
  return depth <= level ? depth : undefined
}

/** The end of the content that begins at `from`; the end of the text when it was cut off before its closing quote. */
export function endOfQuoted(text: string, from: number, opening: string): number {
  const quote = opening.charAt(opening.length - 1)
  const level = opening.length - 1
  for (let at = text.indexOf(quote, from); at !== -1; at = text.indexOf(quote, at + 1)) {
    const depth = closingDepth(text, at, from, level)
    if (depth !== undefined) return at - depth
  }
  if (quote === '"') return text.length
  // A lone apostrophe inside a JSON string: the string's own quote ends it.
  const outer = text.indexOf('"', from)
  return outer === -1 ? text.length : outer - backslashesBefore(text, outer, from)
}

/** The end of the object or array that begins at `from`, brackets included; the end of the text when it was cut off. */
export function endOfStructure(text: string, from: number, opening: string): number {
  const quote = opening.charAt(opening.length - 1)
  const level = opening.length - 1
  const marks = quote === "'" ? /[{}[\]']/g : /[{}[\]"]/g
  marks.lastIndex = from
  let depth = 0
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    const at = mark.index
    if (mark[0] === quote) {
      const closing = closingDepth(text, at, from, level)
      if (closing !== undefined && closing < level) return at - closing
      if (closing === level) marks.lastIndex = endOfQuoted(text, at + 1, opening) + opening.length
    } else {
      depth += mark[0] === '{' || mark[0] === '[' ? 1 : -1
      if (depth === 0) return at + 1
    }
  }
  return text.length
}

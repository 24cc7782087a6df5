/**
 * A string (kept as it is), or what JSON has no word for: Python writes it all the same, and an event is lost with it. A string matches
 * to its end wherever the text is cut off, also behind a backslash: a quote that did not match would have all that follows scanned anew.
 */
const STRING_OR_BARE_NUMBER = /"(?:[^"\\]|\\.)*(?:"|\\?$)|-?\b(?:NaN|Infinity)\b/gs

/**
 * JSON in which a number may be a bare NaN or Infinity; these are null.
 *
 * @throws SyntaxError
 */
export function parseEventJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const repaired = text.replace(STRING_OR_BARE_NUMBER, found => (found.startsWith('"') ? found : 'null'))
    if (repaired === text) throw error
    return parseRepaired(repaired)
  }
}

/** Where it is wrong would be said of a text that nobody has written. */
function parseRepaired(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new SyntaxError('not JSON')
  }
}

/** Of a line of a file, or of an answer: undefined where it is no JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

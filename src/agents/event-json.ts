/**
 * Matches a string (kept) or a bare NaN or Infinity, which Python writes although JSON forbids it. A string matches up to the end
 * of the text if it is cut off, even after a backslash. Otherwise the rest would be rescanned from each unmatched quote.
 */
const STRING_OR_BARE_NUMBER = /"(?:[^"\\]|\\.)*(?:"|\\?$)|-?\b(?:NaN|Infinity)\b/gs

/**
 * Parses JSON in which a number may be a bare NaN or Infinity; these become null.
 *
 * @throws SyntaxError
 */
export function parseEventJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const repaired = text.replace(STRING_OR_BARE_NUMBER, found => (found.startsWith('"') ? found : 'null'))
    if (repaired === text) throw error
    const parsed = jsonIn(repaired)
    // Without a position, which would refer to the repaired text instead of the original.
    if (parsed === undefined) throw new SyntaxError('not JSON')
    return parsed
  }
}

export function jsonIn(text: string, otherwise?: unknown): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return otherwise
  }
}

/** No hook has an id of a call: it is made of what all that is told at its beginning has. @param at when `BeforeTool` fired */
export function callIdOf(sessionId: string, key: string, at: number): string {
  return `${sessionId}:tool:${at}:${digestOf(key)}`
}

/** FNV-1a: it tells two calls of one millisecond apart. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash >>> 0).toString(36)
}

/** Builds the id of a call from its start, because no hook has an id. @param at when `BeforeTool` fired */
export function callIdOf(sessionId: string, key: string, at: number): string {
  return `${sessionId}:tool:${at}:${digestOf(key)}`
}

/** FNV-1a: distinguishes two calls of the same millisecond. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash >>> 0).toString(36)
}

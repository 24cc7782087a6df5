type Said = Readonly<Record<string, unknown>>

const COMPLETED = new Set(['ok', 'success', 'done', 'completed'])
const MORE_THAN_ERROR = new Set(['blocked', 'timeout', 'cancelled'])

function wordIn(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  const word = value.toLowerCase()
  return COMPLETED.has(word) ? 'completed' : word
}

/** The result as an object; text that is no JSON object says nothing of how it went. */
function objectIn(result: unknown): Said {
  if (typeof result !== 'string') return typeof result === 'object' && result !== null ? (result as Said) : {}
  try {
    const parsed: unknown = JSON.parse(result)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Said) : {}
  } catch {
    return {}
  }
}

/** How a tool call ended, by the contract: the hook's own word first, unless a mere `error` or `ok` that the result knows better. */
export function outcomeOf({ status, result }: Said): string {
  const told = wordIn(status)
  if (told !== undefined && told !== 'error' && told !== 'completed') return told
  const said = objectIn(result)
  const own = wordIn(said['status']) ?? (said['exit_code'] === 130 ? 'cancelled' : undefined)
  if (told === 'error') return own !== undefined && MORE_THAN_ERROR.has(own) ? own : 'error'
  if (own !== undefined) return own
  if (said['error']) return 'error'
  if (said['timeout']) return 'timeout'
  return said['blocked'] ? 'blocked' : 'completed'
}

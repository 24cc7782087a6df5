import { isRecord, parseJson } from './attribute-value.ts'
import type { StoredSpan } from './stored-span.ts'

const CALL_ID = 'gen_ai.tool.call.id'
const OUTPUT_MESSAGES = 'gen_ai.output.messages'
/** Longer answers are not parsed: the order of calls is not worth the cost. */
const MAX_ANSWER_CHARS = 1_000_000
const LISTED_ID = /^llm\.output_messages\.(\d+)\.message\.tool_calls\.(\d+)\.tool_call\.id$/

export function callIdOf({ attributes }: StoredSpan): string | undefined {
  const id = attributes[CALL_ID]
  return typeof id === 'string' ? id : undefined
}

/** The position of each call id in the answer of a request. Empty if the answer is not stored. */
export function callPositions(request: StoredSpan): ReadonlyMap<string, number> {
  const ids = idsInAnswer(request)
  const found = ids.length > 0 ? ids : listedIds(request)
  return new Map(found.map((id, place) => [id, place]))
}

function idsInAnswer({ attributes }: StoredSpan): string[] {
  const answer = attributes[OUTPUT_MESSAGES]
  const messages = typeof answer === 'string' && answer.length <= MAX_ANSWER_CHARS ? parseJson(answer) : answer
  if (!Array.isArray(messages)) return []
  const parts = messages.flatMap((message: unknown) => (isRecord(message) ? message['parts'] : []))
  return parts.flatMap(part => (isRecord(part) && typeof part['id'] === 'string' ? [part['id']] : []))
}

function listedIds({ attributes }: StoredSpan): string[] {
  const listed = Object.entries(attributes).flatMap(([name, id]) => {
    const [match, message, call] = LISTED_ID.exec(name) ?? []
    return match === undefined || typeof id !== 'string' ? [] : [{ id, message: Number(message), call: Number(call) }]
  })
  return listed.sort((a, b) => a.message - b.message || a.call - b.call).map(({ id }) => id)
}

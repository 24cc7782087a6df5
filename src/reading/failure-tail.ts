import { isRecord, parseJson } from './attribute-value.ts'

const MAX_LINES = 12
const MAX_CHARS = 4_000
/** Fields of a result with the text that a program printed, in the order in which they are joined. */
const OUTPUT_FIELDS = ['stdout', 'output', 'content', 'text', 'stderr', 'error', 'message']

/**
 * What failed, and the last lines of its output.
 * `{"output": "FAIL a.test.ts", "error": "exit code 1"}` and the message `exit code 1` -> `exit code 1`, `FAIL a.test.ts`.
 */
export function failureTail(message: string, result: string): string {
  const value = parseJson(result)
  const fields = isRecord(value) ? OUTPUT_FIELDS.map(name => value[name]).filter(text => typeof text === 'string') : []
  const texts = fields.filter(text => text !== message)
  const text = typeof value === 'string' ? value : fields.length > 0 ? texts.join('\n') : result
  const lines = text.trimEnd().split(/\r?\n/).slice(-MAX_LINES)
  const tail = lines.join('\n').slice(-MAX_CHARS)
  return [message.slice(0, MAX_CHARS), tail === message ? '' : tail].filter(part => part !== '').join('\n')
}

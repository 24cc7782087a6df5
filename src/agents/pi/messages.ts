import { booleanOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { readUsage, type UsageCounts } from '../base/usage.ts'

/** The selected model. An internal request of Pi, such as a summary, may use another one. */
export function modelOf(context: unknown): Record<'model' | 'provider' | 'api_mode' | 'base_url', unknown> {
  const model = peek(context, 'model')
  return {
    model: peek(model, 'id'),
    provider: peek(model, 'provider'),
    api_mode: peek(model, 'api'),
    base_url: peek(model, 'baseUrl'),
  }
}

/** Pi's mode: `tui`, `print`, `rpc`, `json`. */
export function platformOf(context: unknown): string | undefined {
  return textOf(peek(context, 'mode'))
}

export function isAborted(context: unknown): boolean {
  return booleanOf(peek(context, 'aborted')) === true
}

/** The start of a provider's error has the status: `500: …`, `500 {…}`, `OpenAI API error (500): …`. The rest may be a page. */
const ERROR_HEAD = 160
const STATUS = /^\s*([1-5]\d\d)\b|\(([1-5]\d\d)\)/

/** Errors without a status that Pi retries: the connection failed, not the request. */
const PASSING = ['connection', 'network', 'fetch failed', 'socket', 'terminated', 'timeout', 'timed out', 'overloaded']
const LASTING = ['insufficient_quota', 'quota exceeded', 'billing', 'usagelimiterror']
const RETRYABLE_STATUS: ReadonlySet<number> = new Set([408, 429])

const CACHE_COUNTS = { cacheRead: 'cacheRead', cacheWrite: 'cacheWrite' }
const COUNTS = { input: 'input', output: 'output', ...CACHE_COUNTS, reasoning: 'reasoning' }

/** Pi counts the cache outside the input, and reasoning inside the output. */
export function piUsage(usage: unknown): UsageCounts | undefined {
  return readUsage(usage, COUNTS, { cacheIsOutside: true })
}

/** Parses an error's text: Pi reports no separate status or kind. */
export function failureOf(errorMessage: unknown): { statusCode: number | undefined; retryable: boolean | undefined } {
  const head = typeof errorMessage === 'string' ? errorMessage.slice(0, ERROR_HEAD) : ''
  const [, leading, inBrackets] = STATUS.exec(head) ?? []
  const statusCode = numberOf(leading ?? inBrackets)
  return { statusCode, retryable: isRetryable(head.toLowerCase(), statusCode) }
}

function isRetryable(head: string, status: number | undefined): boolean | undefined {
  if (LASTING.some(word => head.includes(word))) return false
  if (status !== undefined) return status >= 500 || RETRYABLE_STATUS.has(status)
  return PASSING.some(word => head.includes(word)) || undefined
}

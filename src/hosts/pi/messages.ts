import { numberOf, peek } from '../../contract/foreign.ts'
import { type Usage, usageOf } from '../base/usage.ts'

/** What a provider's error begins with: the status is in there, and what follows may be a page. */
const ERROR_HEAD = 160
/** "500: …", "500 {…}", "OpenAI API error (500): …": what Pi makes of the errors of its model clients. */
const STATUS = /^\s*([1-5]\d\d)\b|\(([1-5]\d\d)\)/

/** Errors without a status that Pi tries again: the connection failed, not the request. */
const PASSING = ['connection', 'network', 'fetch failed', 'socket', 'terminated', 'timeout', 'timed out', 'overloaded']
/** Limits of an account: Pi does not try again, whatever the status. */
const LASTING = ['insufficient_quota', 'quota exceeded', 'billing', 'usagelimiterror']
const RETRYABLE_STATUS: ReadonlySet<number> = new Set([408, 429])

/** Pi counts the cache outside the input, and reasoning inside the output. */
export function piUsage(usage: unknown): Usage | undefined {
  const said = (key: string): unknown => peek(usage, key)
  const cache = { cacheRead: said('cacheRead'), cacheWrite: said('cacheWrite') }
  const counts = { input: said('input'), output: said('output'), ...cache, reasoning: said('reasoning') }
  return usageOf(counts, { cacheIsOutside: true })
}

export interface RequestFailure {
  readonly statusCode: number | undefined
  /** Whether Pi tries such an error again, as far as its first words tell. */
  readonly retryable: boolean | undefined
}

/** What the text of an error tells: Pi gives no status and no kind beside it. */
export function failureOf(errorMessage: unknown): RequestFailure {
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

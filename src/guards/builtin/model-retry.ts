import { defineHook, type Hook, PRIORITY } from '../hook.ts'
import type { AfterModel } from '../phases.ts'
import { retry } from '../verdict.ts'
import { AMOUNT, type BuiltinOptions, COUNT, checkOptions, MILLIS, propertiesOf } from './options.ts'

/** Options of `modelRetry`. */
export interface ModelRetryOptions extends BuiltinOptions {
  /** The maximum number of retries. Default 3, which is also the limit of every agent. */
  readonly retries?: number | undefined
  /** The delay before the first retry, in milliseconds. Default 500. */
  readonly delayMillis?: number | undefined
  /** The factor by which the delay grows. Default 2. */
  readonly factor?: number | undefined
  /** The maximum delay, in milliseconds. Default 30 000. */
  readonly maxDelayMillis?: number | undefined
}

const TRANSIENT =
  /overloaded|rate.?limit|too.?many.?requests|throttl|unavailable|internal.?server|server.?error|bad.?gateway|gateway.?timeout|api.?connection|connection.?error|ECONN(?:RESET|REFUSED|ABORTED)|ETIMEDOUT|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EAI_AGAIN|EPIPE|UND_ERR|socket hang up|fetch failed|network.?error|timed? ?out|timeout/i
/** Permanent errors, whatever the status: they need money or another key, or the user has stopped the request. */
const PERMANENT = /insufficient.?quota|billing|credit.?balance|payment|authentication|permission|invalid|abort|cancel/i

/**
 * Retries a request to the model with growing delays. Retried are empty answers (no text, no tool call) and errors of the
 * provider: busy (429, 529, overloaded, rate limits), failed (5xx) or unreachable.
 *
 * @throws {TypeError} one line, for an option that is unknown or wrong
 */
export function modelRetry(options: ModelRetryOptions = {}): Hook<'retry'> {
  checkOptions('modelRetry', options, { retries: COUNT, delayMillis: MILLIS, factor: AMOUNT, maxDelayMillis: MILLIS })
  const { retries = 3, delayMillis = 500, factor = 2, maxDelayMillis = 30_000 } = options
  return defineHook({
    ...propertiesOf(options, 'model-retry', PRIORITY.business, 'pass'),
    decisions: ['retry'],
    afterModel(event) {
      if (event.attempt >= retries || !isRetryable(event)) return undefined
      return retry({ delayMillis: Math.min(delayMillis * factor ** event.attempt, maxDelayMillis) })
    },
  })
}

function isRetryable({ error, text, toolCalls }: AfterModel): boolean {
  if (error === undefined) return text.trim() === '' && toolCalls.length === 0
  const { status, type = '', message = '' } = error
  if (PERMANENT.test(type)) return false
  if (status === undefined) return TRANSIENT.test(type) || (!PERMANENT.test(message) && TRANSIENT.test(message))
  const isBusy = status === 408 || (status === 429 && !PERMANENT.test(message))
  return isBusy || (status >= 500 && status <= 599)
}

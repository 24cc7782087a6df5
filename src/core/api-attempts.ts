import { numberOf, peek } from '../contract/foreign.ts'
import type { ApiStart } from '../contract/index.ts'
import type { OpenSpan, Turn } from './turn.ts'

/** Distinct requests of one turn whose attempts are numbered; a turn with more starts to number anew. */
const REQUESTS_LIMIT = 10_000

/** More attempts than this no host makes: the number is something else. */
const RETRY_LIMIT = 100_000

/** A host's number of an attempt, from 0; undefined where it says none that can be one. */
export function retryCount(payload: unknown): number | undefined {
  const said = numberOf(peek(payload, 'retry_count'))
  return said !== undefined && Number.isInteger(said) && said >= 0 && said < RETRY_LIMIT ? said : undefined
}

/**
 * The attempt that a start begins, from 0: the host's `retry_count`, or our own ordinal where it repeats one, because
 * several hosts send the same id for every attempt.
 */
export function nextAttempt(turn: Turn, key: string, payload: ApiStart): number {
  const last = turn.attempts.get(key)
  const said = retryCount(payload) ?? 0
  const attempt = last === undefined ? said : Math.max(said, last + 1)
  if (turn.attempts.size >= REQUESTS_LIMIT) turn.attempts.clear()
  turn.attempts.set(key, attempt)
  return attempt
}

/** Whether an end may close this attempt: an end that names another attempt came late for one that is gone. */
export function isEndOf(open: OpenSpan, payload: { readonly retry_count?: number }): boolean {
  const said = retryCount(payload)
  const started = open.start === undefined ? undefined : retryCount(open.start)
  return said === undefined || started === undefined || said === started
}

/** Whether an end tells of an attempt before the one that is remembered, whose own end has been told already. */
export function isOfEarlierAttempt(
  payload: { readonly retry_count?: number },
  { attempt }: { readonly attempt: number },
): boolean {
  const said = retryCount(payload)
  return said !== undefined && said < attempt
}

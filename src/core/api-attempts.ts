import { numberOf, peek, wholeOf } from '../contract/foreign.ts'
import type { ApiStart, SpanKindName } from '../contract/index.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import { isFailedCall } from '../spans/auxiliary.ts'
import type { Draw, Fired } from '../spans/span-definition.ts'
import type { EndedMark, OpenSpan, Turn } from './turn.ts'

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
  keepAttempt(turn, key, attempt)
  return attempt
}

/** The attempt that an end tells of whose start was never seen: its own number, or the one after the last that ended. */
export function unseenAttempt(payload: unknown, before: EndedMark | undefined): number {
  return Math.max(retryCount(payload) ?? 0, before === undefined ? 0 : before.attempt + 1)
}

/** So that what follows is numbered on. */
export function keepUnseen(turn: Turn, key: string, attempt: number): void {
  keepAttempt(turn, key, Math.max(attempt, turn.attempts.get(key) ?? 0))
}

function keepAttempt(turn: Turn, key: string, attempt: number): void {
  if (turn.attempts.size >= REQUESTS_LIMIT) turn.attempts.clear()
  turn.attempts.set(key, attempt)
}

export function attemptAttribute(attempt: number | undefined, draw: Draw): AttributeList | undefined {
  return attempt === undefined ? undefined : new AttributeList().set(draw.names.own.apiAttempt, attempt)
}

export function isRequest(kind: SpanKindName): boolean {
  return kind === 'api' || kind === 'auxiliary'
}

/** Whether the record is the failed end of a request. */
export function isFailedEnd(kind: SpanKindName, { hook, payload }: Fired<Readonly<Record<string, unknown>>>): boolean {
  return hook === 'api_request_error' || (kind === 'auxiliary' && isFailedCall(payload))
}

/** Whether an end tells of an attempt after the one that is remembered: its start was lost, or the host fires one a request. */
export function isOfLaterAttempt(
  kind: SpanKindName,
  fired: Fired<Readonly<Record<string, unknown>>>,
  { attempt, failed }: EndedMark,
): boolean {
  if (!isRequest(kind)) return false
  // Many a host says 0 of every attempt; but none tells of a success and then of a failure before it.
  return (retryCount(fired.payload) ?? 0) > attempt || (failed && !isFailedEnd(kind, fired))
}

/** The turn's next request begins: one before that is never answered was over by now. Hosts that count them make one at a time. */
export function noteFollowed(turn: Turn, payload: ApiStart, at: number): void {
  const before = turn.stack.innermost('api')
  if (before === undefined || before.followedAt !== undefined) return
  const [last, next] = [wholeOf(peek(before.start, 'api_call_count')), wholeOf(payload.api_call_count)]
  if (last !== undefined && next !== undefined && next > last && at >= before.startAt) before.followedAt = at
}

/** A later attempt has ended, of which no start was told: what is open under its key got no answer, and was over by then. */
export function notePassed(open: OpenSpan | undefined, attempt: number, at: number): void {
  if (open !== undefined && open.attempt < attempt) open.followedAt ??= Math.max(open.startAt, at)
}

/** Whether an end may close this attempt: an end that names another attempt came late for one that is gone. */
export function isEndOf(open: OpenSpan, payload: { readonly retry_count?: number }): boolean {
  const said = retryCount(payload)
  const started = open.start === undefined ? undefined : retryCount(open.start)
  return said === undefined || started === undefined || said === started || said === open.attempt
}

/**
 * Whether an end tells of an attempt before the one that is remembered, whose own end has been told already. A success does
 * not, whatever its number: it is the last.
 */
export function isOfEarlierAttempt(
  kind: SpanKindName,
  fired: Fired<Readonly<Record<string, unknown>>>,
  { attempt }: EndedMark,
): boolean {
  return isFailedEnd(kind, fired) && (retryCount(fired.payload) ?? attempt) < attempt
}

import { numberOf, peek, textOf, wholeOf } from '../contract/foreign.ts'
import type { ApiStart, SpanKindName } from '../contract/index.ts'
import { isFailedEnd, isRequest } from './span-tracker.ts'
import { isEscalation } from './spans/approval.ts'
import type { AnyHookEvent } from './spans/span-definition.ts'
import type { TrackedSpan, TrackedTurn } from './turn.ts'
import type { EndedMark } from './turn-history.ts'
import type { ReceivedHook } from './turn-registry.ts'

/** A sanity limit: a larger `retry_count` is not the number of an attempt. */
const RETRY_LIMIT = 100_000

export function retryCount(payload: unknown): number | undefined {
  const reported = numberOf(peek(payload, 'retry_count'))
  return reported !== undefined && Number.isInteger(reported) && reported >= 0 && reported < RETRY_LIMIT
    ? reported
    : undefined
}

export function unseenAttempt(payload: unknown, before: EndedMark | undefined): number {
  return Math.max(retryCount(payload) ?? 0, before === undefined ? 0 : before.attempt + 1)
}

/** True for the end of a later attempt, whose start was lost or never emitted: some hosts emit one per request. */
export function isOfLaterAttempt(kind: SpanKindName, event: AnyHookEvent, { attempt, failed }: EndedMark): boolean {
  if (!isRequest(kind)) return false
  // Many hosts send 0 for every attempt. A success after a failure is a later attempt even then.
  return (retryCount(event.payload) ?? 0) > attempt || (failed && !isFailedEnd(kind, event))
}

/**
 * Notes the start of the turn's next request. An earlier request that never gets an answer is ended at this time. Hosts
 * that count their requests make one at a time.
 */
export function noteFollowed(turn: TrackedTurn, payload: ApiStart, at: number): void {
  const before = turn.open.innermost('api')
  if (before === undefined || before.followedAt !== undefined) return
  const [last, next] = [wholeOf(peek(before.start, 'api_call_count')), wholeOf(payload.api_call_count)]
  if (last !== undefined && next !== undefined && next > last && at >= before.startAt) before.followedAt = at
}

/** A later attempt has ended without a start: the attempt still open under its key got no answer and ended by then. */
export function notePassed(open: TrackedSpan | undefined, attempt: number, at: number): void {
  if (open !== undefined && open.attempt < attempt) open.followedAt ??= Math.max(open.startAt, at)
}

/** Returns true if an end may end this attempt. If it names another, it is late, and that attempt has already ended. */
export function isEndOf(open: TrackedSpan, payload: { readonly retry_count?: number }): boolean {
  const reported = retryCount(payload)
  const started = open.start === undefined ? undefined : retryCount(open.start)
  return reported === undefined || started === undefined || reported === started || reported === open.attempt
}

/** Returns true for a repeated end of an attempt before the remembered one. A success is always the last attempt. */
export function isOfEarlierAttempt(kind: SpanKindName, event: AnyHookEvent, { attempt }: EndedMark): boolean {
  return isFailedEnd(kind, event) && (retryCount(event.payload) ?? attempt) < attempt
}

export function endedBehind(open: TrackedSpan, payload: unknown): EndedMark | undefined {
  const ended = isRequest(open.kind) ? open.turn.history.ended.get(open.slot) : undefined
  return ended !== undefined && ended.attempt > open.attempt && ended.attempt === retryCount(payload)
    ? ended
    : undefined
}

/** The end of this very start, if it arrived before the start. It is already counted. */
export function earlyEnd(ended: EndedMark | undefined, event: ReceivedHook): AnyHookEvent | undefined {
  const early = event.isExplicit ? ended?.early : undefined
  if (early === undefined || event.at > early.event.at || event.at < early.after) return undefined
  const [startRetry, endRetry] = [retryCount(event.payload), retryCount(early.event.payload)]
  return startRetry === undefined || endRetry === undefined || startRetry === endRetry ? early.event : undefined
}

export function isRepeat(ended: EndedMark | undefined, open: TrackedSpan | undefined, event: ReceivedHook): boolean {
  const retry = retryCount(event.payload) ?? Number.NaN
  // A later attempt has ended, so this one got its span at its end. Hosts that send 0 for every attempt count nothing.
  if (open === undefined && ended !== undefined && retry > 0 && retry < ended.attempt) return true
  if (!event.isExplicit || (open === undefined && ended === undefined)) return false
  if (open !== undefined) {
    // A start older than the open span arrived late and must not end it.
    return (
      open.startIsExplicit && event.at <= open.startAt && !(retry > open.attempt) && !isEscalation(open, event.payload)
    )
  }
  if (ended === undefined || retry > ended.attempt) return false
  return event.at === ended.startAt || event.at === ended.earlierStartAt || event.at < ended.endAt
}

/** Returns true for another prompt of an open loop: a turn has one. A prompt for another model begins another loop. */
export function isPromptAgain(turn: TrackedTurn, event: ReceivedHook): boolean {
  const open = turn.open.innermost('llm')
  if (open === undefined || event.turnId === undefined || event.turnId !== turn.turnId) return false
  const model = textOf(event.payload['model'])
  return model === undefined || model === textOf(peek(open.start, 'model'))
}

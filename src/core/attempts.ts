import { numberOf, peek, wholeOf } from '../contract/foreign.ts'
import type { ApiStart, SpanKindName } from '../contract/index.ts'
import { isEscalation } from '../spans/approval.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import type { Draw } from '../spans/span-definition.ts'
import type { AnyFired, Incoming } from './incoming.ts'
import { isFailedEnd, isRequest } from './span-ends.ts'
import type { OpenSpan, Turn } from './turn.ts'
import type { EndedMark } from './turn-memory.ts'

/** More attempts than this no host makes: the number is something else. */
const RETRY_LIMIT = 100_000

/** A host's number of an attempt, from 0; undefined where it says none that can be one. */
export function retryCount(payload: unknown): number | undefined {
  const said = numberOf(peek(payload, 'retry_count'))
  return said !== undefined && Number.isInteger(said) && said >= 0 && said < RETRY_LIMIT ? said : undefined
}

/** The attempt that an end tells of whose start was never seen: its own number, or the one after the last that ended. */
export function unseenAttempt(payload: unknown, before: EndedMark | undefined): number {
  return Math.max(retryCount(payload) ?? 0, before === undefined ? 0 : before.attempt + 1)
}

export function attemptAttribute(attempt: number | undefined, draw: Draw): AttributeList | undefined {
  return attempt === undefined ? undefined : new AttributeList().set(draw.names.own.apiAttempt, attempt)
}

/** Whether an end tells of an attempt after the one that is remembered: its start was lost, or the host fires one a request. */
export function isOfLaterAttempt(kind: SpanKindName, fired: AnyFired, { attempt, failed }: EndedMark): boolean {
  if (!isRequest(kind)) return false
  // Many a host says 0 of every attempt; but none tells of a success and then of a failure before it.
  return (retryCount(fired.payload) ?? 0) > attempt || (failed && !isFailedEnd(kind, fired))
}

/** The turn's next request begins: one before that is never answered was over by now. Hosts that count them make one at a time. */
export function noteFollowed(turn: Turn, payload: ApiStart, at: number): void {
  const before = turn.innermost('api')
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
export function isOfEarlierAttempt(kind: SpanKindName, fired: AnyFired, { attempt }: EndedMark): boolean {
  return isFailedEnd(kind, fired) && (retryCount(fired.payload) ?? attempt) < attempt
}

/** The end of a later attempt than the open one, if it is that of the attempt which starts here. */
export function endedBehind(open: OpenSpan, payload: unknown): EndedMark | undefined {
  const ended = isRequest(open.kind) ? open.turn.memory.ended(open.slot) : undefined
  return ended !== undefined && ended.attempt > open.attempt && ended.attempt === retryCount(payload)
    ? ended
    : undefined
}

/** The end of this very start, which came before it and is already counted. */
export function earlyEnd(ended: EndedMark | undefined, { fired, isExplicit }: Incoming): AnyFired | undefined {
  const early = isExplicit ? ended?.early : undefined
  if (early === undefined || fired.at > early.fired.at || fired.at < early.after) return undefined
  const [said, told] = [retryCount(fired.payload), retryCount(early.fired.payload)]
  return said === undefined || told === undefined || said === told ? early.fired : undefined
}

/** The same start once more: redelivered, or late although its span has come and gone. */
export function isRepeat(
  ended: EndedMark | undefined,
  open: OpenSpan | undefined,
  { fired, isExplicit }: Incoming,
): boolean {
  if (!isExplicit || (open === undefined && ended === undefined)) return false
  const retry = retryCount(fired.payload) ?? Number.NaN
  if (open !== undefined) {
    // One that began before what is open now comes late, and must not put an end to it.
    return (
      open.startIsExplicit && fired.at <= open.startAt && !(retry > open.attempt) && !isEscalation(open, fired.payload)
    )
  }
  if (ended === undefined || retry > ended.attempt) return false
  return fired.at === ended.startAt || fired.at < ended.endAt
}

/** The end of a request or a tool whose start was not seen has told the turn's sums of the start, too. */
export function foldedByEnd({ kind }: OpenSpan): boolean {
  return kind === 'api' || kind === 'tool'
}

import { numberOf } from '../contract/foreign.ts'
import type { SpanKindName } from '../contract/index.ts'
import type { AnyHookEvent } from './received-hook.ts'
import { millis } from './spans/api.ts'
import { isFailedCall } from './spans/auxiliary.ts'
import type { TrackedSpan } from './turn.ts'

/** Guards against values that are not a duration, in milliseconds. */
const MAX_MILLIS = 4.1e12
/** A host's own end may be this much after the record, because its clock rounds. */
const TOLERANCE_MILLIS = 1000
/** A host may begin to measure this long before it emits the start. */
const EARLIER_START_MILLIS = 250

type Payload = Readonly<Record<string, unknown>>

export function isRequest(kind: SpanKindName): boolean {
  return kind === 'api' || kind === 'auxiliary'
}

export function isFailedEnd(kind: SpanKindName, { hook, payload }: AnyHookEvent): boolean {
  return hook === 'api_request_error' || (kind === 'auxiliary' && isFailedCall(payload))
}

/** The end time: the payload's own if plausible, else the record's; never before the start. */
export function endTime(kind: SpanKindName, { at, payload }: AnyHookEvent, startAt: number): number {
  const reported = isRequest(kind) ? millis(payload['ended_at']) : undefined
  const believable = reported !== undefined && reported >= startAt && reported <= at + TOLERANCE_MILLIS
  return Math.max(startAt, believable ? reported : at)
}

export function reportedDuration(kind: SpanKindName, payload: Payload): number | undefined {
  const reported = isRequest(kind)
    ? (numberOf(payload['api_duration']) ?? Number.NaN) * 1000
    : numberOf(payload['duration_ms'])
  return reported !== undefined && reported >= 0 && reported < MAX_MILLIS ? reported : undefined
}

/**
 * The duration of a span, for attributes and metrics alike. The host's value for a request may cover earlier attempts
 * and the back-off between them. The span's own length is used for a retry, and if the host's value exceeds a span
 * whose start was seen.
 */
export function measuredDuration(
  kind: SpanKindName,
  payload: Payload,
  attempt: number,
  spanMillis: number | undefined,
): number | undefined {
  if (!isRequest(kind)) return spanMillis
  const reported = reportedDuration(kind, payload)
  if (reported === undefined || spanMillis === undefined) return reported ?? spanMillis
  return attempt > 0 || reported > spanMillis + EARLIER_START_MILLIS ? spanMillis : reported
}

export function durationOf(open: TrackedSpan, { payload }: AnyHookEvent, endAt: number): number | undefined {
  const spanMillis = open.start === undefined ? reportedDuration(open.kind, payload) : endAt - open.startAt
  return measuredDuration(open.kind, payload, open.attempt, spanMillis)
}

import { numberOf } from '../contract/foreign.ts'
import type { SpanKindName } from '../contract/index.ts'
import { millis } from '../spans/api-facts.ts'
import type { AnyFired } from './incoming.ts'
import type { OpenSpan } from './turn.ts'

/** 1973 to 2100: what is outside is no epoch in milliseconds (seconds by mistake, garbage). */
const EARLIEST = 1e11
const LATEST = 4.1e12
/** A host's own end may be this much after the record: its clock rounds. */
const TOLERANCE_MILLIS = 1000
/** A host may begin to count this much before it tells of the start. */
const EARLIER_START_MILLIS = 250

export function plausibleAt(at: unknown): number | undefined {
  return typeof at === 'number' && at > EARLIEST && at < LATEST ? at : undefined
}

type Payload = Readonly<Record<string, unknown>>

export function isRequest(kind: SpanKindName): boolean {
  return kind === 'api' || kind === 'auxiliary'
}

/** The end: the payload's own where it has a believable one, else the record's time; never before the start. */
export function endTime(kind: SpanKindName, { at, payload }: AnyFired, startAt: number): number {
  const said = isRequest(kind) ? millis(payload['ended_at']) : undefined
  const believable = said !== undefined && said >= startAt && said <= at + TOLERANCE_MILLIS
  return Math.max(startAt, believable ? said : at)
}

/** How long the host says it took, in milliseconds. */
export function saidDuration(kind: SpanKindName, payload: Payload): number | undefined {
  const said = isRequest(kind)
    ? (numberOf(payload['api_duration']) ?? Number.NaN) * 1000
    : numberOf(payload['duration_ms'])
  return said !== undefined && said >= 0 && said < LATEST ? said : undefined
}

/**
 * How long a span took, for attributes and metrics alike. The host's figure for a request may cover the attempts before
 * and the back-off between them: of a retry, and where it is longer than a span whose start was seen, the span's own
 * length is said.
 */
export function measuredDuration(
  kind: SpanKindName,
  payload: Payload,
  attempt: number,
  spanMillis: number | undefined,
): number | undefined {
  if (!isRequest(kind)) return spanMillis
  const said = saidDuration(kind, payload)
  if (said === undefined || spanMillis === undefined) return said ?? spanMillis
  return attempt > 0 || said > spanMillis + EARLIER_START_MILLIS ? spanMillis : said
}

/** Of a span that ends with this record: as it is measured, milliseconds. */
export function durationOf(open: OpenSpan, { payload }: AnyFired, endAt: number): number | undefined {
  const spanMillis = open.start === undefined ? saidDuration(open.kind, payload) : endAt - open.startAt
  return measuredDuration(open.kind, payload, open.attempt, spanMillis)
}

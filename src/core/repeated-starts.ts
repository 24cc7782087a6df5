import { isEscalation } from '../spans/approval.ts'
import { retryCount } from './api-attempts.ts'
import type { Incoming } from './incoming.ts'
import type { EndedMark, OpenSpan } from './turn.ts'

/** The end of this very start, which came before it and is already counted. */
export function earlyEnd(ended: EndedMark | undefined, { fired, isExplicit }: Incoming): Incoming['fired'] | undefined {
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

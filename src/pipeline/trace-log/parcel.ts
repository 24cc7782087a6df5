import type { Segment } from './segment.ts'
import type { SpanLine } from './span-line.ts'

/** Where in the trace log something ends. */
export interface Place {
  readonly segment: Segment
  readonly end: number
}

/** Spans that ended together, on their way to the backends. */
export interface Parcel {
  readonly lines: readonly SpanLine[]
  /** Absent = they are in memory only, because there is no log or it could not be written. */
  readonly place?: Place
}

export interface PlacedParcel extends Parcel {
  readonly place: Place
}

/** Whether its spans can be read from the log again. */
export function isInLog({ place }: Parcel): boolean {
  return place !== undefined && !place.segment.isGone
}

/** Takes the spans that have ended. Never throws, and never waits. */
export interface ParcelTaker {
  take(parcel: Parcel): void
}

import type { Segment } from './segment.ts'
import type { SpanLine } from './span-line.ts'

/** Where in the trace log something ends. */
export interface Position {
  readonly segment: Segment
  readonly end: number
}

/** Spans that ended together, on their way to the backends. */
export interface Batch {
  readonly lines: readonly SpanLine[]
  /** Absent = they are in memory only, because there is no log or it could not be written. */
  readonly position?: Position
}

export interface StoredBatch extends Batch {
  readonly position: Position
}

/** Whether its spans can be read from the log again. */
export function isInLog({ position }: Batch): boolean {
  return position !== undefined && !position.segment.isGone
}

/** Takes the spans that have ended. Never throws, and never waits. */
export interface BatchTaker {
  take(batch: Batch): void
}

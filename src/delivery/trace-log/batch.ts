import type { LogSegment } from './segment.ts'
import type { SpanLine } from './span-line.ts'

/** A position in the trace log: the end of a batch. */
export interface Position {
  readonly segment: LogSegment
  readonly end: number
}

/** Spans that ended together, queued for the backends. */
export interface Batch {
  readonly lines: readonly SpanLine[]
  /** If absent, the spans are only in memory, because there is no log or it could not be written. */
  readonly position?: Position
}

export interface StoredBatch extends Batch {
  readonly position: Position
}

/** True if the spans can be read from the log again. */
export function isInLog({ position }: Batch): boolean {
  return position !== undefined && !position.segment.isRemoved
}

/** Receives ended spans. Never throws and never waits. */
export interface BatchReceiver {
  enqueueBatch(batch: Batch): void
}

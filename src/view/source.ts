import type {
  Change,
  ChildTraces,
  Numbers,
  NumbersQuery,
  OpenTrace,
  SessionDetail,
  SessionPage,
  SessionQuery,
  SourceStatus,
} from '../trace-index/answers.ts'
import { TraceIndex, type TraceIndexOptions } from '../trace-index/trace-index.ts'
import type { StoredSpan } from '../viewer/stored-span.ts'

export type * from '../trace-index/answers.ts'

/** Where the viewer's server gets what it shows. What is asked after `close` rejects. */
export interface TraceSource {
  /** As of a moment ago. */
  status(): SourceStatus
  /** Newest activity first. */
  sessions(query: SessionQuery): Promise<SessionPage>
  /** Undefined when there is none of this id (see `SessionRow.id`). */
  session(id: string): Promise<SessionDetail | undefined>
  /**
   * All spans of a trace, also what is running (`running: true`), each once, in the order in which they were written; none when there
   * is no such trace. Of a trace with more than 50 000 the first ones: `TurnRow.spanCount` tells.
   */
  trace(traceId: string): Promise<readonly StoredSpan[]>
  /** Traces of the sessions that a trace has begun, and that are not in it. */
  children(traceId: string): Promise<readonly ChildTraces[]>
  numbers(query: NumbersQuery): Promise<Numbers>
  /** What is open, of every process, as of a moment ago; those in which something happened last come first. */
  open(): readonly OpenTrace[]
  /** What changes from now on, at most four times a second. Ends with `return()`, or when the source is closed. */
  changes(): AsyncIterableIterator<Change>
  /** Resolves when nothing of it runs any more. */
  close(): Promise<void>
}

/**
 * What is asked of an index that grows in the background: the newest traces are there first.
 *
 * @throws Error in one line
 */
export function openSource(options: TraceIndexOptions): Promise<TraceSource> {
  return TraceIndex.open(options)
}

import type { StoredSpan } from '../../reading/stored-span.ts'
import type {
  ChildTraces,
  NumbersQuery,
  OpenTraceRow,
  SessionDetail,
  SessionPage,
  SessionQuery,
  SourceStatus,
  TraceChange,
  UsageNumbers,
} from '../trace-index/answers.ts'
import { TraceIndex, type TraceIndexOptions } from '../trace-index/trace-index.ts'

export type * from '../trace-index/answers.ts'

/** The data source of the viewer's server. Calls after `close` reject. */
export interface TraceSource {
  status(): SourceStatus
  /** Newest activity first. */
  sessions(query: SessionQuery): Promise<SessionPage>
  session(id: string): Promise<SessionDetail | undefined>
  /**
   * All spans of a trace, running ones included (`running: true`), each once, as they were written. Empty if there is no such
   * trace. Limited to the first 50 000; `TurnRow.spanCount` has the total.
   */
  trace(traceId: string): Promise<readonly StoredSpan[]>
  children(traceId: string): Promise<readonly ChildTraces[]>
  numbers(query: NumbersQuery): Promise<UsageNumbers>
  /** Open traces of all processes, the latest activity first. */
  open(): readonly OpenTraceRow[]
  /** Changes from now on, at most four per second. Ends with `return()`, or when the source is closed. */
  changes(): AsyncIterableIterator<TraceChange>
  /** Resolves when all its work has ended. */
  close(): Promise<void>
}

/**
 * Opens an index that grows in the background; the newest traces are available first.
 *
 * @throws Error in one line
 */
export function openSource(options: TraceIndexOptions): Promise<TraceSource> {
  return TraceIndex.open(options)
}

import type { StoredSpan } from '../../reading/stored-span.ts'
import type {
  ChildTraces,
  OpenTraceRow,
  SessionDetail,
  SessionPage,
  SessionQuery,
  SourceStatus,
  TraceChange,
  Usage,
  UsageQuery,
} from '../trace-index/answers.ts'
import { TraceIndex, type TraceIndexOptions } from '../trace-index/trace-index.ts'

export type * from '../trace-index/answers.ts'

/** The data source of the viewer's server. Calls after `close` reject. */
export interface TraceSource {
  status(): SourceStatus
  sessions(query: SessionQuery): Promise<SessionPage>
  session(id: string): Promise<SessionDetail | undefined>
  /**
   * All spans of a trace, running ones included (`running: true`), each once, as they were written. Empty if there is no such
   * trace. Limited to the first 50 000; `TurnRow.spanCount` has the total.
   */
  trace(traceId: string): Promise<readonly StoredSpan[]>
  children(traceId: string): Promise<readonly ChildTraces[]>
  usage(query: UsageQuery): Promise<Usage>
  open(): readonly OpenTraceRow[]
  /** Changes from now on, at most four per second. Ends with `return()`, or when the source is closed. */
  changes(): AsyncIterableIterator<TraceChange>
  close(): Promise<void>
}

export function openSource(options: TraceIndexOptions): Promise<TraceSource> {
  return TraceIndex.open(options)
}

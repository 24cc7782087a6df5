import { TraceIndex, type TraceIndexOptions } from '../trace-index/trace-index.ts'

export type * from '../trace-index/answers.ts'

/** The data source of the viewer's server. Calls after `close` reject. */
export type TraceSource = Pick<TraceIndex, keyof TraceIndex>

export function openSource(options: TraceIndexOptions): Promise<TraceSource> {
  return TraceIndex.open(options)
}

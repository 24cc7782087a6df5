import type { ResolvedConfig } from './types.ts'

/** How long a turn with open work may be silent, and so how long another process may go on with it. */
export function openWorkTtlMillisOf({
  root_span_ttl_ms,
  open_work_ttl_ms,
}: Pick<ResolvedConfig, 'root_span_ttl_ms' | 'open_work_ttl_ms'>): number {
  return Math.max(root_span_ttl_ms, open_work_ttl_ms)
}

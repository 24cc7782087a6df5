import type { ResolvedConfig } from './types.ts'

/** The longest silence of a turn with open work, and thus the time within which another process may continue it. */
export function openWorkTtlMillisOf({
  root_span_ttl_ms,
  open_work_ttl_ms,
}: Pick<ResolvedConfig, 'root_span_ttl_ms' | 'open_work_ttl_ms'>): number {
  return Math.max(root_span_ttl_ms, open_work_ttl_ms)
}

import type { Fold, PathSectionRow, SpanRow, TraceView } from '../server/api.ts'
import { type PathFilter, pathSections } from './path-parts.ts'
import { endOf } from './time-scale.ts'
import { subtreeEnds } from './tree-model.ts'

export interface ParallelGroup {
  readonly rows: readonly number[]
  readonly millis: number
  readonly sumMillis: number
}

const KINDS = new Set(['tool', 'subagent', 'session'])

/**
 * Groups of siblings whose times overlap. A chain of overlaps is one group: the first need not overlap the last.
 *
 * @param now the provisional end of open spans
 */
export function parallelGroups(rows: readonly SpanRow[], now: number): ParallelGroup[] {
  const byParent = new Map<number, number[]>()
  for (const [index, { parent, kind }] of rows.entries()) {
    if (KINDS.has(kind) && parent >= 0) append(byParent, parent, index)
  }
  return [...byParent.values()].flatMap(siblings => groupsOf(siblings, rows, now))
}

function append<Value>(lists: Map<number, Value[]>, key: number, value: Value): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

function groupsOf(siblings: readonly number[], rows: readonly SpanRow[], now: number): ParallelGroup[] {
  const groups: { rows: number[]; from: number; until: number; sumMillis: number }[] = []
  for (const index of siblings) {
    const row = rows[index] as SpanRow
    const end = endOf(row, now)
    let group = groups.at(-1)
    // A row that begins exactly at the end of another did not overlap it.
    if (group === undefined || row.startAt >= group.until) {
      group = { rows: [], from: row.startAt, until: end, sumMillis: 0 }
      groups.push(group)
    }
    group.rows.push(index)
    group.until = Math.max(group.until, end)
    group.sumMillis += Math.max(0, end - row.startAt)
  }
  const parallel = groups.filter(group => group.rows.length > 1)
  return parallel.map(({ rows: ids, from, until, sumMillis }) => ({ rows: ids, millis: until - from, sumMillis }))
}

export interface TimeRange {
  readonly startAt: number
  readonly endAt: number
}

/** Limits the bars of a fold: gaps between calls that are shorter than this share are drawn over. */
const MAX_FOLD_BARS = 50

export function foldRanges(fold: Fold, rows: readonly SpanRow[]): TimeRange[] {
  const calls = fold.rows.flatMap(index => rows[index] ?? []).toSorted((a, b) => a.startAt - b.startAt)
  const { startAt, endAt } = rangeOf(calls)
  return joinedRanges(calls, (endAt - startAt) / MAX_FOLD_BARS)
}

/** Joins ranges with at most this gap between them. They are sorted by their start. */
export function joinedRanges(ranges: readonly TimeRange[], gap: number): TimeRange[] {
  const joined: { startAt: number; endAt: number }[] = []
  for (const { startAt, endAt } of ranges) {
    const last = joined.at(-1)
    const end = Math.max(startAt, endAt)
    if (last !== undefined && startAt - last.endAt <= gap) last.endAt = Math.max(last.endAt, end)
    else joined.push({ startAt, endAt: end })
  }
  return joined
}

export function rangeOf(stretches: readonly TimeRange[]): TimeRange {
  let [startAt, endAt] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const each of stretches) {
    startAt = Math.min(startAt, each.startAt)
    endAt = Math.max(endAt, each.startAt, each.endAt)
  }
  return { startAt, endAt }
}

export interface RetryWait extends TimeRange {
  readonly row: number
}

/** Attempts are siblings: a failed request, followed by one marked as a further attempt. */
export function retryWaits(rows: readonly SpanRow[]): RetryWait[] {
  const lastFailed = new Map<number, SpanRow>()
  const waits: RetryWait[] = []
  for (const [index, row] of rows.entries()) {
    if (row.kind !== 'api' && row.kind !== 'auxiliary') continue
    const failed = lastFailed.get(row.parent)
    if (failed !== undefined && row.attempt !== undefined && row.startAt > failed.endAt) {
      waits.push({ row: index, startAt: failed.endAt, endAt: row.startAt })
    }
    if (row.isError) lastFailed.set(row.parent, row)
    else lastFailed.delete(row.parent)
  }
  return waits
}

export interface RowMarks {
  readonly groupOf: ReadonlyMap<number, GroupMark>
  readonly waitOf: ReadonlyMap<number, RetryWait>
  readonly pathOf: ReadonlyMap<number, readonly PathSectionRow[]>
}

export interface GroupMark {
  readonly group: ParallelGroup
  readonly isFirst: boolean
  readonly depth: number
}

export function rowMarks(view: TraceView, filter: PathFilter | undefined): RowMarks {
  const { rows } = view
  const ends = subtreeEnds(rows)
  const groupOf = new Map<number, GroupMark>()
  const groups = parallelGroups(rows, view.now).map(group => ({ group, depth: rows[group.rows[0] ?? 0]?.depth ?? 0 }))
  // The innermost of nested groups marks the row.
  for (const { group, depth } of groups.toSorted((a, b) => a.depth - b.depth)) {
    const first = Math.min(...group.rows)
    const last = Math.max(...group.rows)
    for (let row = first; row < (ends[last] ?? last + 1); row++)
      groupOf.set(row, { group, depth, isFirst: row === first })
  }
  const pathOf = new Map<number, PathSectionRow[]>()
  for (const section of pathSections(view, filter)) append(pathOf, section.row, section)
  return { groupOf, waitOf: new Map(retryWaits(rows).map(wait => [wait.row, wait])), pathOf }
}

import { groupBy } from '../../reading/group-by.ts'
import { PARALLEL_KINDS, parallelGroups, rangeOf, splitAtGaps, type TimeRange } from '../../reading/time-ranges.ts'
import type { Fold, ParallelTimes, PathSectionRow, SpanRow, TraceView } from '../server/api.ts'
import { type PathFilter, pathSections } from './path-parts.ts'
import { endOf } from './time-scale.ts'
import { subtreeEnds } from './tree-model.ts'

export type ParallelRows = ParallelTimes & Readonly<{ rows: readonly number[] }>

/**
 * Groups of siblings whose times overlap.
 *
 * @param now the provisional end of open spans
 */
export function parallelRows(rows: readonly SpanRow[], now: number): ParallelRows[] {
  const ranges = rows.map((row, index) => ({ ...row, index, endAt: endOf(row, now) }))
  const parallel = ranges.filter(({ kind, parent }) => PARALLEL_KINDS.has(kind) && parent >= 0)
  const siblings = groupBy(parallel, ({ parent }) => parent)
  const groups = [...siblings.values()].flatMap(parallelGroups)
  return groups.map(({ members, ...times }) => {
    return { rows: members.map(({ index }) => index), count: members.length, ...times }
  })
}

/** Limits the bars of a fold: gaps between calls that are shorter than this share are drawn over. */
const MAX_FOLD_BARS = 50

export function foldRanges(fold: Fold, rows: readonly SpanRow[]): TimeRange[] {
  const calls = fold.rows.flatMap(index => rows[index] ?? []).toSorted((a, b) => a.startAt - b.startAt)
  const { startAt, endAt } = rangeOf(calls)
  return splitAtGaps(calls, (endAt - startAt) / MAX_FOLD_BARS).map(rangeOf)
}

export type RetryWait = TimeRange & Readonly<{ row: number }>

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

export type GroupMark = Readonly<{ group: ParallelRows; isFirst: boolean; depth: number }>

export function rowMarks(view: TraceView, filter: PathFilter | undefined): RowMarks {
  const { rows } = view
  const ends = subtreeEnds(rows)
  const groupOf = new Map<number, GroupMark>()
  const groups = parallelRows(rows, view.now).map(group => ({ group, depth: rows[group.rows[0] ?? 0]?.depth ?? 0 }))
  // The innermost of nested groups marks the row.
  for (const { group, depth } of groups.toSorted((a, b) => a.depth - b.depth)) {
    const first = Math.min(...group.rows)
    const last = Math.max(...group.rows)
    for (let row = first; row < (ends[last] ?? last + 1); row++)
      groupOf.set(row, { group, depth, isFirst: row === first })
  }
  const pathOf = groupBy(pathSections(view, filter), ({ row }) => row)
  return { groupOf, waitOf: new Map(retryWaits(rows).map(wait => [wait.row, wait])), pathOf }
}

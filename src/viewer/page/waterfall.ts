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
    if (!KINDS.has(kind) || parent < 0) continue
    const siblings = byParent.get(parent) ?? []
    siblings.push(index)
    byParent.set(parent, siblings)
  }
  return [...byParent.values()].flatMap(siblings => groupsOf(siblings, rows, now))
}

function groupsOf(siblings: readonly number[], rows: readonly SpanRow[], now: number): ParallelGroup[] {
  const groups: ParallelGroup[] = []
  let group: number[] = []
  let [from, until, sum] = [0, Number.NEGATIVE_INFINITY, 0]
  const finish = (): void => {
    if (group.length > 1) groups.push({ rows: group, millis: until - from, sumMillis: sum })
  }
  for (const index of siblings) {
    const row = rows[index] as SpanRow
    const end = endOf(row, now)
    // A row that begins exactly at the end of another did not overlap it.
    if (row.startAt >= until) {
      finish()
      group = []
      ;[from, until, sum] = [row.startAt, end, 0]
    }
    group.push(index)
    until = Math.max(until, end)
    sum += Math.max(0, end - row.startAt)
  }
  finish()
  return groups
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
  const leastGap = (endAt - startAt) / MAX_FOLD_BARS
  const stretches: { startAt: number; endAt: number }[] = []
  for (const call of calls) {
    const last = stretches.at(-1)
    const end = Math.max(call.startAt, call.endAt)
    if (last !== undefined && call.startAt - last.endAt <= leastGap) last.endAt = Math.max(last.endAt, end)
    else stretches.push({ startAt: call.startAt, endAt: end })
  }
  return stretches
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
  for (const section of pathSections(view, filter))
    pathOf.set(section.row, [...(pathOf.get(section.row) ?? []), section])
  return { groupOf, waitOf: new Map(retryWaits(rows).map(wait => [wait.row, wait])), pathOf }
}

import type { PathSectionRow, TraceView } from '../server/api.ts'
import { subtreeEnds } from './tree-model.ts'
import { type ParallelGroup, parallelGroups, type RetryWait, retryWaits } from './waterfall.ts'

export interface RowMarks {
  readonly groupOf: ReadonlyMap<number, GroupMark>
  readonly waitOf: ReadonlyMap<number, RetryWait>
  readonly pathOf: ReadonlyMap<number, readonly PathSectionRow[]>
}

/** Marks a row of a parallel group, or a row below one of them. */
export interface GroupMark {
  readonly group: ParallelGroup
  readonly isFirst: boolean
  readonly depth: number
}

export function marksOf(view: TraceView): RowMarks {
  const { rows, path } = view
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
  for (const section of path) pathOf.set(section.row, [...(pathOf.get(section.row) ?? []), section])
  return { groupOf, waitOf: new Map(retryWaits(rows).map(wait => [wait.row, wait])), pathOf }
}

export interface Scale {
  /** Epoch milliseconds. */
  readonly from: number
  readonly to: number
  readonly at: number
}

/** If the turn is open, the range ends now. */
export function scaleOf({ rows, startAt, turn }: TraceView, at: number): Scale {
  let to = startAt
  for (const row of rows) to = Math.max(to, row.endAt, row.startAt)
  return { from: startAt, to: turn.state === 'open' ? Math.max(to, at) : to, at: Math.max(at, to) }
}

import type { Fold, PathSectionRow, SpanRow, TraceView } from '../server/api.ts'
import { type PathFilter, pathSections } from './path-parts.ts'
import { endOf, type Range, type TimeScale } from './time-scale.ts'
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

export interface Tick {
  readonly at: number
  readonly text: string
}

const LAST_TICK = 0.97
const STEPS = [1, 2, 5, 10, 15, 20, 30, 60] as const

/** Ticks at round times within a range of positions, at most about `most`. None is in a compressed stretch. */
export function ticksOf(
  { from, to }: Range,
  most: number,
  scale: Pick<TimeScale, 'breaks' | 'position' | 'time'>,
): Tick[] {
  const step = stepFor(Math.max(1, to - from) / most)
  const ticks: Tick[] = []
  let next = Number.NEGATIVE_INFINITY
  for (let index = Math.ceil(scale.time(from) / step); ticks.length <= most * 2; index++) {
    const time = index * step
    const at = scale.position(time)
    // A tick at the very end has no room for its text.
    if (at > from + (to - from) * LAST_TICK) break
    const idle = scale.breaks.find(each => each.from < time && time < each.to)
    if (idle !== undefined) index = Math.ceil(idle.to / step) - 1
    else if (at >= next) {
      ticks.push({ at, text: tickText(time, step) })
      next = at + step / 2
    }
  }
  return ticks
}

function stepFor(least: number): number {
  const units = [1, 10, 100, 1_000, 60_000, 3_600_000, 86_400_000]
  for (const [index, unit] of units.entries()) {
    const limit = (units[index + 1] ?? Number.POSITIVE_INFINITY) / unit
    const step = STEPS.find(each => each * unit >= least && each < limit)
    if (step !== undefined) return step * unit
  }
  return 86_400_000 * Math.ceil(least / 86_400_000)
}

/** `200 ms`, `1 m 20 s`, `1 h 5.25 s`: units with zero are left out. */
function tickText(time: number, step: number): string {
  if (time === 0) return '0'
  if (time < 1_000 && step < 1_000) return `${time} ms`
  const units = [
    [Math.floor(time / 3_600_000), 'h'],
    [Math.floor(time / 60_000) % 60, 'm'],
    [(time % 60_000) / 1_000, 's'],
  ] as const
  return units.flatMap(([amount, unit]) => (amount === 0 ? [] : [`${amount} ${unit}`])).join(' ')
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

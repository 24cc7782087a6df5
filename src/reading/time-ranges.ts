export type TimeRange = Readonly<{ startAt: number; endAt: number }>

/** Not `Math.min(...all)`: a trace may have more spans than a call may have arguments. */
export function rangeOf(ranges: Iterable<TimeRange>): TimeRange {
  let [startAt, endAt] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const each of ranges) {
    startAt = Math.min(startAt, each.startAt)
    endAt = Math.max(endAt, each.startAt, each.endAt)
  }
  return { startAt, endAt }
}

/** The position of a time in a range, from 0 to 1. */
export function positionIn({ startAt, endAt }: TimeRange, at: number): number {
  return Math.min(1, Math.max(0, (at - startAt) / Math.max(1e-6, endAt - startAt)))
}

/** Splits ranges wherever none of them covers more than this gap. They are sorted by their start. */
export function splitAtGaps<Range extends TimeRange>(ranges: readonly Range[], gap: number): Range[][] {
  const groups: Range[][] = []
  let until = Number.NEGATIVE_INFINITY
  for (const range of ranges) {
    if (range.startAt - until > gap) groups.push([])
    groups.at(-1)?.push(range)
    until = Math.max(until, range.startAt, range.endAt)
  }
  return groups
}

/** Spans of these kinds run beside each other. The requests of an agent follow each other. */
export const PARALLEL_KINDS: ReadonlySet<string> = new Set(['tool', 'subagent', 'session'])

export type ParallelGroup<Range> = Readonly<{ members: readonly Range[]; millis: number; sumMillis: number }>

/** A range that begins exactly at the end of another does not overlap it. */
const OVERLAP = -Number.MIN_VALUE

/** Groups of ranges that overlap. A chain of overlaps is one group: the first need not overlap the last. */
export function parallelGroups<Range extends TimeRange>(ranges: readonly Range[]): ParallelGroup<Range>[] {
  return splitAtGaps(ranges, OVERLAP).flatMap(members => {
    const { startAt, endAt } = rangeOf(members)
    const sumMillis = members.reduce((sum, each) => sum + Math.max(0, each.endAt - each.startAt), 0)
    return members.length > 1 ? [{ members, millis: endAt - startAt, sumMillis }] : []
  })
}

import { rangeOf, splitAtGaps, type TimeRange } from '../../reading/time-ranges.ts'
import type { SpanRow, TraceView } from '../server/api.ts'

/** Times are milliseconds since the start of the turn; positions are those on the scale, where idle stretches are compressed. */
export type Range = Readonly<{ from: number; to: number }>

const MIN_IDLE_MILLIS = 30_000
/** Length of a compressed stretch, as a share of the busy time. Stretches that are shorter anyway are not compressed. */
const BREAK_SHARE = 0.02
const MAX_BREAKS = 30
/** Further zoom would exceed the largest length of a style. */
const MAX_ZOOM = 100_000

export class TimeScale {
  readonly breaks: readonly (Range & Readonly<{ length: number }>)[]
  /** The position of the end. An open turn may since have passed it. */
  readonly total: number

  constructor({ rows, startAt, turn }: Pick<TraceView, 'rows' | 'startAt' | 'turn'>, at: number) {
    const isOpen = turn.state === 'open'
    const last = rows.reduce((end, row) => Math.max(end, row.endAt, row.startAt), isOpen ? at : startAt)
    const idle = idleStretches(rows, startAt, last)
    const kept = last - startAt - idle.reduce((sum, { from, to }) => sum + to - from, 0)
    const length = Math.max(1, kept * BREAK_SHARE)
    this.breaks = idle.filter(({ from, to }) => to - from > length).map(stretch => ({ ...stretch, length }))
    this.total = Math.max(1, this.position(last - startAt))
  }

  position(time: number): number {
    let saved = 0
    for (const { from, to, length } of this.breaks) {
      if (time <= from) break
      saved += (1 - length / (to - from)) * (Math.min(time, to) - from)
    }
    return time - saved
  }

  time(position: number): number {
    let time = position
    for (const { from, to, length } of this.breaks) {
      if (time <= from) break
      const isInside = time < from + length
      time = isInside ? from + ((time - from) / length) * (to - from) : time + to - from - length
      if (isInside) break
    }
    return time
  }

  /** A range of the given length around a position that keeps its place. Undefined for all of the turn. */
  zoom({ from, to }: Range, factor: number, anchor: number = (from + to) / 2): Range | undefined {
    const length = Math.max((to - from) * factor, this.total / MAX_ZOOM)
    return this.clamp(anchor - ((anchor - from) * length) / (to - from), length)
  }

  /** The range, or the smallest one around it. */
  fit(from: number, to: number): Range | undefined {
    const length = Math.max(to - from, this.total / MAX_ZOOM)
    return this.clamp((from + to - length) / 2, length)
  }

  clamp(from: number, length: number): Range | undefined {
    if (length >= this.total) return undefined
    const start = Math.min(Math.max(0, from), this.total - length)
    return { from: start, to: start + length }
  }
}

/** The longest stretches in which nothing but waits for the user and framing spans ran, in order. */
function idleStretches(rows: readonly SpanRow[], startAt: number, endAt: number): Range[] {
  const ends = [startAt, endAt].map(at => ({ startAt: at, endAt: at }))
  const busy = [...ends, ...busyStretches(rows, endAt)].sort((a, b) => a.startAt - b.startAt)
  const joined = splitAtGaps(busy, MIN_IDLE_MILLIS).map(rangeOf)
  const idle = joined.slice(1).map((next, index) => ({
    from: (joined[index]?.endAt ?? startAt) - startAt,
    to: next.startAt - startAt,
  }))
  const longest = idle.toSorted((a, b) => b.to - b.from - (a.to - a.from)).slice(0, MAX_BREAKS)
  return longest.sort((a, b) => a.from - b.from)
}

const FRAMES = new Set(['session', 'llm', 'subagent', 'skill'])

/** A span is busy outside of its children. A framing span with children, and a wait for the user, is never busy. */
function* busyStretches(rows: readonly SpanRow[], now: number): Generator<TimeRange> {
  const cursors = new Map<number, number>()
  for (const row of rows.toSorted((a, b) => a.startAt - b.startAt)) {
    const holder = rows[row.parent]
    if (holder === undefined) continue
    const cursor = cursors.get(row.parent) ?? holder.startAt
    const until = Math.min(row.startAt, endOf(holder, now))
    if (until > cursor && !FRAMES.has(holder.kind)) yield { startAt: cursor, endAt: until }
    cursors.set(row.parent, Math.max(cursor, endOf(row, now)))
  }
  for (const [index, row] of rows.entries()) {
    const cursor = cursors.get(index)
    if (row.isPersonWait || (cursor !== undefined && FRAMES.has(row.kind))) continue
    const range = { startAt: cursor ?? row.startAt, endAt: endOf(row, now) }
    if (range.endAt >= range.startAt) yield range
  }
}

export function endOf({ state, startAt, endAt }: SpanRow, now: number): number {
  return state === 'open' ? Math.max(now, startAt) : Math.max(endAt, startAt)
}

export type Tick = Readonly<{ at: number; text: string }>

const LAST_TICK = 0.97
const [MINUTE_MILLIS, HOUR_MILLIS, DAY_MILLIS] = [60_000, 3_600_000, 86_400_000]
const ROUND = [1, 2, 5, 10, 15, 20, 30]
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...ROUND.map(seconds => seconds * 1_000),
  ...ROUND.map(minutes => minutes * MINUTE_MILLIS),
  ...ROUND.slice(0, -1).map(hours => hours * HOUR_MILLIS),
  ...[...ROUND, 60].map(days => days * DAY_MILLIS),
]

/** Ticks at round times within a range of positions, at most about `most`. None is in a compressed stretch. */
export function ticksOf(
  { from, to }: Range,
  most: number,
  scale: Pick<TimeScale, 'breaks' | 'position' | 'time'>,
): Tick[] {
  const least = Math.max(1, to - from) / most
  const step = STEPS.find(each => each >= least) ?? DAY_MILLIS * Math.ceil(least / DAY_MILLIS)
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

/** `200 ms`, `1 m 20 s`, `1 h 5.25 s`: units with zero are left out. */
function tickText(time: number, step: number): string {
  if (time === 0) return '0'
  if (time < 1_000 && step < 1_000) return `${time} ms`
  const units = [
    [Math.floor(time / HOUR_MILLIS), 'h'],
    [Math.floor(time / MINUTE_MILLIS) % 60, 'm'],
    [(time % MINUTE_MILLIS) / 1_000, 's'],
  ] as const
  return units.flatMap(([amount, unit]) => (amount === 0 ? [] : [`${amount} ${unit}`])).join(' ')
}

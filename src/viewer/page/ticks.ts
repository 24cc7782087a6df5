import type { Range, TimeScale } from './time-scale.ts'

export type Tick = Readonly<{ at: number; text: string }>

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

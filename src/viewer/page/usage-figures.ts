import type { UsageMeasure } from '../../reading/usage-text.ts'
import type { Usage } from '../server/api.ts'

/** `parts`: from the bottom, in the order of `names`. */
type DayColumn = Readonly<{ day: string; value: number; parts: readonly number[] }>
type DayChart = Readonly<{ names: readonly string[]; columns: readonly DayColumn[]; max: number }>

/** More colours are hard to distinguish. The rest is summed up as `others`. */
const MAX_SERIES = 6
export const OTHERS = 'others'
/** Guards against a wrong clock, and narrower columns are not visible. */
const MAX_DAYS = 92
const DAY_MILLIS = 86_400_000

export function dayChart({ cells, groups }: Usage, { amountOf }: UsageMeasure): DayChart {
  const shown = groups.slice(0, groups.length > MAX_SERIES ? MAX_SERIES - 1 : MAX_SERIES).map(({ name }) => name)
  const byDay = new Map<string, Map<string, number>>()
  for (const cell of cells) {
    const values = byDay.get(cell.day) ?? new Map<string, number>()
    byDay.set(cell.day, values)
    const name = shown.includes(cell.name) ? cell.name : OTHERS
    values.set(name, (values.get(name) ?? 0) + amountOf(cell))
  }
  const names = groups.length > shown.length ? [...shown, OTHERS] : shown
  const columns = daysBetween([...byDay.keys()]).map(day => {
    const parts = names.map(name => byDay.get(day)?.get(name) ?? 0)
    return { day, parts, value: parts.reduce((sum, value) => sum + value, 0) }
  })
  return { names, columns, max: columns.reduce((max, { value }) => Math.max(max, value), 0) }
}

/**
 * All days from the first to the last: a day without usage is an empty column. Skips years of five digits, which a wrong clock
 * makes and no ISO date has.
 */
function daysBetween(days: readonly string[]): string[] {
  const times = days.filter(day => /^\d{4}-\d\d-\d\d$/.test(day)).map(day => Date.parse(day))
  const last = Math.max(...times)
  const count = times.length === 0 ? 0 : Math.min(MAX_DAYS, (last - Math.min(...times)) / DAY_MILLIS + 1)
  const ago = Array.from({ length: count }, (_, index) => count - 1 - index)
  return ago.map(each => new Date(last - each * DAY_MILLIS).toISOString().slice(0, 10))
}

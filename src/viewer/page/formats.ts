import { humanDuration } from '../../reading/human-figures.ts'
import type { ParallelTimes } from '../server/api.ts'

/** `just now`, `3 m ago`, `2 h ago`, `4 d ago`. */
export function ago(millis: number): string {
  const minutes = Math.floor(millis / 60_000)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes} m ago`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} d ago`
}

const MAGNITUDES = ['', ' k', ' M', ' G', ' T']

/** `5.2 k`, `1.3 M`: for columns of magnitudes. */
export function shortCount(count: number): string {
  let [figure, magnitude] = [Math.round(count), 0]
  while (figure >= 999.5 && magnitude < MAGNITUDES.length - 1) [figure, magnitude] = [figure / 1_000, magnitude + 1]
  const digits = figure < 99.95 ? figure.toFixed(1).replace(/\.0$/, '') : String(Math.round(figure))
  return digits + MAGNITUDES[magnitude]
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

const MIN_PARALLEL_GAIN = 0.95

/** `3 in parallel, 2.1 s instead of 5.0 s` */
export function parallelText({ count, millis, sumMillis }: ParallelTimes): string {
  const text = `${count} in parallel`
  if (millis >= sumMillis * MIN_PARALLEL_GAIN) return text
  return `${text}, ${humanDuration(millis)} instead of ${humanDuration(sumMillis)}`
}

export const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const

export function localMidnight(at: number, days: number): number {
  const date = new Date(at)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days).getTime()
}

export function timeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** Milliseconds of an age in the address: `1h`, `7d`. Undefined if it is not an age, for example `all`. */
export function ageMillis(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,4})([mhd])$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * ({ m: 60_000, h: 3_600_000, d: 86_400_000 }[unit] ?? 0)
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

type TimeFormat = (at: number) => string

function timeFormatter(format: (date: Date) => string, otherwise = ''): TimeFormat {
  return at => {
    const date = new Date(at)
    return Number.isNaN(date.getTime()) ? otherwise : format(date)
  }
}

const LONG = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
export const timeText: TimeFormat = timeFormatter(LONG.format, 'unknown time')
export const clockText: TimeFormat = timeFormatter(new Intl.DateTimeFormat(undefined, { timeStyle: 'short' }).format)
export const dayText: TimeFormat = timeFormatter(new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' }).format)
export const isoOf: TimeFormat = timeFormatter(date => date.toISOString())

const BRIEF_CHARS = 60

/** A name or a state. Hostile ones are long. */
export function brief(text: string): string {
  return text.length > BRIEF_CHARS ? `${text.slice(0, BRIEF_CHARS)}…` : text
}

/** The texts that are not empty, as one line: `claude-code · main · sonnet-4-5`. */
export function dotted(...texts: readonly string[]): string {
  const parts = texts.filter(text => text !== '').map(brief)
  return parts.join(' · ')
}

export function shortId(id: string): string {
  return id.length > 20 ? `${id.slice(0, 8)}…${id.slice(-6)}` : id
}

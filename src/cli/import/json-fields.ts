import { numberOf, ownValue } from '../../contract/foreign.ts'

export type Fields = Readonly<Record<string, unknown>>

/**
 * Parses RFC 3339 with any number of digits, or whole microseconds since the epoch. Returns epoch milliseconds with fractions.
 */
export function millisOf(timestamp: unknown): number | undefined {
  if (typeof timestamp === 'number') return Number.isFinite(timestamp) ? timestamp / 1000 : undefined
  const [, date, fraction = '', zone] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.exec(String(timestamp)) ?? []
  const seconds = date === undefined ? Number.NaN : Date.parse(`${date}${zone}`)
  return Number.isNaN(seconds) ? undefined : seconds + (numberOf(Number(`0${fraction}`)) ?? 0) * 1000
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

export function within(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((each, key) => ownValue(each, key), value)
}

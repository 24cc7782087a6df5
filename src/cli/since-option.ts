import { WrongUse } from './command.ts'

const UNIT_MILLIS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** A date with optional time and zone; `tree` itself prints ` UTC`. */
const INSTANT = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?))? ?(UTC|Z|[+-]\d{2}:?\d{2})?$/i

/** `90s`, `30m`, `2h`, `7d`, `1w` in milliseconds; undefined for anything else. */
export function ageMillis(text: string): number | undefined {
  const [, amount = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)([smhdw])$/.exec(text.trim()) ?? []
  const millis = UNIT_MILLIS[unit]
  return millis === undefined ? undefined : Number(amount) * millis
}

/**
 * Parses the value of `--since`: an age (`90s`, `30m`, `2h`, `7d`, `1w`) or an ISO time, UTC by default. Returns epoch
 * milliseconds.
 *
 * @throws {WrongUse} if it is neither
 */
export function sinceAt(text: string, now: number): number {
  const age = ageMillis(text)
  if (age !== undefined) return now - age
  const [, day = '', time = '00:00', zone = 'Z'] = INSTANT.exec(text.trim()) ?? []
  const at = Date.parse(`${day}T${time}${/^utc$/i.test(zone) ? 'Z' : zone}`)
  if (!Number.isNaN(at)) return at
  const example = new Date(now).toISOString().slice(0, 16)
  throw new WrongUse(
    `--since takes an age such as 30m, 2h or 7d, or a time such as ${example}, got ${JSON.stringify(text)}`,
  )
}

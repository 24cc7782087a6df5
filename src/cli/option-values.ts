import { BACKEND_TYPES, isBackendType } from '../delivery/backends/rows.ts'
import { readEndpoint } from '../plugin/config/backends.ts'
import { suggestion } from '../plugin/config/nearest.ts'
import { type CommandOption, WrongUse } from './command.ts'

export const BACKEND_OPTION: CommandOption & { readonly value: string; readonly many: true } = {
  value: 'TYPE[=URL]',
  many: true,
  offers: BACKEND_TYPES,
  help: 'send to this backend instead of the configured ones, for example --backend jaeger',
}

/**
 * Validates the values of `--backend`: `TYPE`, `TYPE=URL`, `file=PATH` or a URL. The configuration skips an invalid backend and
 * goes on; on the command line it must fail before anything is sent.
 *
 * @throws WrongUse if the type is unknown or the URL is invalid
 */
export function checkBackends(values: readonly string[]): readonly string[] {
  for (const value of values) if (!/^https?:/i.test(value)) checkTyped(value)
  return values
}

function checkTyped(value: string): void {
  const [, name = '', target] = /^([^=]*)(?:=(.*))?$/s.exec(value) ?? []
  const type = name.trim().toLowerCase()
  if (!isBackendType(type)) {
    const advice = suggestion(type, BACKEND_TYPES) ?? `types: ${BACKEND_TYPES.join(', ')}`
    throw new WrongUse(`--backend does not know the type ${JSON.stringify(name.slice(0, 40))}; ${advice}`)
  }
  if (type === 'file' && (target ?? '').trim() === '') throw new WrongUse('--backend file takes a path: file=PATH')
  if (type === 'file' || target === undefined) return
  const reading = readEndpoint(target)
  if ('reason' in reading) throw new WrongUse(`--backend ${type}: ${reading.reason}`)
}

/** Undefined if not given; 0 = any free port. @throws WrongUse */
export function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new WrongUse(`--port takes a number from 0 to 65535, got ${JSON.stringify(text.slice(0, 60))}`)
}

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

/** The epoch milliseconds of an age (`90s`, `30m`, `2h`, `7d`, `1w`) or an ISO time, UTC by default. @throws {WrongUse} */
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

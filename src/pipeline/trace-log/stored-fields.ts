import type { HrTime } from '@opentelemetry/api'

const MAX_UINT32 = 2 ** 32 - 1
const MAX_FIXED64 = '18446744073709551615'
const NANO_DIGITS = 9
const DIGITS = /^\d{1,20}$/
const HEX = /^[0-9a-f]+$/i

export type Fields = Readonly<Record<string, unknown>>

/** A line that is not what was written. The message says what is wrong, and quotes nothing: a line may hold anything. */
export class DamagedLine extends Error {
  override readonly name = 'DamagedLine'
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @throws {DamagedLine} */
export function readFields(value: unknown, what: string): Fields {
  if (isRecord(value)) return value
  throw new DamagedLine(`${what} is not an object`)
}

/** Absent = empty. @throws {DamagedLine} */
export function readList(value: unknown, what: string): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw new DamagedLine(`${what} is not a list`)
}

/** @throws {DamagedLine} */
export function readText(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw new DamagedLine(`${what} is not a text`)
}

/** @throws {DamagedLine} */
export function readOptionalText(value: unknown, what: string): string | undefined {
  return value === undefined || value === null ? undefined : readText(value, what)
}

/** Absent = the number given. @throws {DamagedLine} */
export function readCount(value: unknown, what: string, absent = 0, max: number = MAX_UINT32): number {
  if (value === undefined || value === null) return absent
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max) return value as number
  throw new DamagedLine(`${what} is not a number in its range`)
}

/** @throws {DamagedLine} */
export function readId(value: unknown, digits: number, what: string): string {
  const id = readText(value, what)
  if (id.length === digits && HEX.test(id)) return id
  throw new DamagedLine(`${what} is not ${digits} hexadecimal digits`)
}

/** Nanoseconds since the epoch, in decimal. @throws {DamagedLine} */
export function readTime(value: unknown, what: string): HrTime {
  const text = readText(value, what)
  if (!DIGITS.test(text) || (text.length === MAX_FIXED64.length && text > MAX_FIXED64)) {
    throw new DamagedLine(`${what} is not a time`)
  }
  return [Number(text.slice(0, -NANO_DIGITS)), Number(text.slice(-NANO_DIGITS))]
}

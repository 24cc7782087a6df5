import type { Attributes, HrTime } from '@opentelemetry/api'
import { MAX_DEPTH } from './attribute-json.ts'

const MAX_UINT32 = 2 ** 32 - 1
const MAX_FIXED64 = '18446744073709551615'
const NANO_DIGITS = 9
const DIGITS = /^\d{1,20}$/
const HEX = /^[0-9a-f]+$/i

export type OtlpFields = Readonly<Record<string, unknown>>

/**
 * A line that does not have the expected form. The message describes the problem without quoting the line, which may
 * contain anything.
 */
export class DamagedLine extends Error {
  override readonly name = 'DamagedLine'
}

function isRecord(value: unknown): value is OtlpFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @throws {DamagedLine} */
export function readFields(value: unknown, what: string): OtlpFields {
  if (isRecord(value)) return value
  throw new DamagedLine(`${what} is not an object`)
}

/**
 * Absent = empty.
 * @throws {DamagedLine}
 */
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

/** @throws {DamagedLine} */
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

/**
 * Reads nanoseconds since the epoch, in decimal.
 * @throws {DamagedLine}
 */
export function readTime(value: unknown, what: string): HrTime {
  const text = readText(value, what)
  if (!DIGITS.test(text) || (text.length === MAX_FIXED64.length && text > MAX_FIXED64)) {
    throw new DamagedLine(`${what} is not a time`)
  }
  return [Number(text.slice(0, -NANO_DIGITS)), Number(text.slice(-NANO_DIGITS))]
}

const INTEGER = /^-?\d{1,19}$/
const NUMBER_WORDS: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
}

/**
 * Reads a list of OTLP `KeyValue`.
 * @throws {DamagedLine}
 */
export function readAttributes(list: unknown): Attributes {
  // Resources may also have bytes, null and nested values, which the serializers accept.
  return readPairs(list, 0) as Attributes
}

function readPairs(list: unknown, depth: number): Record<string, unknown> {
  const attributes: Record<string, unknown> = {}
  for (const element of readList(list, 'attributes')) {
    const pair = readFields(element, 'an attribute')
    const key = readText(pair['key'], 'the key of an attribute')
    // An assignment would set the prototype, or have no effect.
    if (key === '__proto__') throw new DamagedLine('an attribute has a key that none can have')
    attributes[key] = readValue(pair['value'], depth)
  }
  return attributes
}

/** Reads an OTLP `AnyValue`; an empty one is null. */
function readValue(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new DamagedLine('a value is too deep')
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue, bytesValue } = readFields(
    value,
    'the value of an attribute',
  )
  if (isSet(stringValue)) return readText(stringValue, 'a text')
  if (isSet(intValue)) return readInteger(intValue)
  if (isSet(boolValue)) return readBoolean(boolValue)
  if (isSet(doubleValue)) return readDouble(doubleValue)
  if (isSet(arrayValue)) return readArray(readFields(arrayValue, 'a list'), depth + 1)
  if (isSet(kvlistValue)) return readPairs(readFields(kvlistValue, 'a list')['values'], depth + 1)
  return isSet(bytesValue) ? Buffer.from(readText(bytesValue, 'a value of bytes'), 'base64') : null
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

function readArray(list: Readonly<Record<string, unknown>>, depth: number): unknown[] {
  return readList(list['values'], 'a list').map(element => readValue(element, depth))
}

function readBoolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw new DamagedLine('a value is neither true nor false')
}

/** The protobuf mapping writes 64-bit integers as strings. OpenTelemetry for JavaScript writes numbers. */
function readInteger(value: unknown): number {
  if (Number.isInteger(value)) return value as number
  if (typeof value === 'string' && INTEGER.test(value)) return Number(value)
  throw new DamagedLine('a value is not a whole number')
}

function readDouble(value: unknown): number {
  if (Number.isFinite(value)) return value as number
  const word = typeof value === 'string' && Object.hasOwn(NUMBER_WORDS, value) ? NUMBER_WORDS[value] : undefined
  if (word !== undefined) return word
  throw new DamagedLine('a value is not a number')
}

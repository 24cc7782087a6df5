import type { Attributes } from '@opentelemetry/api'
import { type JsonBytes, stringJson } from './json-bytes.ts'

const MAX_KNOWN_KEYS = 2000
/** Of a key, and of a value: content must not stay in memory. */
const MAX_KNOWN_CHARS = 128
/** A value that none is. */
const NOTHING = Symbol('nothing')
/** Values of values: `stored-attributes.ts` reads as deep as is written here. */
export const MAX_DEPTH = 64
/** A whole number beyond is no 64-bit integer: a strict reader would turn the request down. */
const INT64_LIMIT = 2 ** 63

/**
 * What is remembered of a key: the spans of a process have most of their keys in common, and many values with the span
 * before.
 */
interface KnownKey {
  /** What stands before a value, and before one that is a text. */
  readonly head: Buffer
  readonly textHead: Buffer
  /** The value that was written last, unless it is long or a list. */
  value: unknown
  /** The whole pair, once `value` has come twice in a row. */
  pair: Buffer | undefined
}

const knownKeys = new Map<string, KnownKey>()

/** The elements of a list of OTLP `KeyValue`, without the brackets. */
export function writeAttributes(out: JsonBytes, attributes: Attributes, depth = 0): void {
  for (const key of Object.keys(attributes)) {
    const value = attributes[key]
    const known = knownKeys.get(key) ?? learnKey(key)
    out.comma()
    if (known.value !== value) writePair(out, known, value, depth)
    else if (known.pair !== undefined) out.bytes(known.pair)
    else {
      const before = out.length
      writePair(out, known, value, depth)
      known.pair = out.from(before)
    }
  }
}

function writePair(out: JsonBytes, known: KnownKey, value: unknown, depth: number): void {
  if (typeof value === 'string') {
    out.bytes(known.textHead)
    out.string(value)
    out.ascii('}}')
    if (value.length > MAX_KNOWN_CHARS) return
  } else {
    out.bytes(known.head)
    writeValue(out, value, depth)
    out.ascii('}')
    if (typeof value === 'object') return
  }
  known.value = value
  known.pair = undefined
}

/** An OTLP `AnyValue`. */
function writeValue(out: JsonBytes, value: unknown, depth: number): void {
  if (typeof value === 'number') writeNumber(out, value)
  else if (typeof value === 'boolean') out.ascii(value ? '{"boolValue":true}' : '{"boolValue":false}')
  else if (typeof value === 'string') {
    out.ascii('{"stringValue":')
    out.string(value)
    out.ascii('}')
  } else if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) out.ascii('{}')
  else writeObject(out, value, depth)
}

function writeObject(out: JsonBytes, value: object, depth: number): void {
  if (value instanceof Uint8Array) {
    out.ascii(`{"bytesValue":"${Buffer.from(value).toString('base64')}"}`)
    return
  }
  const isList = Array.isArray(value)
  out.ascii(isList ? '{"arrayValue":{"values":[' : '{"kvlistValue":{"values":[')
  if (isList) writeElements(out, value, depth + 1)
  else writeAttributes(out, value as Attributes, depth + 1)
  out.ascii(']}}')
}

/** Unlike `forEach` this does not pass over holes, which would leave a comma alone. */
function writeElements(out: JsonBytes, values: readonly unknown[], depth: number): void {
  for (let index = 0; index < values.length; index++) {
    out.comma()
    writeValue(out, values[index], depth)
  }
}

/** JSON has no NaN and no Infinity: the protobuf mapping writes them as words. */
function writeNumber(out: JsonBytes, value: number): void {
  if (Number.isInteger(value) && Math.abs(value) < INT64_LIMIT) out.ascii(`{"intValue":${value}}`)
  else out.ascii(Number.isFinite(value) ? `{"doubleValue":${value}}` : `{"doubleValue":"${value}"}`)
}

function learnKey(key: string): KnownKey {
  const head = `{"key":${stringJson(key)},"value":`
  const textHead = Buffer.from(`${head}{"stringValue":`)
  const known = { head: Buffer.from(head), textHead, value: NOTHING, pair: undefined }
  if (knownKeys.size >= MAX_KNOWN_KEYS) knownKeys.clear()
  if (key.length <= MAX_KNOWN_CHARS) knownKeys.set(key, known)
  return known
}

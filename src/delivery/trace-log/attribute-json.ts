import type { Attributes } from '@opentelemetry/api'
import { type JsonBytes, stringJson } from './json-bytes.ts'

const MAX_KNOWN_KEYS = 2000
/** Maximum length of a cached key or value: content must not stay in memory. */
const MAX_KNOWN_CHARS = 128
/** Differs from every attribute value. */
const NOTHING = Symbol('nothing')
/** Maximum depth of nested values, also for the reader in `stored-fields.ts`. */
export const MAX_DEPTH = 64
/** Larger whole numbers do not fit into a 64-bit integer: a strict server would refuse the request. */
const INT64_LIMIT = 2 ** 63

/** The cached JSON of a key. The spans of a process share most of their keys, and many values with the previous span. */
interface KnownKey {
  /** The JSON before a value, and before a string value. */
  readonly head: Buffer
  readonly textHead: Buffer
  /** The latest value, unless it is long or a list. */
  value: unknown
  /** The JSON of key and value, once `value` has occurred twice in a row. */
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

/** Unlike `forEach`, visits holes. Otherwise a hole would leave a comma without a value. */
function writeElements(out: JsonBytes, values: readonly unknown[], depth: number): void {
  for (let index = 0; index < values.length; index++) {
    out.comma()
    writeValue(out, values[index], depth)
  }
}

/** JSON has no NaN or Infinity. The protobuf mapping writes them as strings: NaN -> "NaN". */
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

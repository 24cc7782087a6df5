import type { Attributes } from '@opentelemetry/api'
import { longStringJson, MUST_ESCAPE, SHORT_CHARS, stringJson } from './string-json.ts'

const MAX_KNOWN_KEYS = 2000
/** Values of values: `stored-attributes.ts` reads as deep as is written here. */
export const MAX_DEPTH = 64
/** A whole number beyond is no 64-bit integer: a strict reader would turn the request down. */
const INT64_LIMIT = 2 ** 63

/**
 * What is remembered of a key: the spans of a process have most of their keys in common, and many values with the span
 * before. All pairs begin with a comma.
 */
interface KnownKey {
  readonly head: string
  readonly textHead: string
  /** The value that was written last, unless it is long or a list. */
  value: unknown
  /** The whole pair, once `value` has come twice in a row. One piece of memory, not a chain of concatenations. */
  pair: string
}

const knownKeys = new Map<string, KnownKey>()

/** The elements of a list of OTLP `KeyValue`, without the brackets. */
export function attributesJson(attributes: Attributes): string {
  let json = ''
  for (const key of Object.keys(attributes)) {
    const value = attributes[key]
    const known = knownKeys.get(key) ?? learnKey(key)
    const pair = known.value === value ? repeatedPair(known) : newPair(known, value)
    json += json === '' ? pair.slice(1) : pair
  }
  return json
}

function repeatedPair(known: KnownKey): string {
  if (known.pair === '') known.pair = [known.head, valueJson(known.value), '}'].join('')
  return known.pair
}

function newPair(known: KnownKey, value: unknown): string {
  if (typeof value !== 'string') {
    if (typeof value !== 'object') remember(known, value)
    return `${known.head}${valueJson(value)}}`
  }
  if (value.length > SHORT_CHARS) return `${known.head}{"stringValue":${longStringJson(value)}}}`
  remember(known, value)
  return MUST_ESCAPE.test(value) ? `${known.head}{"stringValue":${stringJson(value)}}}` : `${known.textHead}${value}"}}`
}

function remember(known: KnownKey, value: unknown): void {
  known.value = value
  known.pair = ''
}

/** An OTLP `AnyValue`. */
function valueJson(value: unknown, depth = 0): string {
  if (typeof value === 'string') return `{"stringValue":${stringJson(value)}}`
  if (typeof value === 'number') return numberJson(value)
  if (typeof value === 'boolean') return value ? '{"boolValue":true}' : '{"boolValue":false}'
  // Nothing, or a value that has no end.
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) return '{}'
  if (value instanceof Uint8Array) return `{"bytesValue":"${Buffer.from(value).toString('base64')}"}`
  if (Array.isArray(value)) {
    // Unlike `map` this does not pass over holes, which would leave a comma alone.
    return `{"arrayValue":{"values":[${Array.from(value, element => valueJson(element, depth + 1)).join(',')}]}}`
  }
  const pairs = Object.entries(value).map(([key, element]) => `${keyHead(key)}${valueJson(element, depth + 1)}}`)
  return `{"kvlistValue":{"values":[${pairs.join(',')}]}}`
}

/** JSON has no NaN and no Infinity: the protobuf mapping writes them as words. */
function numberJson(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < INT64_LIMIT) return `{"intValue":${value}}`
  return Number.isFinite(value) ? `{"doubleValue":${value}}` : `{"doubleValue":"${value}"}`
}

function learnKey(key: string): KnownKey {
  const head = `,${keyHead(key)}`
  const known = { head, textHead: `${head}{"stringValue":"`, value: undefined, pair: '' }
  if (knownKeys.size >= MAX_KNOWN_KEYS) knownKeys.clear()
  if (key.length <= SHORT_CHARS) knownKeys.set(key, known)
  return known
}

function keyHead(key: string): string {
  return `{"key":${stringJson(key)},"value":`
}

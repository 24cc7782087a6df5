import type { Attributes, AttributeValue, HrTime, Link, SpanContext } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { load } from '../load-package.ts'
import { PlainResource } from './plain-resource.ts'
import { cachedKeys, createKey, durationOf, ListedSpan } from './recorded-span.ts'
import { MAX_DEPTH } from './span-json.ts'

const api = (): typeof import('@opentelemetry/api') => load('@opentelemetry/api')

const HEADER = 'hookspan.segment'
const OPEN_NOTE = 'hookspan.open'
const VERSION = 1
const NANOS_PER_MILLI = 1_000_000
const BRACE = 0x7b

/** Attribute names with which the spans of a segment are completed. Empty = our own attributes were off. */
export interface SegmentMarks {
  readonly incomplete: string
  readonly finalStatus: string
  readonly spanKind: string
}

/** Backend -> destination (`destinationOf`), for the backends pending from the start of a segment. */
export type Destinations = ReadonlyMap<string, string>

export interface SegmentHeader {
  readonly marks: SegmentMarks
  readonly backends: Destinations
  /** Milliseconds after the end of its process within which another one may continue its open spans; 0 = never. */
  readonly continuedMillis: number
  readonly heldBy: string
}

export type StoredLine =
  | { readonly kind: 'spans'; readonly spans: readonly ReadableSpan[] }
  | { readonly kind: 'open'; readonly spans: readonly ReadableSpan[] }
  | ({ readonly kind: 'header' } & SegmentHeader)
  | { readonly kind: 'other' | 'damaged' }

export function headerJson(
  { incomplete, finalStatus, spanKind }: SegmentMarks,
  destinations: Destinations,
  continuedMillis = 0,
  heldBy = '',
): string {
  // A backend may be named `__proto__`: `fromEntries` defines such a key, an assignment would not.
  const backends = Object.fromEntries(destinations)
  const whereSet = { continuedMillis: continuedMillis || undefined, heldBy: heldBy || undefined }
  const marks = { incomplete, finalStatus, spanKind }
  return JSON.stringify({ [HEADER]: { version: VERSION, marks, backends, ...whereSet } })
}

/** Equal resources and scopes of different lines are one object, because the serializers group spans by identity. */
export class LineParser {
  readonly #resources = new Map<string, Resource>()
  readonly #scopes = new Map<string, Scope>()

  /**
   * Parses one line, without its end. Never throws: one bad span makes the whole line damaged. A line of zeros was overwritten,
   * by the file system or externally. After a crash of the machine, a file system may have left zeros before the data.
   */
  read(text: string): StoredLine {
    try {
      const line = text.replace(/^\0+/, '')
      return line === '' && text !== '' ? { kind: 'damaged' } : this.#read(line)
    } catch {
      return { kind: 'damaged' }
    }
  }

  #read(text: string): StoredLine {
    if (text.charCodeAt(0) !== BRACE && text.trim() === '') return { kind: 'other' }
    const line = readFields(JSON.parse(text))
    if (line['resourceSpans'] !== undefined) return { kind: 'spans', spans: this.#spans(line, true) }
    if (line[OPEN_NOTE] !== undefined) return { kind: 'open', spans: this.#spans(readFields(line[OPEN_NOTE]), false) }
    return line[HEADER] === undefined ? { kind: 'other' } : readHeader(line[HEADER])
  }

  #spans(request: OtlpFields, ended: boolean): ReadableSpan[] {
    const spans: ReadableSpan[] = []
    for (const value of readList(request['resourceSpans'])) {
      const group = readFields(value)
      const resource = cached(this.#resources, [group['resource'], group['schemaUrl']], () => readResource(group))
      for (const inner of readList(group['scopeSpans'])) {
        const scoped = readFields(inner)
        const scope = cached(this.#scopes, [scoped['scope'], scoped['schemaUrl']], () => readScope(scoped))
        for (const span of readList(scoped['spans'])) spans.push(readSpan(span, resource, scope, ended))
      }
    }
    return spans
  }
}

export function endedSpan(open: ReadableSpan, endAtMillis: number, attributes: Attributes): ReadableSpan {
  const { startTime } = open
  const endTime = laterOf(startTime, endAtMillis)
  const ending = { endTime, duration: lengthOf(startTime, endTime), ended: true, status: { code: 0 } }
  // The attributes of a stored span are a getter, which is not copied with its fields.
  return { ...open, ...ending, attributes: { ...open.attributes, ...attributes } }
}

/** A clock that was set back must not make a span end before it starts. */
function laterOf(start: HrTime, millis: number): HrTime {
  if (!Number.isFinite(millis)) return start
  const seconds = Math.floor(millis / 1000)
  const time: HrTime = [seconds, Math.floor((millis - seconds * 1000) * NANOS_PER_MILLI)]
  return time[0] > start[0] || (time[0] === start[0] && time[1] > start[1]) ? time : start
}

function readHeader(value: unknown): StoredLine {
  const header = readFields(value)
  readCount(header['version'], VERSION)
  const marks = readFields(header['marks'] ?? {})
  const markOf = (name: keyof SegmentMarks): string => readOptionalText(marks[name]) ?? ''
  const backends = Object.entries(readFields(header['backends'] ?? {}))
  return {
    kind: 'header',
    marks: { incomplete: markOf('incomplete'), finalStatus: markOf('finalStatus'), spanKind: markOf('spanKind') },
    backends: new Map(backends.map(([name, place]) => [name, readOptionalText(place) ?? ''])),
    continuedMillis: readCount(header['continuedMillis'], 0, Number.MAX_SAFE_INTEGER),
    heldBy: readOptionalText(header['heldBy']) ?? '',
  }
}

const TRACE_ID_DIGITS = 32
const SPAN_ID_DIGITS = 16
const TRACE_FLAGS = 0xff
const IS_REMOTE = 0x200
const SAMPLED = 1
const MAX_KIND = 5
const MAX_STATUS = 2
const NO_TIME: HrTime = [0, 0]

type TimedEvent = ReadableSpan['events'][number]

/** More attributes are read into an object: a list is searched for each of them. */
const MAX_LISTED = 256

/** A span of the log, for the serializers. Like all readers below, throws if the line is damaged. */
function readSpan(value: unknown, resource: Resource, scope: Scope, ended: boolean): ReadableSpan {
  const fields = readFields(value)
  const flags = readCount(fields['flags'], SAMPLED)
  const context = readContext(fields, flags & TRACE_FLAGS)
  const parent = readParent(fields, context, flags)
  const [startTime, endTime] = [readTime(fields['startTimeUnixNano']), readTime(fields['endTimeUnixNano'])]
  return Object.assign(readListedSpan(fields['attributes']), {
    name: readText(fields['name']),
    // The protocol has an additional value 0 (unspecified), which is read as INTERNAL.
    kind: Math.max(0, readCount(fields['kind'], 0, MAX_KIND) - 1),
    spanContext: () => context,
    parentSpanContext: parent as SpanContext,
    startTime,
    endTime,
    duration: ended ? lengthOf(startTime, endTime) : NO_TIME,
    ended,
    status: readStatus(fields['status']),
    events: readList(fields['events']).map(readEvent),
    links: readList(fields['links']).map(readLink),
    droppedAttributesCount: readCount(fields['droppedAttributesCount']),
    droppedEventsCount: readCount(fields['droppedEventsCount']),
    droppedLinksCount: readCount(fields['droppedLinksCount']),
    resource,
    instrumentationScope: scope,
  })
}

/** The last value of a name counts. */
function readListedSpan(value: unknown): ListedSpan {
  const span = new ListedSpan()
  const list = readList(value)
  if (list.length > MAX_LISTED) {
    for (const [name, own] of Object.entries(readAttributes(list))) {
      span.keys.push(cachedKeys.get(name) ?? createKey(name))
      span.values.push(own as AttributeValue)
    }
    return span
  }
  for (const element of list) {
    const pair = readFields(element)
    span.putAttribute(readText(pair['key']), readValue(pair['value'], 0) as AttributeValue)
  }
  return span
}

/** Never negative, because readers treat it as a length. */
function lengthOf(start: HrTime, end: HrTime): HrTime {
  const duration = durationOf(start, end)
  return duration[0] < 0 ? NO_TIME : duration
}

function readContext(fields: OtlpFields, traceFlags: number): SpanContext {
  const traceState = readOptionalText(fields['traceState'])
  return {
    traceId: readId(fields['traceId'], TRACE_ID_DIGITS),
    spanId: readId(fields['spanId'], SPAN_ID_DIGITS),
    traceFlags,
    ...(traceState === undefined ? {} : { traceState: api().createTraceState(traceState) }),
  }
}

/** Stores only the id and the remote flag of the parent context. */
function readParent(fields: OtlpFields, { traceId, traceFlags }: SpanContext, flags: number): SpanContext | undefined {
  if (!readOptionalText(fields['parentSpanId'])) return undefined
  const spanId = readId(fields['parentSpanId'], SPAN_ID_DIGITS)
  return { traceId, spanId, traceFlags, isRemote: (flags & IS_REMOTE) !== 0 }
}

function readStatus(value: unknown): ReadableSpan['status'] {
  const fields = readFields(value ?? {})
  const message = readOptionalText(fields['message'])
  const code = readCount(fields['code'], 0, MAX_STATUS)
  return { code, ...(message === undefined ? {} : { message }) }
}

function readEvent(value: unknown): TimedEvent {
  const fields = readFields(value)
  return {
    name: readText(fields['name']),
    time: readTime(fields['timeUnixNano']),
    attributes: readAttributes(fields['attributes']),
    droppedAttributesCount: readCount(fields['droppedAttributesCount']),
  }
}

function readLink(value: unknown): Link {
  const fields = readFields(value)
  const flags = readCount(fields['flags'])
  return {
    context: { ...readContext(fields, flags & TRACE_FLAGS), isRemote: (flags & IS_REMOTE) !== 0 },
    attributes: readAttributes(fields['attributes']),
    droppedAttributesCount: readCount(fields['droppedAttributesCount']),
  }
}

const MAX_KEPT = 64
const MAX_KEPT_CHARS = 1 << 16

type Resource = ReadableSpan['resource']
type Scope = ReadableSpan['instrumentationScope']

function cached<Value>(values: Map<string, Value>, source: unknown, read: () => Value): Value {
  const json = JSON.stringify(source)
  const known = values.get(json)
  if (known !== undefined) return known
  const value = read()
  if (values.size >= MAX_KEPT) values.clear()
  if (json.length <= MAX_KEPT_CHARS) values.set(json, value)
  return value
}

function readResource(group: OtlpFields): Resource {
  const resource = readFields(group['resource'] ?? {})
  return new PlainResource(readAttributes(resource['attributes']), readOptionalText(group['schemaUrl']))
}

function readScope(group: OtlpFields): Scope {
  const scope = readFields(group['scope'] ?? {})
  const name = readOptionalText(scope['name']) ?? ''
  const version = readOptionalText(scope['version'])
  const schemaUrl = readOptionalText(group['schemaUrl'])
  return { name, version, schemaUrl } as Scope
}

const MAX_UINT32 = 2 ** 32 - 1
const MAX_FIXED64 = '18446744073709551615'
const NANO_DIGITS = 9
const DIGITS = /^\d{1,20}$/
const HEX = /^[0-9a-f]+$/i

export type OtlpFields = Readonly<Record<string, unknown>>

const DAMAGED: Error = new Error('damaged line')

function readFields(value: unknown): OtlpFields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw DAMAGED
  return value as OtlpFields
}

function readList(value: unknown): readonly unknown[] {
  if (!isSet(value)) return []
  if (!Array.isArray(value)) throw DAMAGED
  return value
}

function readText(value: unknown): string {
  if (typeof value !== 'string') throw DAMAGED
  return value
}

function readOptionalText(value: unknown): string | undefined {
  return isSet(value) ? readText(value) : undefined
}

function readCount(value: unknown, absent = 0, max: number = MAX_UINT32): number {
  const count = isSet(value) ? value : absent
  if (!Number.isInteger(count) || (count as number) < 0 || (count as number) > max) throw DAMAGED
  return count as number
}

function readId(value: unknown, digits: number): string {
  const id = readText(value)
  if (id.length !== digits || !HEX.test(id)) throw DAMAGED
  return id
}

function readTime(value: unknown): HrTime {
  const text = readText(value)
  if (!DIGITS.test(text) || (text.length === MAX_FIXED64.length && text > MAX_FIXED64)) throw DAMAGED
  return [Number(text.slice(0, -NANO_DIGITS)), Number(text.slice(-NANO_DIGITS))]
}

const INTEGER = /^-?\d{1,19}$/
const NUMBER_WORDS: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
}

function readAttributes(list: unknown): Attributes {
  // Resources may also have bytes, null and nested values, which the serializers accept.
  return readPairs(list, 0) as Attributes
}

function readPairs(list: unknown, depth: number): Record<string, unknown> {
  const attributes: Record<string, unknown> = {}
  for (const element of readList(list)) {
    const pair = readFields(element)
    const key = readText(pair['key'])
    const value = readValue(pair['value'], depth)
    if (key !== '__proto__') attributes[key] = value
    // An assignment would set the prototype, or have no effect.
    else Object.defineProperty(attributes, key, { value, enumerable: true, configurable: true, writable: true })
  }
  return attributes
}

/** Reads an OTLP `AnyValue`; an empty one is null. One field after the other: an absent field takes longest to find. */
function readValue(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) throw DAMAGED
  const fields = readFields(value)
  if (isSet(fields['stringValue'])) return readText(fields['stringValue'])
  if (isSet(fields['intValue'])) return readInteger(fields['intValue'])
  if (typeof fields['boolValue'] === 'boolean') return fields['boolValue']
  if (isSet(fields['boolValue'])) throw DAMAGED
  if (isSet(fields['doubleValue'])) return readDouble(fields['doubleValue'])
  const { arrayValue, kvlistValue } = fields
  if (isSet(arrayValue)) return readList(readFields(arrayValue)['values']).map(value => readValue(value, depth + 1))
  if (isSet(kvlistValue)) return readPairs(readFields(kvlistValue)['values'], depth + 1)
  return isSet(fields['bytesValue']) ? Buffer.from(readText(fields['bytesValue']), 'base64') : null
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** The protobuf mapping writes 64-bit integers as strings. OpenTelemetry for JavaScript writes numbers. */
function readInteger(value: unknown): number {
  if (!Number.isInteger(value) && !(typeof value === 'string' && INTEGER.test(value))) throw DAMAGED
  return Number(value)
}

function readDouble(value: unknown): number {
  if (Number.isFinite(value)) return value as number
  const word = typeof value === 'string' && Object.hasOwn(NUMBER_WORDS, value) ? NUMBER_WORDS[value] : undefined
  if (word === undefined) throw DAMAGED
  return word
}

import type { Attributes, AttributeValue, HrTime, Link, SpanContext } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { load } from '../load-package.ts'
import { PlainResource } from './plain-resource.ts'
import { cachedKeys, createKey, ListedSpan } from './recorded-span.ts'
import { MAX_DEPTH } from './span-json.ts'

function api(): typeof import('@opentelemetry/api') {
  return load('@opentelemetry/api')
}

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
  | { readonly kind: 'other' }
  /** `problem` never quotes the line. */
  | { readonly kind: 'damaged'; readonly problem: string }

export function headerJson(
  { incomplete, finalStatus, spanKind }: SegmentMarks,
  destinations: Destinations,
  continuedMillis = 0,
  heldBy = '',
): string {
  // A backend may be named `__proto__`: `fromEntries` defines such a key, an assignment would not.
  const backends = Object.fromEntries(destinations)
  const continued = continuedMillis === 0 ? {} : { continuedMillis }
  const held = heldBy === '' ? {} : { heldBy }
  const marks = { incomplete, finalStatus, spanKind }
  return JSON.stringify({ [HEADER]: { version: VERSION, marks, backends, ...continued, ...held } })
}

/** Equal resources and scopes of different lines are one object, because the serializers group spans by identity. */
export class LineParser {
  readonly #origins = new OriginCache()

  /**
   * Parses one line, without its end. Never throws: one bad span makes the whole line damaged. A line of zeros was overwritten,
   * by the file system or externally.
   */
  read(text: string): StoredLine {
    try {
      const line = withoutHole(text)
      if (line === '' && text !== '') return { kind: 'damaged', problem: 'it is empty' }
      return this.#read(line)
    } catch (error) {
      return { kind: 'damaged', problem: error instanceof DamagedLine ? error.message : 'it cannot be read' }
    }
  }

  #read(text: string): StoredLine {
    if (text.charCodeAt(0) !== BRACE && text.trim() === '') return { kind: 'other' }
    const line = readFields(parsed(text), 'it')
    if (line['resourceSpans'] !== undefined) return { kind: 'spans', spans: this.#spans(line, true) }
    if (line[OPEN_NOTE] !== undefined) {
      return { kind: 'open', spans: this.#spans(readFields(line[OPEN_NOTE], 'the note of open spans'), false) }
    }
    return line[HEADER] === undefined ? { kind: 'other' } : readHeader(line[HEADER])
  }

  #spans(request: OtlpFields, ended: boolean): ReadableSpan[] {
    const spans: ReadableSpan[] = []
    for (const value of readList(request['resourceSpans'], 'resourceSpans')) {
      const group = readFields(value, 'resourceSpans')
      const resource = this.#origins.resourceOf(group)
      for (const inner of readList(group['scopeSpans'], 'scopeSpans')) {
        const scoped = readFields(inner, 'scopeSpans')
        const instrumentationScope = this.#origins.scopeOf(scoped)
        for (const span of readList(scoped['spans'], 'spans')) {
          spans.push(new StoredSpan(span, resource, instrumentationScope, ended))
        }
      }
    }
    return spans
  }
}

export function endedSpan(open: ReadableSpan, endAtMillis: number, attributes: Attributes): ReadableSpan {
  const { startTime, parentSpanContext } = open
  const context = open.spanContext()
  const endTime = laterOf(startTime, endAtMillis)
  return {
    name: open.name,
    kind: open.kind,
    spanContext: () => context,
    ...(parentSpanContext === undefined ? {} : { parentSpanContext }),
    startTime,
    endTime,
    duration: durationOf(startTime, endTime),
    ended: true,
    status: { code: 0 },
    attributes: { ...open.attributes, ...attributes },
    events: open.events,
    links: open.links,
    resource: open.resource,
    instrumentationScope: open.instrumentationScope,
    droppedAttributesCount: open.droppedAttributesCount,
    droppedEventsCount: open.droppedEventsCount,
    droppedLinksCount: open.droppedLinksCount,
  }
}

/** A clock that was set back must not make a span end before it starts. */
function laterOf(start: HrTime, millis: number): HrTime {
  if (!Number.isFinite(millis)) return start
  const seconds = Math.floor(millis / 1000)
  const time: HrTime = [seconds, Math.floor((millis - seconds * 1000) * NANOS_PER_MILLI)]
  return time[0] > start[0] || (time[0] === start[0] && time[1] > start[1]) ? time : start
}

/** After a crash of the machine, a file system may have left zeros instead of data. */
function withoutHole(text: string): string {
  let start = 0
  while (text.charCodeAt(start) === 0) start++
  return start === 0 ? text : text.slice(start)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new DamagedLine('it is not valid JSON')
  }
}

function readHeader(value: unknown): StoredLine {
  const header = readFields(value, 'the header')
  readCount(header['version'], 'the version', VERSION)
  const continuedMillis = readCount(header['continuedMillis'], 'a time', 0, Number.MAX_SAFE_INTEGER)
  const heldBy = readOptionalText(header['heldBy'], 'who judges') ?? ''
  return { kind: 'header', marks: readMarks(header), backends: readDestinations(header), continuedMillis, heldBy }
}

function readDestinations(header: OtlpFields): Destinations {
  const backends = Object.entries(readFields(header['backends'] ?? {}, 'the backends'))
  return new Map(backends.map(([name, place]) => [name, readOptionalText(place, 'a backend') ?? '']))
}

function readMarks(header: OtlpFields): SegmentMarks {
  const marks = readFields(header['marks'] ?? {}, 'the marks')
  return {
    incomplete: readOptionalText(marks['incomplete'], 'a mark') ?? '',
    finalStatus: readOptionalText(marks['finalStatus'], 'a mark') ?? '',
    spanKind: readOptionalText(marks['spanKind'], 'a mark') ?? '',
  }
}

const TRACE_ID_DIGITS = 32
const SPAN_ID_DIGITS = 16
const TRACE_FLAGS = 0xff
const IS_REMOTE = 0x200
const SAMPLED = 1
const MAX_KIND = 5
const MAX_STATUS = 2
const NANOS_PER_SECOND = 1_000_000_000

type TimedEvent = ReadableSpan['events'][number]

/** More attributes are read into an object: a list is searched for each of them. */
const MAX_LISTED = 256

/** A span of the log, for the serializers. Like all readers below, its constructor throws `DamagedLine`. */
class StoredSpan extends ListedSpan implements ReadableSpan {
  readonly name: string
  readonly kind: ReadableSpan['kind']
  readonly spanContext: () => SpanContext
  readonly parentSpanContext?: SpanContext
  readonly startTime: HrTime
  readonly endTime: HrTime
  readonly duration: HrTime
  readonly ended: boolean
  readonly status: ReadableSpan['status']
  readonly events: TimedEvent[]
  readonly links: Link[]
  readonly droppedAttributesCount: number
  readonly droppedEventsCount: number
  readonly droppedLinksCount: number
  readonly resource: Resource
  readonly instrumentationScope: Scope

  constructor(value: unknown, resource: Resource, scope: Scope, ended: boolean) {
    super()
    const fields = readFields(value, 'a span')
    const flags = readCount(fields['flags'], 'the flags of a span', SAMPLED)
    this.name = readText(fields['name'], 'the name of a span')
    this.kind = readKind(fields['kind'])
    const context = readContext(fields, flags & TRACE_FLAGS)
    this.spanContext = () => context
    const parent = readParent(fields, context, flags)
    if (parent !== undefined) this.parentSpanContext = parent
    this.startTime = readTime(fields['startTimeUnixNano'], 'the start of a span')
    this.endTime = readTime(fields['endTimeUnixNano'], 'the end of a span')
    this.duration = ended ? durationOf(this.startTime, this.endTime) : [0, 0]
    this.ended = ended
    this.status = readStatus(fields['status'])
    this.#readAttributes(fields['attributes'])
    this.events = readList(fields['events'], 'events').map(readEvent)
    this.links = readList(fields['links'], 'links').map(readLink)
    this.droppedAttributesCount = readCount(fields['droppedAttributesCount'], 'a count')
    this.droppedEventsCount = readCount(fields['droppedEventsCount'], 'a count')
    this.droppedLinksCount = readCount(fields['droppedLinksCount'], 'a count')
    this.resource = resource
    this.instrumentationScope = scope
  }

  /** The last value of a name counts. */
  #readAttributes(value: unknown): void {
    const list = readList(value, 'attributes')
    if (list.length > MAX_LISTED) {
      for (const [name, own] of Object.entries(readAttributes(list))) {
        this.keys.push(cachedKeys.get(name) ?? createKey(name))
        this.values.push(own as AttributeValue)
      }
      return
    }
    for (const element of list) {
      const pair = readFields(element, 'an attribute')
      const name = readText(pair['key'], 'the key of an attribute')
      this.putAttribute(name, readValue(pair['value'], 0) as AttributeValue)
    }
  }
}

/** Never negative, because readers treat it as a length. */
function durationOf(start: HrTime, end: HrTime): HrTime {
  const nanos = end[1] - start[1]
  const duration: HrTime = nanos < 0 ? [end[0] - start[0] - 1, nanos + NANOS_PER_SECOND] : [end[0] - start[0], nanos]
  return duration[0] < 0 ? [0, 0] : duration
}

function readContext(fields: OtlpFields, traceFlags: number): SpanContext {
  const traceState = readOptionalText(fields['traceState'], 'a trace state')
  return {
    traceId: readId(fields['traceId'], TRACE_ID_DIGITS, 'a trace id'),
    spanId: readId(fields['spanId'], SPAN_ID_DIGITS, 'a span id'),
    traceFlags,
    ...(traceState === undefined ? {} : { traceState: api().createTraceState(traceState) }),
  }
}

/** Stores only the id and the remote flag of the parent context. */
function readParent(fields: OtlpFields, { traceId, traceFlags }: SpanContext, flags: number): SpanContext | undefined {
  if (!readOptionalText(fields['parentSpanId'], 'the id of a parent')) return undefined
  const spanId = readId(fields['parentSpanId'], SPAN_ID_DIGITS, 'the id of a parent')
  return { traceId, spanId, traceFlags, isRemote: (flags & IS_REMOTE) !== 0 }
}

/** The protocol has an additional value 0 (unspecified), which is read as INTERNAL. */
function readKind(value: unknown): ReadableSpan['kind'] {
  return Math.max(0, readCount(value, 'the kind of a span', 0, MAX_KIND) - 1)
}

function readStatus(value: unknown): ReadableSpan['status'] {
  if (value === undefined || value === null) return { code: 0 }
  const fields = readFields(value, 'a status')
  const message = readOptionalText(fields['message'], 'the message of a status')
  const code = readCount(fields['code'], 'the code of a status', 0, MAX_STATUS)
  return { code, ...(message === undefined ? {} : { message }) }
}

function readEvent(value: unknown): TimedEvent {
  const fields = readFields(value, 'an event')
  return {
    name: readText(fields['name'], 'the name of an event'),
    time: readTime(fields['timeUnixNano'], 'the time of an event'),
    attributes: readAttributes(fields['attributes']),
    droppedAttributesCount: readCount(fields['droppedAttributesCount'], 'a count'),
  }
}

function readLink(value: unknown): Link {
  const fields = readFields(value, 'a link')
  const flags = readCount(fields['flags'], 'the flags of a link')
  return {
    context: { ...readContext(fields, flags & TRACE_FLAGS), isRemote: (flags & IS_REMOTE) !== 0 },
    attributes: readAttributes(fields['attributes']),
    droppedAttributesCount: readCount(fields['droppedAttributesCount'], 'a count'),
  }
}

const MAX_KEPT = 64
const MAX_KEPT_CHARS = 1 << 16

type Resource = ReadableSpan['resource']
type Scope = ReadableSpan['instrumentationScope']

class OriginCache {
  readonly #resources = new ParsedCache<Resource>()
  readonly #scopes = new ParsedCache<Scope>()

  resourceOf(group: OtlpFields): Resource {
    return this.#resources.of([group['resource'], group['schemaUrl']], () => readResource(group))
  }

  scopeOf(group: OtlpFields): Scope {
    return this.#scopes.of([group['scope'], group['schemaUrl']], () => readScope(group))
  }
}

class ParsedCache<Value> {
  readonly #values = new Map<string, Value>()

  of(source: unknown, read: () => Value): Value {
    const json = JSON.stringify(source)
    const known = this.#values.get(json)
    if (known !== undefined) return known
    const value = read()
    if (this.#values.size >= MAX_KEPT) this.#values.clear()
    if (json.length <= MAX_KEPT_CHARS) this.#values.set(json, value)
    return value
  }
}

function readResource(group: OtlpFields): Resource {
  const resource = readFields(group['resource'] ?? {}, 'a resource')
  const schemaUrl = readOptionalText(group['schemaUrl'], 'a schema URL')
  const attributes = readAttributes(resource['attributes'])
  return new PlainResource(attributes, schemaUrl)
}

function readScope(group: OtlpFields): Scope {
  const scope = readFields(group['scope'] ?? {}, 'a scope')
  const version = readOptionalText(scope['version'], 'the version of a scope')
  const schemaUrl = readOptionalText(group['schemaUrl'], 'a schema URL')
  return {
    name: readOptionalText(scope['name'], 'the name of a scope') ?? '',
    ...(version === undefined ? {} : { version }),
    ...(schemaUrl === undefined ? {} : { schemaUrl }),
  }
}

const MAX_UINT32 = 2 ** 32 - 1
const MAX_FIXED64 = '18446744073709551615'
const NANO_DIGITS = 9
const DIGITS = /^\d{1,20}$/
const HEX = /^[0-9a-f]+$/i

export type OtlpFields = Readonly<Record<string, unknown>>

/** A line of an unexpected form. The message never quotes the line, which may contain anything. */
class DamagedLine extends Error {
  override readonly name = 'DamagedLine'
}

function isRecord(value: unknown): value is OtlpFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readFields(value: unknown, what: string): OtlpFields {
  if (isRecord(value)) return value
  throw new DamagedLine(`${what} is not an object`)
}

function readList(value: unknown, what: string): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw new DamagedLine(`${what} is not a list`)
}

function readText(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw new DamagedLine(`${what} is not a text`)
}

function readOptionalText(value: unknown, what: string): string | undefined {
  return value === undefined || value === null ? undefined : readText(value, what)
}

function readCount(value: unknown, what: string, absent = 0, max: number = MAX_UINT32): number {
  if (value === undefined || value === null) return absent
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max) return value as number
  throw new DamagedLine(`${what} is not a number in its range`)
}

function readId(value: unknown, digits: number, what: string): string {
  const id = readText(value, what)
  if (id.length === digits && HEX.test(id)) return id
  throw new DamagedLine(`${what} is not ${digits} hexadecimal digits`)
}

function readTime(value: unknown, what: string): HrTime {
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

export function readAttributes(list: unknown): Attributes {
  // Resources may also have bytes, null and nested values, which the serializers accept.
  return readPairs(list, 0) as Attributes
}

function readPairs(list: unknown, depth: number): Record<string, unknown> {
  const attributes: Record<string, unknown> = {}
  for (const element of readList(list, 'attributes')) {
    const pair = readFields(element, 'an attribute')
    const key = readText(pair['key'], 'the key of an attribute')
    const value = readValue(pair['value'], depth)
    if (key !== '__proto__') attributes[key] = value
    // An assignment would set the prototype, or have no effect.
    else Object.defineProperty(attributes, key, { value, enumerable: true, configurable: true, writable: true })
  }
  return attributes
}

/** Reads an OTLP `AnyValue`; an empty one is null. One field after the other: an absent field takes longest to find. */
function readValue(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new DamagedLine('a value is too deep')
  const fields = readFields(value, 'the value of an attribute')
  if (isSet(fields['stringValue'])) return readText(fields['stringValue'], 'a text')
  if (isSet(fields['intValue'])) return readInteger(fields['intValue'])
  if (isSet(fields['boolValue'])) return readBoolean(fields['boolValue'])
  if (isSet(fields['doubleValue'])) return readDouble(fields['doubleValue'])
  if (isSet(fields['arrayValue'])) return readArray(readFields(fields['arrayValue'], 'a list'), depth + 1)
  if (isSet(fields['kvlistValue'])) return readPairs(readFields(fields['kvlistValue'], 'a list')['values'], depth + 1)
  return isSet(fields['bytesValue']) ? Buffer.from(readText(fields['bytesValue'], 'a value of bytes'), 'base64') : null
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

import type { Attributes, HrTime, Link, SpanContext } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { JsonBytes, stringJson } from './json-bytes.ts'
import { type AttributeKey, cachedKeys, createKey, ListedSpan, MAX_KNOWN_CHARS } from './recorded-span.ts'

type Resource = ReadableSpan['resource']
type Scope = ReadableSpan['instrumentationScope']
type TimedEvent = ReadableSpan['events'][number]

const HAS_IS_REMOTE = 0x100
const IS_REMOTE = 0x200
const TRACE_FLAGS = 0xff
export const NANOS_PER_SECOND = 1_000_000_000
const MAX_FIXED64 = 2n ** 64n - 1n
/** The year 2286. Later times, and the epoch itself, are not plausible. */
const MAX_USUAL_SECONDS = 1e10
/** Estimated JSON overhead of a span, and of an event or a link, without texts and attributes. */
const SPAN_BYTES = 450
const PART_BYTES = 220
const ATTRIBUTE_BYTES = 40
const NUMBER_BYTES = 24

const OPENING_TRACE_ID: Buffer = Buffer.from('{"traceId":')
const TRACE_ID: Buffer = Buffer.from(',"traceId":')
const SPAN_ID: Buffer = Buffer.from(',"spanId":')
const PARENT_SPAN_ID: Buffer = Buffer.from(',"parentSpanId":')
const TRACE_STATE: Buffer = Buffer.from(',"traceState":')
const NAME: Buffer = Buffer.from(',"name":')
const MESSAGE: Buffer = Buffer.from(',"message":')
const STRING_VALUE: Buffer = Buffer.from('{"stringValue":')

const resourceHeads = new WeakMap<Resource, string>()
/** Shared: its bytes are copied synchronously after writing. */
const scratch = new JsonBytes()
/** Equal scopes of different spans have equal heads. */
const scopeHeads = new WeakMap<Scope, string>()

export interface SpansOfLine {
  readonly written: ReadableSpan[]
  readonly broken: ReadableSpan[]
  readonly left: ReadableSpan[]
}

/** Writes one ExportTraceServiceRequest. The first span that exceeds `mostBytes` is the last one. */
export function writeRequest(
  out: JsonBytes,
  spans: readonly ReadableSpan[],
  mostBytes: number = Number.POSITIVE_INFINITY,
): SpansOfLine {
  const result: SpansOfLine = { written: [], broken: [], left: [] }
  const until = out.length + mostBytes
  out.ascii('{"resourceSpans":[')
  for (const [resource, scopes] of groupByOrigin(spans)) {
    const beforeResource = out.length
    out.comma()
    out.json(resourceHead(resource))
    const { length: emptyResource } = out
    for (const [head, ofScope] of scopes) {
      const beforeScope = out.length
      out.comma()
      out.json(head)
      const { length: emptyScope } = out
      for (const span of ofScope) {
        const { length: before } = out
        if (before >= until) {
          result.left.push(span)
          continue
        }
        try {
          writeSpan(out, span)
          result.written.push(span)
        } catch {
          // An unexpected value drops its span, not the line.
          out.cutTo(before)
          result.broken.push(span)
        }
      }
      if (out.length === emptyScope) out.cutTo(beforeScope)
      else out.ascii(']}')
    }
    if (out.length === emptyResource) out.cutTo(beforeResource)
    else out.ascii(']}')
  }
  out.ascii(']}')
  out.clearRecent()
  return result
}

/** Writes the note of open spans. OTLP readers see a line without spans. */
export function writeNote(out: JsonBytes, spans: readonly ReadableSpan[]): void {
  out.ascii('{"hookspan.open":')
  writeRequest(out, spans)
  out.ascii('}')
}

export function requestJson(spans: readonly ReadableSpan[]): Buffer {
  scratch.start()
  if (writeRequest(scratch, spans).broken.length > 0) throw new Error('not written')
  return Buffer.from(scratch.written)
}

export function attributesJson(attributes: Attributes): string {
  scratch.start()
  scratch.ascii('[')
  writeAttributes(scratch, attributes)
  scratch.ascii(']')
  const json = String(scratch.written)
  scratch.clearRecent()
  return json
}

/** Estimated length of a span's JSON in bytes, slightly too high. Non-ASCII text can take three times as much. */
export function estimatedBytes(span: ReadableSpan): number {
  let bytes = SPAN_BYTES + span.name.length + (span.status.message?.length ?? 0) + spanAttributesBytes(span)
  for (const event of span.events) bytes += PART_BYTES + event.name.length + attributesBytes(event.attributes)
  for (const link of span.links) bytes += PART_BYTES + attributesBytes(link.attributes)
  return bytes
}

function spanAttributesBytes(span: ReadableSpan): number {
  if (!(span instanceof ListedSpan)) return attributesBytes(span.attributes)
  const { keys, values } = span
  return keys.reduce((bytes, { name }, at) => bytes + ATTRIBUTE_BYTES + name.length + valueBytes(values[at]), 0)
}

function attributesBytes(attributes: Attributes = {}): number {
  let bytes = 0
  for (const key of Object.keys(attributes)) bytes += ATTRIBUTE_BYTES + key.length + valueBytes(attributes[key])
  return bytes
}

/** JSON in JSON, the usual content, grows by about an eighth. */
function valueBytes(value: unknown): number {
  if (typeof value === 'string') return value.length + (value.length >> 3)
  if (!Array.isArray(value)) return NUMBER_BYTES
  return value.reduce<number>((bytes, element) => bytes + ATTRIBUTE_BYTES + valueBytes(element), 0)
}

type ScopeGroups = Map<string, [ReadableSpan, ...ReadableSpan[]]>

export function groupByOrigin(spans: readonly ReadableSpan[]): ReadonlyMap<Resource, ScopeGroups> {
  const groups = new Map<Resource, ScopeGroups>()
  for (const span of spans) {
    const scopes = groups.get(span.resource) ?? new Map()
    if (scopes.size === 0) groups.set(span.resource, scopes)
    const head = scopeHead(span.instrumentationScope)
    const group = scopes.get(head)
    if (group === undefined) scopes.set(head, [span])
    else group.push(span)
  }
  return groups
}

function resourceHead(resource: Resource): string {
  const known = resourceHeads.get(resource)
  if (known !== undefined) return known
  // OpenTelemetry's own serializer writes the schema twice, too.
  const schema = resource.schemaUrl ? `,"schemaUrl":${stringJson(resource.schemaUrl)}` : ''
  const out = new JsonBytes()
  out.ascii('{"resource":{"attributes":[')
  writeAttributes(out, resource.attributes)
  const head = `${out.written}],"droppedAttributesCount":0${schema}}${schema},"scopeSpans":[`
  // While attributes are pending, the head is incomplete and must not be cached.
  if (!resource.asyncAttributesPending) resourceHeads.set(resource, head)
  return head
}

function scopeHead(scope: Scope): string {
  const known = scopeHeads.get(scope)
  if (known !== undefined) return known
  const version = scope.version === undefined ? '' : `,"version":${stringJson(scope.version)}`
  const schema = scope.schemaUrl === undefined ? '' : `"schemaUrl":${stringJson(scope.schemaUrl)},`
  const head = `{"scope":{"name":${stringJson(scope.name)}${version}},${schema}"spans":[`
  scopeHeads.set(scope, head)
  return head
}

function writeSpan(out: JsonBytes, span: ReadableSpan): void {
  const context = span.spanContext()
  const parent = span.parentSpanContext
  out.comma()
  writeIds(out, OPENING_TRACE_ID, context)
  if (parent?.spanId) out.string(PARENT_SPAN_ID, parent.spanId)
  out.string(NAME, span.name)
  const start = nanosText(span.startTime)
  out.ascii(`,"kind":${kindOf(span)},"startTimeUnixNano":"${start}","endTimeUnixNano":"${nanosText(span.endTime)}`)
  out.ascii('","attributes":[')
  if (span instanceof ListedSpan) {
    const { keys, values } = span
    for (let at = 0; at < keys.length; at++) writeAttribute(out, keys[at] as AttributeKey, values[at], 0)
  } else writeAttributes(out, span.attributes)
  out.ascii(`],"droppedAttributesCount":${span.droppedAttributesCount},"events":[`)
  for (const event of span.events) writeEvent(out, event)
  out.ascii(`],"droppedEventsCount":${span.droppedEventsCount},"links":[`)
  for (const link of span.links) writeLink(out, link)
  out.ascii(`],"droppedLinksCount":${span.droppedLinksCount},"status":{"code":${span.status.code}`)
  if (span.status.message !== undefined) out.string(MESSAGE, span.status.message)
  out.ascii(`},"flags":${flagsOf(context, parent?.isRemote)}}`)
}

function writeEvent(out: JsonBytes, { name, time, attributes, droppedAttributesCount }: TimedEvent): void {
  writeOwn(out, attributes, droppedAttributesCount)
  out.string(NAME, name)
  out.ascii(`,"timeUnixNano":"${nanosText(time)}"}`)
}

function writeLink(out: JsonBytes, { context, attributes, droppedAttributesCount }: Link): void {
  writeOwn(out, attributes, droppedAttributesCount)
  writeIds(out, TRACE_ID, context)
  out.ascii(`,"flags":${flagsOf(context, context.isRemote)}}`)
}

function writeOwn(out: JsonBytes, attributes: Attributes = {}, dropped = 0): void {
  out.comma()
  out.ascii('{"attributes":[')
  writeAttributes(out, attributes)
  out.ascii(`],"droppedAttributesCount":${dropped}`)
}

function writeIds(out: JsonBytes, before: Buffer, { traceId, spanId, traceState }: SpanContext): void {
  out.string(before, traceId)
  out.string(SPAN_ID, spanId)
  if (traceState) out.string(TRACE_STATE, traceState.serialize())
}

/** The API starts at INTERNAL = 0. The protocol has UNSPECIFIED = 0. */
export function kindOf({ kind }: ReadableSpan): number {
  return kind === undefined ? 0 : kind + 1
}

export function flagsOf(context: SpanContext, isRemote: boolean | undefined): number {
  return (context.traceFlags & TRACE_FLAGS) | HAS_IS_REMOTE | (isRemote ? IS_REMOTE : 0)
}

export function nanosText(time: HrTime): string {
  const [seconds, nanos] = time
  return isUsualTime(time) ? `${seconds}${String(NANOS_PER_SECOND + nanos).slice(1)}` : oddNanosText(seconds, nanos)
}

export function isUsualTime([seconds, nanos]: HrTime): boolean {
  const isUsualSecond = Number.isInteger(seconds) && seconds > 0 && seconds < MAX_USUAL_SECONDS
  return isUsualSecond && Number.isInteger(nanos) && nanos >= 0 && nanos < NANOS_PER_SECOND
}

/** The time of a host can be any value. If the protocol cannot represent it, the nearest possible value is used. */
function oddNanosText(seconds: number, nanos: number): string {
  if (!Number.isFinite(seconds) || !Number.isFinite(nanos)) return '0'
  const total = BigInt(Math.trunc(seconds)) * BigInt(NANOS_PER_SECOND) + BigInt(Math.trunc(nanos))
  if (total < 0n) return '0'
  return String(total > MAX_FIXED64 ? MAX_FIXED64 : total)
}

export const MAX_DEPTH = 64
/** Larger whole numbers do not fit into a 64-bit integer: a strict server would refuse the request. */
const INT64_LIMIT = 2 ** 63

function writeAttributes(out: JsonBytes, attributes: Attributes, depth = 0): void {
  for (const name of Object.keys(attributes)) {
    writeAttribute(out, cachedKeys.get(name) ?? createKey(name), attributes[name], depth)
  }
}

function writeAttribute(out: JsonBytes, key: AttributeKey, value: unknown, depth: number): void {
  out.comma()
  if (key.value !== value) writePair(out, key, value, depth)
  else if (key.pair !== undefined) out.bytes(key.pair)
  else {
    const before = out.length
    writePair(out, key, value, depth)
    key.pair = out.from(before)
  }
}

function writePair(out: JsonBytes, key: AttributeKey, value: unknown, depth: number): void {
  if (typeof value === 'string') {
    out.string(key.textHead, value)
    out.ascii('}}')
    if (value.length > MAX_KNOWN_CHARS) return
  } else {
    out.bytes(key.head)
    writeValue(out, value, depth)
    out.ascii('}')
    if (typeof value === 'object') return
  }
  key.value = value
  key.pair = undefined
}

function writeValue(out: JsonBytes, value: unknown, depth: number): void {
  if (typeof value === 'number') writeNumber(out, value)
  else if (typeof value === 'boolean') out.ascii(value ? '{"boolValue":true}' : '{"boolValue":false}')
  else if (typeof value === 'string') {
    out.string(STRING_VALUE, value)
    out.ascii('}')
  } else if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) out.ascii('{}')
  else if (value instanceof Uint8Array) out.ascii(`{"bytesValue":"${Buffer.from(value).toString('base64')}"}`)
  else writeObject(out, value, depth)
}

function writeObject(out: JsonBytes, value: object, depth: number): void {
  const isList = Array.isArray(value)
  out.ascii(isList ? '{"arrayValue":{"values":[' : '{"kvlistValue":{"values":[')
  if (!isList) writeAttributes(out, value as Attributes, depth + 1)
  else
    for (const element of value) {
      out.comma()
      writeValue(out, element, depth + 1)
    }
  out.ascii(']}}')
}

/** JSON has no NaN or Infinity. The protobuf mapping writes them as strings: NaN -> "NaN". */
function writeNumber(out: JsonBytes, value: number): void {
  if (Number.isInteger(value) && Math.abs(value) < INT64_LIMIT) out.ascii(`{"intValue":${value}}`)
  else out.ascii(Number.isFinite(value) ? `{"doubleValue":${value}}` : `{"doubleValue":"${value}"}`)
}

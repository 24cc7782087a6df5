import type { Attributes, HrTime, Link, SpanContext } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { writeAttributes } from './attribute-json.ts'
import { JsonBytes, stringJson } from './json-bytes.ts'

type Resource = ReadableSpan['resource']
type Scope = ReadableSpan['instrumentationScope']
type TimedEvent = ReadableSpan['events'][number]
export type SpanGroup = readonly [ReadableSpan, ...ReadableSpan[]]

const HAS_IS_REMOTE = 0x100
const IS_REMOTE = 0x200
const TRACE_FLAGS = 0xff
const NO_KIND = -1
export const NANOS_PER_SECOND = 1_000_000_000
const MAX_FIXED64 = 2n ** 64n - 1n
/** The year 2286: beyond, and at the epoch itself, a time is no time of a span. */
const MAX_USUAL_SECONDS = 1e10
/** What the JSON of a span, and of an event or a link, has besides its texts and attributes. */
const SPAN_BYTES = 450
const PART_BYTES = 220
const ATTRIBUTE_BYTES = 40
const NUMBER_BYTES = 24

const resourceHeads = new WeakMap<Resource, string>()
/** Nothing waits between what is written to it and the copy of that. */
const scratch = new JsonBytes()
const scopeHeads = new WeakMap<Scope, string>()

/** What became of spans that were to be written. */
export interface SpansOfLine {
  readonly written: ReadableSpan[]
  /** With a value that nobody has foreseen. */
  readonly broken: ReadableSpan[]
  /** There was no room for these. */
  readonly left: ReadableSpan[]
}

/**
 * One ExportTraceServiceRequest, without a line end. Spans are grouped by resource and scope, in order of first
 * appearance. The first of them that goes beyond `mostBytes` is the last.
 */
export function writeRequest(
  out: JsonBytes,
  spans: readonly ReadableSpan[],
  mostBytes: number = Number.POSITIVE_INFINITY,
): SpansOfLine {
  const become: SpansOfLine = { written: [], broken: [], left: [] }
  const until = out.length + mostBytes
  out.ascii('{"resourceSpans":[')
  const write = (span: ReadableSpan): void => {
    if (out.length >= until) become.left.push(span)
    else if (isWritten(out, span)) become.written.push(span)
    else become.broken.push(span)
  }
  for (const ofResource of groupedBy(spans, ({ resource }) => resource)) {
    enclose(out, resourceHead(ofResource[0].resource), () => {
      // Scopes that read the same are one.
      for (const ofScope of groupedBy(ofResource, ({ instrumentationScope }) => scopeHead(instrumentationScope))) {
        enclose(out, scopeHead(ofScope[0].instrumentationScope), () => ofScope.forEach(write))
      }
    })
  }
  out.ascii(']}')
  out.forget()
  return become
}

/** The note of spans that are open (`open-spans.ts`). To whoever reads OTLP it is a line without spans. */
export function writeNote(out: JsonBytes, spans: readonly ReadableSpan[]): SpansOfLine {
  out.ascii('{"hookspan.open":')
  const become = writeRequest(out, spans)
  out.ascii('}')
  return become
}

/** An ExportTraceServiceRequest, in memory of its own. @throws when a span cannot be written */
export function requestJson(spans: readonly ReadableSpan[]): Buffer {
  scratch.start()
  if (writeRequest(scratch, spans).broken.length > 0) throw new Error('not written')
  return Buffer.from(scratch.written)
}

/** A list of OTLP `KeyValue`. */
export function attributesJson(attributes: Attributes): string {
  scratch.start()
  scratch.ascii('[')
  writeAttributes(scratch, attributes)
  scratch.ascii(']')
  const json = String(scratch.written)
  scratch.forget()
  return json
}

/** About how long a span's JSON is in bytes, rather more than less; text beyond ASCII can take three times as much. */
export function estimatedBytes(span: ReadableSpan): number {
  let bytes = SPAN_BYTES + span.name.length + (span.status.message?.length ?? 0) + attributesBytes(span.attributes)
  for (const event of span.events) bytes += PART_BYTES + event.name.length + attributesBytes(event.attributes)
  for (const link of span.links) bytes += PART_BYTES + attributesBytes(link.attributes)
  return bytes
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

/** Never empty, in order of first appearance. */
export function groupedBy(spans: readonly ReadableSpan[], keyOf: (span: ReadableSpan) => unknown): Iterable<SpanGroup> {
  const groups = new Map<unknown, [ReadableSpan, ...ReadableSpan[]]>()
  for (const span of spans) {
    const key = keyOf(span)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [span])
    else group.push(span)
  }
  return groups.values()
}

/** An element of a list that holds a list, unless that is empty. */
function enclose(out: JsonBytes, head: string, fill: () => void): void {
  const before = out.length
  out.comma()
  out.json(head)
  const empty = out.length
  fill()
  if (out.length === empty) out.cutTo(before)
  else out.ascii(']}')
}

/** Up to where the groups of its spans begin. */
function resourceHead(resource: Resource): string {
  const known = resourceHeads.get(resource)
  if (known !== undefined) return known
  // OpenTelemetry's own serializer names the schema twice, too.
  const schema = resource.schemaUrl ? `,"schemaUrl":${stringJson(resource.schemaUrl)}` : ''
  const out = new JsonBytes()
  out.ascii('{"resource":{"attributes":[')
  writeAttributes(out, resource.attributes)
  const head = `${out.written}],"droppedAttributesCount":0${schema}}${schema},"scopeSpans":[`
  // Until then it has not all of its attributes.
  if (!resource.asyncAttributesPending) resourceHeads.set(resource, head)
  return head
}

/** Up to where its spans begin. */
function scopeHead(scope: Scope): string {
  const known = scopeHeads.get(scope)
  if (known !== undefined) return known
  const version = scope.version === undefined ? '' : `,"version":${stringJson(scope.version)}`
  const schema = scope.schemaUrl === undefined ? '' : `"schemaUrl":${stringJson(scope.schemaUrl)},`
  const head = `{"scope":{"name":${stringJson(scope.name)}${version}},${schema}"spans":[`
  scopeHeads.set(scope, head)
  return head
}

/** A value that nobody has foreseen costs its span, not the line. */
function isWritten(out: JsonBytes, span: ReadableSpan): boolean {
  const before = out.length
  try {
    writeSpan(out, span)
    return true
  } catch {
    out.cutTo(before)
    return false
  }
}

function writeSpan(out: JsonBytes, span: ReadableSpan): void {
  const context = span.spanContext()
  const parent = span.parentSpanContext
  out.comma()
  writeIds(out, '{"traceId":', context)
  if (parent?.spanId) writeText(out, ',"parentSpanId":', parent.spanId)
  writeText(out, ',"name":', span.name)
  out.ascii(`,"kind":${kindOf(span)},"startTimeUnixNano":"`)
  out.ascii(nanosText(span.startTime))
  out.ascii('","endTimeUnixNano":"')
  out.ascii(nanosText(span.endTime))
  out.ascii('","attributes":[')
  writeAttributes(out, span.attributes)
  writeCount(out, '],"droppedAttributesCount":', span.droppedAttributesCount)
  out.ascii(',"events":[')
  for (const event of span.events) writeEvent(out, event)
  writeCount(out, '],"droppedEventsCount":', span.droppedEventsCount)
  out.ascii(',"links":[')
  for (const link of span.links) writeLink(out, link)
  writeCount(out, '],"droppedLinksCount":', span.droppedLinksCount)
  writeCount(out, ',"status":{"code":', span.status.code)
  if (span.status.message !== undefined) writeText(out, ',"message":', span.status.message)
  writeCount(out, '},"flags":', flagsOf(context, parent?.isRemote))
  out.ascii('}')
}

function writeEvent(out: JsonBytes, { name, time, attributes, droppedAttributesCount }: TimedEvent): void {
  writeOwn(out, attributes, droppedAttributesCount)
  writeText(out, ',"name":', name)
  out.ascii(',"timeUnixNano":"')
  out.ascii(nanosText(time))
  out.ascii('"}')
}

function writeLink(out: JsonBytes, { context, attributes, droppedAttributesCount }: Link): void {
  writeOwn(out, attributes, droppedAttributesCount)
  writeIds(out, ',"traceId":', context)
  writeCount(out, ',"flags":', flagsOf(context, context.isRemote))
  out.ascii('}')
}

/** The beginning of an event or a link. */
function writeOwn(out: JsonBytes, attributes: Attributes = {}, dropped = 0): void {
  out.comma()
  out.ascii('{"attributes":[')
  writeAttributes(out, attributes)
  writeCount(out, '],"droppedAttributesCount":', dropped)
}

function writeIds(out: JsonBytes, before: string, { traceId, spanId, traceState }: SpanContext): void {
  writeText(out, before, traceId)
  writeText(out, ',"spanId":', spanId)
  if (traceState) writeText(out, ',"traceState":', traceState.serialize())
}

function writeText(out: JsonBytes, before: string, text: string): void {
  out.ascii(before)
  out.string(text)
}

function writeCount(out: JsonBytes, before: string, count: number): void {
  out.ascii(before)
  out.ascii(`${count}`)
}

/** The API begins with INTERNAL where the protocol has a value for none. */
export function kindOf({ kind }: ReadableSpan): number {
  return (kind ?? NO_KIND) + 1
}

/** `isRemote` is about the context that the span continues, or the link leads to. */
export function flagsOf(context: SpanContext, isRemote: boolean | undefined): number {
  return (context.traceFlags & TRACE_FLAGS) | HAS_IS_REMOTE | (isRemote ? IS_REMOTE : 0)
}

export function nanosText(time: HrTime): string {
  const [seconds, nanos] = time
  return isUsualTime(time) ? `${seconds}${String(NANOS_PER_SECOND + nanos).slice(1)}` : oddNanosText(seconds, nanos)
}

/** Not one that only a host could mean. */
export function isUsualTime([seconds, nanos]: HrTime): boolean {
  return (
    Number.isInteger(seconds) &&
    seconds > 0 &&
    seconds < MAX_USUAL_SECONDS &&
    Number.isInteger(nanos) &&
    nanos >= 0 &&
    nanos < NANOS_PER_SECOND
  )
}

/** A host's time can be anything: one that the protocol has no room for becomes the nearest that it has. */
function oddNanosText(seconds: number, nanos: number): string {
  if (!Number.isFinite(seconds) || !Number.isFinite(nanos)) return '0'
  const total = BigInt(Math.trunc(seconds)) * BigInt(NANOS_PER_SECOND) + BigInt(Math.trunc(nanos))
  if (total < 0n) return '0'
  return String(total > MAX_FIXED64 ? MAX_FIXED64 : total)
}

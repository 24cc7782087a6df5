import type { Attributes, HrTime, Link, SpanContext } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { attributesJson } from './attribute-json.ts'
import { forgetLongStrings, stringJson } from './string-json.ts'

type Resource = ReadableSpan['resource']
type Scope = ReadableSpan['instrumentationScope']
type TimedEvent = ReadableSpan['events'][number]

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
const scopeHeads = new WeakMap<Scope, string>()

/** OTLP/JSON of one span, without its resource and scope. */
export function spanJson(span: ReadableSpan): string {
  const context = span.spanContext()
  const parent = span.parentSpanContext
  const parentId = parent?.spanId ? `,"parentSpanId":${stringJson(parent.spanId)}` : ''
  const times = `"startTimeUnixNano":"${nanosText(span.startTime)}","endTimeUnixNano":"${nanosText(span.endTime)}"`
  return (
    `{${idsJson(context)}${parentId},"name":${stringJson(span.name)},"kind":${kindOf(span)},${times}` +
    `,"attributes":[${attributesJson(span.attributes)}],"droppedAttributesCount":${span.droppedAttributesCount}` +
    `,"events":[${listJson(span.events, eventJson)}],"droppedEventsCount":${span.droppedEventsCount}` +
    `,"links":[${listJson(span.links, linkJson)}],"droppedLinksCount":${span.droppedLinksCount}` +
    `,"status":${statusJson(span.status)},"flags":${flagsOf(context, parent?.isRemote)}}`
  )
}

/**
 * One ExportTraceServiceRequest, without a line end. Spans are grouped by resource and scope, in order of first
 * appearance.
 */
export function requestJson(spans: readonly { readonly span: ReadableSpan; readonly json: string }[]): string {
  const resources = new Map<Resource, Map<string, string>>()
  for (const { span, json } of spans) {
    const scopes = resources.get(span.resource) ?? added(resources, span.resource, new Map<string, string>())
    const head = scopeHead(span.instrumentationScope)
    const group = scopes.get(head)
    scopes.set(head, group === undefined ? `${head}${json}` : `${group},${json}`)
  }
  forgetLongStrings()
  let request = ''
  for (const [resource, scopes] of resources) {
    request += `${request && ','}${resourceHead(resource)}${joined(scopes.values())}]}`
  }
  return `{"resourceSpans":[${request}]}`
}

/** The journal's note of spans that are open. To whoever reads OTLP it is a line without spans. */
export function openNoteJson(spans: readonly ReadableSpan[]): string {
  return `{"hookspan.open":${requestJson(spans.map(span => ({ span, json: spanJson(span) })))}}`
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

/** Joining by `join` would copy each text once more. */
function joined(groups: Iterable<string>): string {
  let json = ''
  for (const group of groups) json += `${json && ','}${group}]}`
  return json
}

/** Up to where the groups of its spans begin. */
function resourceHead(resource: Resource): string {
  const known = resourceHeads.get(resource)
  if (known !== undefined) return known
  const attributes = attributesJson(resource.attributes)
  // OpenTelemetry's own serializer names the schema twice, too.
  const schema = resource.schemaUrl ? `,"schemaUrl":${stringJson(resource.schemaUrl)}` : ''
  const head = `{"resource":{"attributes":[${attributes}],"droppedAttributesCount":0${schema}}${schema},"scopeSpans":[`
  // Until then it has not all of its attributes.
  if (!resource.asyncAttributesPending) resourceHeads.set(resource, head)
  return head
}

/** Up to where its spans begin. Scopes that read the same are one. */
function scopeHead(scope: Scope): string {
  const known = scopeHeads.get(scope)
  if (known !== undefined) return known
  const version = scope.version === undefined ? '' : `,"version":${stringJson(scope.version)}`
  const schema = scope.schemaUrl === undefined ? '' : `"schemaUrl":${stringJson(scope.schemaUrl)},`
  const head = `{"scope":{"name":${stringJson(scope.name)}${version}},${schema}"spans":[`
  scopeHeads.set(scope, head)
  return head
}

function listJson<Element>(elements: readonly Element[], json: (element: Element) => string): string {
  return elements.length === 0 ? '' : elements.map(json).join(',')
}

function eventJson({ name, time, attributes, droppedAttributesCount }: TimedEvent): string {
  const own = `"attributes":[${attributes ? attributesJson(attributes) : ''}]`
  const dropped = `"droppedAttributesCount":${droppedAttributesCount || 0}`
  return `{${own},${dropped},"name":${stringJson(name)},"timeUnixNano":"${nanosText(time)}"}`
}

function linkJson({ context, attributes, droppedAttributesCount }: Link): string {
  const own = `"attributes":[${attributes ? attributesJson(attributes) : ''}]`
  const dropped = `"droppedAttributesCount":${droppedAttributesCount || 0}`
  return `{${own},${dropped},${idsJson(context)},"flags":${flagsOf(context, context.isRemote)}}`
}

function idsJson({ traceId, spanId, traceState }: SpanContext): string {
  const ids = `"traceId":${stringJson(traceId)},"spanId":${stringJson(spanId)}`
  return traceState ? `${ids},"traceState":${stringJson(traceState.serialize())}` : ids
}

function statusJson({ code, message }: ReadableSpan['status']): string {
  return message === undefined ? `{"code":${code}}` : `{"code":${code},"message":${stringJson(message)}}`
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

function added<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): Value {
  map.set(key, value)
  return value
}

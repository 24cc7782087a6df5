import type { HrTime, Link, SpanContext } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { api, resources } from './packages.ts'
import {
  type OtlpFields,
  readAttributes,
  readCount,
  readFields,
  readId,
  readList,
  readOptionalText,
  readText,
  readTime,
} from './stored-fields.ts'

const TRACE_ID_DIGITS = 32
const SPAN_ID_DIGITS = 16
const TRACE_FLAGS = 0xff
const IS_REMOTE = 0x200
const SAMPLED = 1
const MAX_KIND = 5
const MAX_STATUS = 2
const NANOS_PER_SECOND = 1_000_000_000

type TimedEvent = ReadableSpan['events'][number]
type Origin = Pick<ReadableSpan, 'resource' | 'instrumentationScope'>

/**
 * Converts OTLP/JSON to a span for the serializers.
 * @throws {DamagedLine}
 */
export function readSpan(value: unknown, origin: Origin, ended: boolean): ReadableSpan {
  const fields = readFields(value, 'a span')
  const flags = readCount(fields['flags'], 'the flags of a span', SAMPLED)
  const context = readContext(fields, flags & TRACE_FLAGS)
  const startTime = readTime(fields['startTimeUnixNano'], 'the start of a span')
  const endTime = readTime(fields['endTimeUnixNano'], 'the end of a span')
  return {
    name: readText(fields['name'], 'the name of a span'),
    kind: readKind(fields['kind']),
    spanContext: () => context,
    ...readParent(fields, context, flags),
    startTime,
    endTime,
    duration: ended ? durationOf(startTime, endTime) : [0, 0],
    ended,
    status: readStatus(fields['status']),
    attributes: readAttributes(fields['attributes']),
    events: readList(fields['events'], 'events').map(readEvent),
    links: readList(fields['links'], 'links').map(readLink),
    droppedAttributesCount: readCount(fields['droppedAttributesCount'], 'a count'),
    droppedEventsCount: readCount(fields['droppedEventsCount'], 'a count'),
    droppedLinksCount: readCount(fields['droppedLinksCount'], 'a count'),
    ...origin,
  }
}

/** Never negative, because readers treat it as a length. */
export function durationOf(start: HrTime, end: HrTime): HrTime {
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
function readParent(
  fields: OtlpFields,
  { traceId, traceFlags }: SpanContext,
  flags: number,
): Pick<ReadableSpan, 'parentSpanContext'> {
  if (!readOptionalText(fields['parentSpanId'], 'the id of a parent')) return {}
  const spanId = readId(fields['parentSpanId'], SPAN_ID_DIGITS, 'the id of a parent')
  return { parentSpanContext: { traceId, spanId, traceFlags, isRemote: (flags & IS_REMOTE) !== 0 } }
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

/** The resources and scopes of lines. Equal ones are one object, because the serializers group spans by identity. */
export class OriginCache {
  readonly #resources = new ParsedCache<Resource>()
  readonly #scopes = new ParsedCache<Scope>()

  /**
   * The resource of an element of `resourceSpans`.
   * @throws {DamagedLine}
   */
  resourceOf(group: OtlpFields): Resource {
    return this.#resources.of([group['resource'], group['schemaUrl']], () => readResource(group))
  }

  /**
   * The scope of an element of `scopeSpans`.
   * @throws {DamagedLine}
   */
  scopeOf(group: OtlpFields): Scope {
    return this.#scopes.of([group['scope'], group['schemaUrl']], () => readScope(group))
  }
}

/** Objects by the JSON from which they were read. */
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
  return resources().resourceFromAttributes(attributes, schemaUrl === undefined ? {} : { schemaUrl })
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

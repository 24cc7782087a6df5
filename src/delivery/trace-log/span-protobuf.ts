import type { Attributes, HrTime, Link, SpanContext } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { type AttributeKey, ListedSpan, MAX_KNOWN_CHARS } from './recorded-span.ts'
import { flagsOf, groupByOrigin, isUsualTime, kindOf, MAX_DEPTH, NANOS_PER_SECOND, nanosText } from './span-json.ts'

const FIRST_BYTES = 65_536
/** Longer messages are rare. A buffer larger than this is not kept. */
const KEPT_BYTES = 2_097_152
/** Shorter texts are written character by character: a native call costs as much. */
const SHORT_CHARS = 40
const MAX_BYTES_PER_CHAR = 3
/** Room for a tag and a number or a length. A message's head is a tag and a length, for which one byte usually suffices. */
const ROOM_BYTES = 16
const HEAD_BYTES = 2
const SEVEN_BITS = 0x80
const LENGTH_DELIMITED = 2
const FIXED64 = 1
const FIXED32 = 5

/**
 * Writes the wire format of Protocol Buffers, field by field, into a buffer that is reused for each message. The tag of a field
 * is one byte, except in `fixed32`: no other field of a span has a number above 15.
 */
export class ProtobufWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #at = 0

  start(): void {
    this.#at = 0
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  }

  /** Copies what was written from this place on. */
  from(place: number): Uint8Array {
    return Buffer.from(this.#bytes.subarray(place, this.#at))
  }

  encoded(fields: Uint8Array): void {
    if (this.#bytes.length - this.#at < fields.length) this.#grow(fields.length)
    this.#bytes.set(fields, this.#at)
    this.#at += fields.length
  }

  /** Begins a message in a field. Returns the argument for `end`. */
  begin(field: number): number {
    if (this.#bytes.length - this.#at < ROOM_BYTES) this.#grow(ROOM_BYTES)
    this.#bytes[this.#at] = field * 8 + LENGTH_DELIMITED
    this.#at += HEAD_BYTES
    return this.#at
  }

  /** Writes the length before the data. Moves the data if the length needs more bytes than were reserved. */
  end(start: number, reserved = 1): void {
    const length = this.#at - start
    if (length < SEVEN_BITS) {
      this.#bytes[start - 1] = length
      return
    }
    const more = varintBytes(length) - reserved
    if (more > 0) {
      if (this.#bytes.length - this.#at < more) this.#grow(more)
      this.#bytes.copyWithin(start + more, start, this.#at)
    }
    this.#at = start - reserved
    this.#varint(length)
    this.#at += length
  }

  text(field: number, text: string): void {
    const { length } = text
    const room = ROOM_BYTES + length * MAX_BYTES_PER_CHAR
    if (this.#bytes.length - this.#at < room) this.#grow(room)
    const bytes = this.#bytes
    bytes[this.#at++] = field * 8 + LENGTH_DELIMITED
    if (length <= SHORT_CHARS) {
      const start = this.#at + 1
      let index = 0
      for (; index < length; index++) {
        const code = text.charCodeAt(index)
        if (code >= SEVEN_BITS) break
        bytes[start + index] = code
      }
      if (index === length) {
        bytes[this.#at] = length
        this.#at = start + length
        return
      }
    }
    const reserved = varintBytes(length)
    const start = this.#at + reserved
    this.#at = start + bytes.write(text, start)
    this.end(start, reserved)
  }

  hex(field: number, digits: string): void {
    const start = this.begin(field)
    if (this.#bytes.length - this.#at < digits.length) this.#grow(digits.length)
    this.#at += this.#bytes.write(digits, start, 'hex')
    this.end(start)
  }

  bytes(field: number, bytes: Uint8Array): void {
    const start = this.begin(field)
    this.encoded(bytes)
    this.end(start)
  }

  integer(field: number, value: number): void {
    if (this.#bytes.length - this.#at < ROOM_BYTES) this.#grow(ROOM_BYTES)
    this.#bytes[this.#at++] = field * 8
    if (value >= 0) this.#varint(value)
    else this.#bigVarint(BigInt.asUintN(64, BigInt(value)))
  }

  double(field: number, value: number): void {
    if (this.#bytes.length - this.#at < ROOM_BYTES) this.#grow(ROOM_BYTES)
    this.#bytes[this.#at++] = field * 8 + FIXED64
    this.#at = this.#bytes.writeDoubleLE(value, this.#at)
  }

  /** Nanoseconds exceed the precision of a number, and big integers would cost more than the other fields of a span. */
  time(field: number, time: HrTime): void {
    if (this.#bytes.length - this.#at < ROOM_BYTES) this.#grow(ROOM_BYTES)
    this.#bytes[this.#at++] = field * 8 + FIXED64
    if (isUsualTime(time)) {
      const [seconds, nanos] = time
      const upper = Math.floor(seconds / 2 ** 16) * NANOS_PER_SECOND
      const rest = (seconds % 2 ** 16) * NANOS_PER_SECOND + nanos
      const low = (upper % 2 ** 16) * 2 ** 16 + (rest % 2 ** 32)
      const high = Math.floor(upper / 2 ** 16) + Math.floor(rest / 2 ** 32) + Math.floor(low / 2 ** 32)
      this.#bytes.writeUInt32LE(low % 2 ** 32, this.#at)
      this.#bytes.writeUInt32LE(high, this.#at + 4)
    } else this.#bytes.writeBigUInt64LE(BigInt(nanosText(time)), this.#at)
    this.#at += 8
  }

  fixed32(field: number, value: number): void {
    if (this.#bytes.length - this.#at < ROOM_BYTES) this.#grow(ROOM_BYTES)
    this.#varint(field * 8 + FIXED32)
    this.#at = this.#bytes.writeUInt32LE(value, this.#at)
  }

  #varint(value: number): void {
    let rest = value
    // Bitwise operators are limited to 32 bits. Division by a power of two is exact.
    for (; rest >= SEVEN_BITS; rest = Math.floor(rest / SEVEN_BITS)) {
      this.#bytes[this.#at++] = (rest % SEVEN_BITS) + SEVEN_BITS
    }
    this.#bytes[this.#at++] = rest
  }

  #bigVarint(value: bigint): void {
    let rest = value
    for (; rest >= 128n; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 127n) | SEVEN_BITS
    this.#bytes[this.#at++] = Number(rest)
  }

  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + bytes))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}

function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= SEVEN_BITS; rest = Math.floor(rest / SEVEN_BITS)) bytes++
  return bytes
}

const INT64_LIMIT = 2 ** 63

/** Field numbers of `opentelemetry-proto`. */
const REQUEST = { resourceSpans: 1 } as const
const RESOURCE_SPANS = { resource: 1, scopeSpans: 2, schemaUrl: 3 } as const
const RESOURCE = { attributes: 1, droppedAttributesCount: 2 } as const
const SCOPE_SPANS = { scope: 1, spans: 2, schemaUrl: 3 } as const
const SCOPE = { name: 1, version: 2 } as const
const SPAN = {
  traceId: 1,
  spanId: 2,
  traceState: 3,
  parentSpanId: 4,
  name: 5,
  kind: 6,
  startTime: 7,
  endTime: 8,
  attributes: 9,
  droppedAttributesCount: 10,
  events: 11,
  droppedEventsCount: 12,
  links: 13,
  droppedLinksCount: 14,
  status: 15,
  flags: 16,
} as const
const STATUS = { message: 2, code: 3 } as const
const EVENT = { time: 1, name: 2, attributes: 3, droppedAttributesCount: 4 } as const
const LINK = { traceId: 1, spanId: 2, traceState: 3, attributes: 4, droppedAttributesCount: 5, flags: 6 } as const
const PAIR = { key: 1, value: 2 } as const
const VALUE = { text: 1, boolean: 2, integer: 3, double: 4, list: 5, pairs: 6, bytes: 7 } as const
const ELEMENTS = 1

/** Shared: a request is written synchronously. */
const writer = new ProtobufWriter()
const resources = new WeakMap<ReadableSpan['resource'], Uint8Array>()

/** OpenTelemetry's own serialiser writes every character by itself, which costs six times as much as the JSON. */
export function requestProtobuf(spans: readonly ReadableSpan[]): Uint8Array {
  writer.start()
  for (const [resource, scopes] of groupByOrigin(spans)) {
    const ofResource = writer.begin(REQUEST.resourceSpans)
    writeResource(resource)
    for (const group of scopes.values()) {
      const { name, version, schemaUrl } = group[0].instrumentationScope
      const ofScope = writer.begin(RESOURCE_SPANS.scopeSpans)
      const scope = writer.begin(SCOPE_SPANS.scope)
      writer.text(SCOPE.name, name)
      if (version) writer.text(SCOPE.version, version)
      writer.end(scope)
      for (const span of group) writeSpan(span)
      if (schemaUrl) writer.text(SCOPE_SPANS.schemaUrl, schemaUrl)
      writer.end(ofScope)
    }
    if (resource.schemaUrl) writer.text(RESOURCE_SPANS.schemaUrl, resource.schemaUrl)
    writer.end(ofResource)
  }
  return writer.from(0)
}

/** Resources are large, and the same in every request. Not cached while incomplete: some attributes may be pending. */
function writeResource(resource: ReadableSpan['resource']): void {
  const known = resources.get(resource)
  if (known !== undefined) writer.encoded(known)
  else {
    const start = writer.begin(RESOURCE_SPANS.resource)
    writeAttributes(RESOURCE.attributes, resource.attributes)
    writer.integer(RESOURCE.droppedAttributesCount, 0)
    writer.end(start)
    if (!resource.asyncAttributesPending) resources.set(resource, writer.from(start - HEAD_BYTES))
  }
}

function writeSpan(span: ReadableSpan): void {
  const context = span.spanContext()
  const parent = span.parentSpanContext
  const kind = kindOf(span)
  const start = writer.begin(SCOPE_SPANS.spans)
  writeIds(SPAN, context)
  if (parent?.spanId) writer.hex(SPAN.parentSpanId, parent.spanId)
  writer.text(SPAN.name, span.name)
  if (kind !== 0) writer.integer(SPAN.kind, kind)
  writer.time(SPAN.startTime, span.startTime)
  writer.time(SPAN.endTime, span.endTime)
  if (span instanceof ListedSpan) {
    const { keys, values } = span
    for (let at = 0; at < keys.length; at++) writeSpanAttribute(keys[at] as AttributeKey, values[at])
  } else writeAttributes(SPAN.attributes, span.attributes)
  writer.integer(SPAN.droppedAttributesCount, span.droppedAttributesCount)
  for (const event of span.events) writeEvent(event)
  writer.integer(SPAN.droppedEventsCount, span.droppedEventsCount)
  for (const link of span.links) writeLink(link)
  writer.integer(SPAN.droppedLinksCount, span.droppedLinksCount)
  const status = writer.begin(SPAN.status)
  if (span.status.message) writer.text(STATUS.message, span.status.message)
  writer.integer(STATUS.code, span.status.code)
  writer.end(status)
  writer.fixed32(SPAN.flags, flagsOf(context, parent?.isRemote))
  writer.end(start)
}

function writeEvent({ time, name, attributes, droppedAttributesCount }: ReadableSpan['events'][number]): void {
  const start = writer.begin(SPAN.events)
  writer.time(EVENT.time, time)
  writer.text(EVENT.name, name)
  writeAttributes(EVENT.attributes, attributes)
  writer.integer(EVENT.droppedAttributesCount, droppedAttributesCount || 0)
  writer.end(start)
}

function writeLink({ context, attributes, droppedAttributesCount }: Link): void {
  const start = writer.begin(SPAN.links)
  writeIds(LINK, context)
  writeAttributes(LINK.attributes, attributes)
  writer.integer(LINK.droppedAttributesCount, droppedAttributesCount || 0)
  writer.fixed32(LINK.flags, flagsOf(context, context.isRemote))
  writer.end(start)
}

/** The field numbers are equal in spans and links. */
function writeIds(of: typeof SPAN | typeof LINK, { traceId, spanId, traceState }: SpanContext): void {
  writer.hex(of.traceId, traceId)
  writer.hex(of.spanId, spanId)
  const state = traceState?.serialize()
  if (state) writer.text(of.traceState, state)
}

function writeAttributes(field: number, attributes: Attributes = {}): void {
  for (const key of Object.keys(attributes)) writePair(field, key, attributes[key], 0)
}

/** Most values are those of the previous span with the key. */
function writeSpanAttribute(key: AttributeKey, value: unknown): void {
  if (key.wirePair !== undefined && key.wireValue === value) {
    writer.encoded(key.wirePair)
    return
  }
  const start = writer.begin(SPAN.attributes)
  if (key.wireKey !== undefined) writer.encoded(key.wireKey)
  else {
    writer.text(PAIR.key, key.name)
    key.wireKey = writer.from(start)
  }
  writeValue(PAIR.value, value, 0)
  writer.end(start)
  if (typeof value === 'object' || (typeof value === 'string' && value.length > MAX_KNOWN_CHARS)) return
  key.wirePair = key.wireValue === value ? writer.from(start - HEAD_BYTES) : undefined
  key.wireValue = value
}

function writePair(field: number, key: string, value: unknown, depth: number): void {
  const start = writer.begin(field)
  writer.text(PAIR.key, key)
  writeValue(PAIR.value, value, depth)
  writer.end(start)
}

function writeValue(field: number, value: unknown, depth: number): void {
  const start = writer.begin(field)
  if (typeof value === 'string') writer.text(VALUE.text, value)
  else if (typeof value === 'number') {
    const isInteger = Number.isInteger(value) && value >= -INT64_LIMIT && value < INT64_LIMIT
    if (isInteger) writer.integer(VALUE.integer, value)
    else writer.double(VALUE.double, value)
  } else if (typeof value === 'boolean') writer.integer(VALUE.boolean, Number(value))
  // Absent values and values nested too deeply become empty values.
  else if (value instanceof Uint8Array) writer.bytes(VALUE.bytes, value)
  else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH) writeObject(value, depth + 1)
  writer.end(start)
}

function writeObject(value: object, depth: number): void {
  const start = writer.begin(Array.isArray(value) ? VALUE.list : VALUE.pairs)
  if (Array.isArray(value)) for (const element of value) writeValue(ELEMENTS, element, depth)
  else for (const [key, element] of Object.entries(value)) writePair(ELEMENTS, key, element, depth)
  writer.end(start)
}

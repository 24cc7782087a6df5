import type { TelemetrySpan } from '../agents/receiver-adapter.ts'
import { elementsOf, numberOf, peek, textOf } from '../contract/foreign.ts'
import { readAttributes } from '../reading/attribute-value.ts'
import { readTime } from '../reading/stored-span.ts'
import { parseBody } from './body.ts'
import { RefusedRequest } from './refusal.ts'

type ScalarType = 'text' | 'hex' | 'integer' | 'fixed64' | 'double' | 'flag'
/** Field names and encodings by field number. Unknown fields are skipped. */
interface MessageFields {
  readonly [number: number]: readonly [name: string, field: ScalarType | MessageFields, isList?: true]
}

/** Wire types: the low bits of a tag, which give the length of a value. */
const [VARINT, EIGHT, COUNTED, FOUR] = [0, 1, 2, 5]
const WIRES: Readonly<Record<ScalarType, number | undefined>> = {
  text: COUNTED,
  hex: COUNTED,
  integer: VARINT,
  flag: VARINT,
  fixed64: EIGHT,
  double: EIGHT,
}
const VARINT_BYTES = 10
const LOW_BYTES = 4
const LOW = 2 ** (7 * LOW_BYTES)
const SIGN = 2 ** 63 / LOW

/** For untrusted data: whatever is truncated, too many or unexpected is refused. The description bounds the depth. */
class Reader {
  readonly #bytes: Buffer
  #left: number
  #at = 0

  constructor(bytes: Buffer, mostValues: number) {
    this.#bytes = bytes
    this.#left = mostValues
  }

  message(end: number, message: MessageFields): Record<string, unknown> {
    const read: Record<string, unknown> = {}
    while (this.#at < end) {
      const tag = this.#varint(end)
      const known = message[Math.floor(tag / 8)]
      if (--this.#left < 0) throw new RefusedRequest('size')
      if (known === undefined) {
        this.#skip(tag % 8, end)
        continue
      }
      const [name, field, isList] = known
      if (tag % 8 !== (typeof field === 'string' ? WIRES[field] : COUNTED)) throw new RefusedRequest('protobuf')
      const value = this.#value(field, end)
      if (isList === undefined) read[name] = value
      else if (read[name] === undefined) read[name] = [value]
      else (read[name] as unknown[]).push(value)
    }
    return read
  }

  #value(field: ScalarType | MessageFields, end: number): unknown {
    switch (field) {
      case 'integer':
        return this.#varint(end, true)
      case 'flag':
        return this.#varint(end) !== 0
      case 'fixed64':
        // A string, as in the JSON encoding of protobuf: a number would not be exact.
        return String(this.#bytes.readBigUInt64LE(this.#pass(8, end)))
      case 'double':
        return this.#bytes.readDoubleLE(this.#pass(8, end))
      case 'text':
        return this.#counted(end).toString('utf8')
      case 'hex':
        return this.#counted(end).toString('hex')
      default:
        return this.message(this.#endOf(this.#varint(end), end), field)
    }
  }

  #skip(wire: number, end: number): void {
    if (wire === VARINT) this.#varint(end)
    else if (wire === EIGHT) this.#pass(8, end)
    else if (wire === FOUR) this.#pass(4, end)
    else if (wire === COUNTED) this.#pass(this.#varint(end), end)
    else throw new RefusedRequest('protobuf')
  }

  /** Reads 64 bits in two parts. Exact up to ±2⁵³. */
  #varint(end: number, isSigned = false): number {
    let [low, high] = [0, 0]
    for (let byte = 0; byte < VARINT_BYTES; byte++) {
      const bits = this.#bytes[this.#pass(1, end)] as number
      if (byte < LOW_BYTES) low += (bits & 0x7f) * 2 ** (7 * byte)
      else high += (bits & 0x7f) * 2 ** (7 * (byte - LOW_BYTES))
      if (bits < 0x80 && high < 2 * SIGN) return (isSigned && high >= SIGN ? high - 2 * SIGN : high) * LOW + low
    }
    throw new RefusedRequest('protobuf')
  }

  #counted(end: number): Buffer {
    const length = this.#varint(end)
    const from = this.#pass(length, end)
    return this.#bytes.subarray(from, from + length)
  }

  #pass(length: number, end: number): number {
    const from = this.#at
    this.#at = this.#endOf(length, end)
    return from
  }

  #endOf(length: number, end: number): number {
    if (this.#at + length > end) throw new RefusedRequest('protobuf')
    return this.#at + length
  }
}

/** The fields we read of opentelemetry/proto/collector/trace/v1, with their JSON names. */
const SCALAR: MessageFields = {
  1: ['stringValue', 'text'],
  2: ['boolValue', 'flag'],
  3: ['intValue', 'integer'],
  4: ['doubleValue', 'double'],
}
const VALUE: MessageFields = { ...SCALAR, 5: ['arrayValue', { 1: ['values', SCALAR, true] }] }
const ATTRIBUTE: MessageFields = { 1: ['key', 'text'], 2: ['value', VALUE] }
const SPAN: MessageFields = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  4: ['parentSpanId', 'hex'],
  5: ['name', 'text'],
  6: ['kind', 'integer'],
  7: ['startTimeUnixNano', 'fixed64'],
  8: ['endTimeUnixNano', 'fixed64'],
  9: ['attributes', ATTRIBUTE, true],
  15: ['status', { 3: ['code', 'integer'] }],
}
const SCOPE_SPANS: MessageFields = { 1: ['scope', { 1: ['name', 'text'] }], 2: ['spans', SPAN, true] }
const RESOURCE_SPANS: MessageFields = {
  1: ['resource', { 1: ['attributes', ATTRIBUTE, true] }],
  2: ['scopeSpans', SCOPE_SPANS, true],
}
const REQUEST: MessageFields = { 1: ['resourceSpans', RESOURCE_SPANS, true] }

/**
 * Reads the spans of a trace export (OTLP over HTTP, JSON or protobuf).
 *
 * @param services accepted names of services or instrumentation scopes
 * @throws Refused
 */
export function readTraces(
  bytes: Buffer,
  type: string | undefined,
  services: readonly string[],
  mostValues: number,
): { readonly spans: readonly TelemetrySpan[]; readonly others: number } {
  const requests = isProtobuf(type)
    ? [new Reader(bytes, mostValues).message(bytes.length, REQUEST)]
    : parseBody(bytes, type, mostValues)
  const spans: TelemetrySpan[] = []
  let others = 0
  for (const group of requests.flatMap(request => all(peek(request, 'resourceSpans')))) {
    const service = readAttributes(peek(peek(group, 'resource'), 'attributes'))['service.name']
    for (const scoped of all(peek(group, 'scopeSpans'))) {
      const made = all(peek(scoped, 'spans'))
      const isWanted = [service, peek(peek(scoped, 'scope'), 'name')].some(name => services.includes(name as string))
      if (isWanted) for (const span of made) spans.push(spanOf(span))
      else others += made.length
    }
  }
  return { spans, others }
}

export function isProtobuf(type: string | undefined): boolean {
  return type?.startsWith('application/x-protobuf') === true
}

function all(list: unknown): readonly unknown[] {
  return elementsOf(list, Infinity)
}

function spanOf(span: unknown): TelemetrySpan {
  return {
    spanId: textOf(peek(span, 'spanId')),
    parentSpanId: textOf(peek(span, 'parentSpanId')),
    kind: numberOf(peek(span, 'kind')),
    startAt: readTime(String(peek(span, 'startTimeUnixNano'))),
    endAt: readTime(String(peek(span, 'endTimeUnixNano'))),
    statusCode: numberOf(peek(peek(span, 'status'), 'code')),
    attributes: readAttributes(peek(span, 'attributes')),
  }
}

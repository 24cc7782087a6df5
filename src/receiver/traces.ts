import type { TelemetrySpan } from '../agents/receiver-adapter.ts'
import { elementsOf, numberOf, peek, textOf } from '../contract/foreign.ts'
import { readAttributes } from '../reading/attribute-value.ts'
import { readTime } from '../reading/stored-span.ts'
import { parseBody } from './body.ts'
import { type MessageFields, readProtobuf } from './protobuf.ts'

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

export interface Traces {
  readonly spans: readonly TelemetrySpan[]
  readonly others: number
}

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
): Traces {
  const requests = isProtobuf(type) ? [readProtobuf(bytes, REQUEST, mostValues)] : parseBody(bytes, type, mostValues)
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

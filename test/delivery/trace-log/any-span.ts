import {
  type Attributes,
  createTraceState,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanKind,
  trace,
} from '@opentelemetry/api'
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, BasicTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { JsonBytes } from '../../../src/delivery/trace-log/json-bytes.ts'
import { requestJson, writeNote } from '../../../src/delivery/trace-log/span-json.ts'
import fc from '../../support/fast-check.ts'

const START_AT = 1_795_256_100_000
const ODD_CHARACTERS = [
  '"',
  '\\',
  '\n',
  '\r',
  '\t',
  '\0',
  '\u0085',
  '\u2028',
  '\u2029',
  '\ud83d',
  '\ude00',
  '😀',
  'é',
  '中',
]

/** Any text, also one that UTF-8 cannot hold, and content that is worth remembering. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: fc.oneof(fc.constantFrom(...ODD_CHARACTERS), fc.string({ minLength: 1, maxLength: 1 })) }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map(unit => String.fromCharCode(unit)) }),
  fc.constantFrom(
    '',
    'same',
    'x'.repeat(200),
    `{"a":"${'y'.repeat(200)}"}`,
    `${'z'.repeat(200)}\n`,
    `${'é'.repeat(200)}\u2028`,
  ),
)

/** Numbers of which OpenTelemetry's JSON serializer writes valid OTLP. */
const plainNumber = fc.oneof(fc.integer(), fc.double({ min: -1e15, max: 1e15, noNaN: true }), fc.maxSafeInteger())
const anyNumber: fc.Arbitrary<number> = fc.oneof(plainNumber, fc.double(), fc.constantFrom(2 ** 63, -(2 ** 63), 1e21))

function attributesOf(text: fc.Arbitrary<string>, number: fc.Arbitrary<number>): fc.Arbitrary<Attributes> {
  const nothing = fc.constantFrom(null, undefined)
  const value = fc.oneof(
    text,
    number,
    fc.boolean(),
    fc.array(fc.oneof(text, nothing), { maxLength: 4 }),
    fc.array(fc.oneof(number, nothing), { maxLength: 4 }),
    fc.array(fc.boolean(), { maxLength: 4 }),
  )
  return fc.dictionary(fc.oneof(text, fc.constantFrom('a', 'b', '1', 'constructor')), value, { maxKeys: 6 })
}

const anyTraceState = fc.constantFrom(undefined, createTraceState(''), createTraceState('a=1,vendor@key=x y'))

const anyContext: fc.Arbitrary<SpanContext> = fc.record(
  {
    traceId: fc.bigInt(1n, 2n ** 128n - 1n).map(id => id.toString(16).padStart(32, '0')),
    spanId: fc.bigInt(1n, 2n ** 64n - 1n).map(id => id.toString(16).padStart(16, '0')),
    traceFlags: fc.integer({ min: 0, max: 3 }),
    isRemote: fc.boolean(),
    traceState: anyTraceState as fc.Arbitrary<NonNullable<SpanContext['traceState']>>,
  },
  { requiredKeys: ['traceId', 'spanId', 'traceFlags'] },
)

/** Up to what 64 bits of nanoseconds hold. */
const anyTime = fc.oneof(
  fc.double({ min: START_AT, max: START_AT * 2, noNaN: true }),
  fc.tuple(fc.integer({ min: 0, max: 18_446_744_072 }), fc.integer({ min: 0, max: 1e9 })),
)

/** What is done to a span between its start and its end. */
export interface SpanPlan {
  readonly tracer: 0 | 1 | 2
  readonly name: string
  readonly kind: SpanKind
  readonly parent: SpanContext | undefined
  readonly attributes: Attributes
  readonly links: Link[]
  readonly events: readonly { name: string; attributes: Attributes; at: number | [number, number] }[]
  readonly status: { code: number; message?: string }
  readonly startAt: number | [number, number]
  readonly endAt: number | [number, number]
}

function planOf(text: fc.Arbitrary<string>, number: fc.Arbitrary<number>): fc.Arbitrary<SpanPlan> {
  const attributes = attributesOf(text, number)
  return fc.record({
    tracer: fc.constantFrom(0, 1, 2),
    name: text,
    kind: fc.integer({ min: 0, max: 4 }),
    parent: fc.option(anyContext, { nil: undefined }),
    attributes,
    links: fc.array(fc.record({ context: anyContext, attributes }, { requiredKeys: ['context'] }), { maxLength: 2 }),
    events: fc.array(fc.record({ name: text, attributes, at: anyTime }), { maxLength: 2 }),
    status: fc.record({ code: fc.integer({ min: 0, max: 2 }), message: text }, { requiredKeys: ['code'] }),
    startAt: anyTime,
    endAt: anyTime,
  })
}

export const anyPlans: fc.Arbitrary<SpanPlan[]> = fc.array(planOf(anyText, anyNumber), { minLength: 1, maxLength: 4 })

/** Spans that the SDK itself recorded, of two resources and three scopes. */
function recorded(plans: readonly SpanPlan[], resource: Attributes, isOver = true): ReadableSpan[] {
  const providers = ['first', 'second'].map(
    name =>
      new BasicTracerProvider({
        // Otherwise what continues an unsampled span would not be recorded.
        sampler: new AlwaysOnSampler(),
        resource: resourceFromAttributes({ ...resource, name }, { schemaUrl: `https://schemas.test/${name}` }),
        spanLimits: { eventCountLimit: 1, attributeCountLimit: 4, attributePerLinkCountLimit: 1 },
      }),
  ) as [BasicTracerProvider, BasicTracerProvider]
  const tracers = [
    providers[0].getTracer('one', '1.0'),
    providers[0].getTracer('two', undefined, { schemaUrl: 'https://schemas.test/"' }),
    providers[1].getTracer('one', '1.0'),
  ] as const
  return plans.map(plan => {
    const { name, kind, attributes, links, parent } = plan
    const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
    const span: Span = tracers[plan.tracer].startSpan(
      name,
      { kind, attributes, links, startTime: plan.startAt },
      context,
    )
    for (const event of plan.events) span.addEvent(event.name, event.attributes, event.at)
    if (!isOver) return span as unknown as ReadableSpan
    span.setStatus(plan.status)
    span.end(plan.endAt)
    return span as unknown as ReadableSpan
  })
}

function spansOf(
  text: fc.Arbitrary<string>,
  number: fc.Arbitrary<number>,
  isOver = true,
): fc.Arbitrary<ReadableSpan[]> {
  return fc
    .tuple(fc.array(planOf(text, number), { minLength: 1, maxLength: 4 }), attributesOf(text, number))
    .map(([plans, resource]) => recorded(plans, resource, isOver))
}

export const anySpans: fc.Arbitrary<ReadableSpan[]> = spansOf(anyText, anyNumber)
export const openSpans: fc.Arbitrary<ReadableSpan[]> = spansOf(anyText, anyNumber, false)
/** Spans that OpenTelemetry's JSON serializer writes valid OTLP of. */
export const plainSpans: fc.Arbitrary<ReadableSpan[]> = spansOf(anyText, plainNumber)
/** Spans whose texts are as long in JSON as they are. */
export const simpleSpans: fc.Arbitrary<ReadableSpan[]> = spansOf(fc.stringMatching(/^[a-z ]{0,40}$/), plainNumber)

/** One span that has ended, with whatever else is set on it. */
export function spanWith(more: Partial<ReadableSpan> = {}): ReadableSpan {
  const provider = new BasicTracerProvider({ resource: resourceFromAttributes({ 'service.name': 'test' }) })
  const span = provider
    .getTracer('test', '1')
    .startSpan('span', { startTime: START_AT, attributes: { a: 1 } }, ROOT_CONTEXT)
  span.end(START_AT + 1)
  return Object.create(span, Object.getOwnPropertyDescriptors(more)) as ReadableSpan
}

export function lineOf(spans: readonly ReadableSpan[]): string {
  return requestJson(spans).toString()
}

/** The line that says of spans that they are open. */
export function noteOf(spans: readonly ReadableSpan[]): string {
  const out = new JsonBytes()
  writeNote(out, spans)
  return out.written.toString()
}

/** What OpenTelemetry makes of spans. */
export function officialJson(spans: readonly ReadableSpan[]): string {
  return new TextDecoder().decode(JsonTraceSerializer.serializeRequest([...spans]))
}

export function officialProtobuf(spans: readonly ReadableSpan[]): string {
  return Buffer.from(ProtobufTraceSerializer.serializeRequest([...spans]) ?? []).toString('hex')
}

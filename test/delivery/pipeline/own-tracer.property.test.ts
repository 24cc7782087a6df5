import { createHash } from 'node:crypto'
import {
  type Attributes,
  ROOT_CONTEXT,
  type SpanContext,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { defaultResource } from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  type IdGenerator,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import { afterEach, expect, test, vi } from 'vitest'
import { ownTracerProvider } from '../../../src/delivery/pipeline/own-tracer.ts'
import { createResource } from '../../../src/delivery/pipeline/providers.ts'
import { PlainResource } from '../../../src/delivery/trace-log/plain-resource.ts'
import { requestJson } from '../../../src/delivery/trace-log/span-json.ts'
import { requestProtobuf } from '../../../src/delivery/trace-log/span-protobuf.ts'
import { createPlugin } from '../../../src/index.ts'
import { agentScript } from '../../support/agent-script.ts'
import { ANY_ARRIVAL, arrivals } from '../../support/arrival.ts'
import fc from '../../support/fast-check.ts'
import { type FedRecord, START_AT } from '../../support/feed.ts'
import { times } from '../../support/sample.ts'
import { runScript } from '../../support/script-run.ts'
import { anyPlans, type SpanPlan } from '../trace-log/any-span.ts'
import { pipelineSettings } from './pipeline-fixture.ts'

/** Cases of each property, if `npm run test:deep` was given a number. */
const PROPERTY_RUNS = process.env['PROPERTY_RUNS']

afterEach(() => {
  vi.useRealTimers()
})

const RESOURCE = new PlainResource({ 'service.name': 'test' })

/** Ids that are the same in each sequence, and spread over all numbers. */
function idSequence(): IdGenerator {
  let count = 0
  const next = (digits: number): string => createHash('sha256').update(String(count++)).digest('hex').slice(0, digits)
  return { generateSpanId: () => next(16), generateTraceId: () => next(32) }
}

interface Limits {
  readonly sampleRate?: number
  readonly attributes: number
  readonly parts: number
}

interface Recording {
  readonly provider: TracerProvider
  readonly started: ReadableSpan[]
  readonly ended: ReadableSpan[]
}

function recordingOf(create: (processor: SpanProcessor) => TracerProvider): Recording {
  const [started, ended]: [ReadableSpan[], ReadableSpan[]] = [[], []]
  const provider = create({
    onStart: span => void started.push(span),
    onEnd: span => void ended.push(span),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  })
  return { provider, started, ended }
}

function both({ sampleRate = 1, attributes, parts }: Limits): readonly [sdk: Recording, own: Recording] {
  return [
    recordingOf(
      processor =>
        new BasicTracerProvider({
          resource: RESOURCE,
          spanProcessors: [processor],
          idGenerator: idSequence(),
          sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRate) }),
          spanLimits: {
            attributeCountLimit: attributes,
            eventCountLimit: parts,
            linkCountLimit: parts,
            attributePerEventCountLimit: parts,
            attributePerLinkCountLimit: parts,
          },
        }),
    ),
    recordingOf(
      processor =>
        ownTracerProvider({
          resource: RESOURCE,
          spanProcessors: [processor],
          idGenerator: idSequence(),
          sampleRate,
          attributeCountLimit: attributes,
          partCountLimit: parts,
        }) as TracerProvider,
    ),
  ]
}

function contextFields({ traceId, spanId, traceFlags, traceState, isRemote }: SpanContext): object {
  return { traceId, spanId, traceFlags, isRemote, traceState: traceState?.serialize() }
}

function fieldsOf(span: ReadableSpan): object {
  const { kind, name, startTime, endTime, duration, ended, status, events, resource, instrumentationScope } = span
  const { droppedAttributesCount, droppedEventsCount, droppedLinksCount } = span
  return {
    ...{ kind, name, startTime, endTime, duration, ended, status, events, resource },
    ...{ droppedAttributesCount, droppedEventsCount, droppedLinksCount },
    scope: [instrumentationScope.name, instrumentationScope.version, instrumentationScope.schemaUrl],
    attributes: Object.entries(span.attributes).sort(([one], [other]) => (one < other ? -1 : 1)),
    links: span.links.map(({ context, ...link }) => ({ ...link, context: contextFields(context) })),
    context: contextFields(span.spanContext()),
    parent: span.parentSpanContext && contextFields(span.parentSpanContext),
  }
}

/** An object with such a name lists it first. */
const isIndex = (name: string): boolean => /^\d+$/.test(name)

function expectEqualSpans([sdk, own]: readonly [Recording, Recording]): void {
  expect(own.started.map(span => span.spanContext().spanId)).toEqual(sdk.started.map(span => span.spanContext().spanId))
  expect(own.ended.map(fieldsOf)).toEqual(sdk.ended.map(fieldsOf))
  const isOrdered = sdk.ended.every(({ attributes }) => !Object.keys(attributes).some(isIndex))
  if (!isOrdered) return
  expect(requestJson(own.ended).toString()).toBe(requestJson(sdk.ended).toString())
  expect(Buffer.from(requestProtobuf(own.ended)).equals(requestProtobuf(sdk.ended))).toBe(true)
}

interface Deed {
  readonly plan: SpanPlan
  readonly more: Attributes
  readonly exception: { name?: string; code?: string; message?: string; stack?: string } | string
  readonly status: SpanPlan['status']
  readonly isRoot: boolean
}

function perform(tracer: Tracer, { plan, more, exception, status, isRoot }: Deed): void {
  const { name, kind, attributes, links, parent, startAt } = plan
  const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
  const span = tracer.startSpan(name, { kind, attributes, links, startTime: startAt, root: isRoot }, context)
  const change = (): void => {
    span.setAttributes(more)
    for (const key of Object.keys(attributes)) span.setAttribute(key, 'again')
    span.setAttribute('', 'without a name').setAttribute('mixed', ['a', 1] as unknown as string[])
    for (const event of plan.events) span.addEvent(event.name, event.attributes, event.at)
    span.recordException(exception as Error, plan.endAt)
    span.addLinks(links)
    span.setStatus(status)
    span.updateName(`${name} `)
  }
  change()
  span.setStatus(plan.status)
  const child = tracer.startSpan('child', { startTime: plan.endAt }, trace.setSpan(context, span))
  child.end(plan.startAt)
  expect(span.isRecording()).toBe((span.spanContext().traceFlags & 1) === 1)
  span.end(plan.endAt)
  expect(span.isRecording()).toBe(false)
  change()
  span.end()
}

const status = fc.record({ code: fc.integer({ min: 0, max: 2 }), message: fc.string() }, { requiredKeys: ['code'] })
const exception = fc.oneof(
  fc.string(),
  fc.record(
    { name: fc.string(), code: fc.string(), message: fc.string(), stack: fc.string() },
    // The SDK throws for an exception that no text can be made of.
    { requiredKeys: ['name'], noNullPrototype: true },
  ),
)
const deeds: fc.Arbitrary<Deed[]> = anyPlans.chain(plans =>
  fc.tuple(
    ...plans.map(plan =>
      fc.record({
        plan: fc.constant(plan),
        more: fc.constantFrom(plan.attributes, plans[0]?.attributes ?? {}),
        exception,
        status,
        isRoot: fc.boolean(),
      }),
    ),
  ),
)

/** The SDK counts this name towards the limit, and does not keep it. */
const isProto = ({ plan }: Deed): boolean =>
  [plan, ...plan.links, ...plan.events].some(({ attributes }) => Object.hasOwn(attributes ?? {}, '__proto__'))

test('records every span like the SDK with a tracer of ours', () => {
  const limits = fc.record({
    sampleRate: fc.constantFrom(0, 0.5, 1),
    attributes: fc.constantFrom(4, 1024),
    parts: fc.constantFrom(1, 128),
  })
  fc.assert(
    fc.property(limits, deeds, (limit, sequence) => {
      fc.pre(!sequence.some(isProto))
      const recordings = both(limit)
      for (const { provider } of recordings) {
        const tracers = [provider.getTracer('one', '1'), provider.getTracer('two', undefined, { schemaUrl: 'u' })]
        for (const deed of sequence) perform(tracers[deed.plan.tracer % 2] as Tracer, deed)
      }
      expectEqualSpans(recordings)
    }),
    { numRuns: Number(PROPERTY_RUNS ?? times(50, 1_200)) },
  )
})

const records: fc.Arbitrary<readonly FedRecord[]> = fc
  .tuple(ANY_ARRIVAL, agentScript())
  .map(([how, script]) => arrivals(runScript(script), how))

test('stores the same bytes with both writers for any hook records', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: START_AT + 60_000 })
  await fc.assert(
    fc.asyncProperty(records, fc.constantFrom(0.5, 1), async (sequence, sampleRate) => {
      const recordings = both({ sampleRate, attributes: 1024, parts: 128 })
      for (const { provider: tracerProvider } of recordings) {
        const plugin = createPlugin({ host: 'agent', tracerProvider, local_log: false, logger: SILENT })
        for (const { hook, payload, ...meta } of sequence) void plugin.emitUntyped(hook, payload, meta)
        await plugin.shutdown()
      }
      expectEqualSpans(recordings)
    }),
    { numRuns: Number(PROPERTY_RUNS ?? times(20, 75)) },
  )
})

const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

test('has the resource that the SDK builds', () => {
  const settings = pipelineSettings({ deterministicIds: true, resourceAttributes: { 'host.name': 'here' } })
  const { attributes } = createResource(settings, { team: 'a' })
  const { 'telemetry.sdk.version': version } = defaultResource().attributes
  expect(Object.entries(attributes)).toEqual([
    ['service.name', 'test-agent'],
    ['telemetry.distro.name', 'hookspan'],
    ['telemetry.distro.version', '1.2.3'],
    ['team', 'a'],
    ['host.name', 'here'],
    ['telemetry.sdk.language', 'nodejs'],
    ['telemetry.sdk.name', 'opentelemetry'],
    ['telemetry.sdk.version', version],
  ])
})

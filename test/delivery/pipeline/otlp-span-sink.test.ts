import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, expect, test, vi } from 'vitest'
import { OtlpSender, type OtlpTarget } from '../../../src/delivery/pipeline/otlp-sender.ts'
import { OtlpSpanSink } from '../../../src/delivery/pipeline/otlp-sinks.ts'
import { createResource, createSdkTracerProvider } from '../../../src/delivery/pipeline/providers.ts'
import { randomIds } from '../../../src/delivery/pipeline/span-id-generator.ts'
import { SpanLine } from '../../../src/delivery/trace-log/span-line.ts'
import type { OtlpSink, SinkBehaviour } from '../../support/otlp-sink.ts'
import { backend, countPoint, openPipeline, pipelineSettings, recordSpans, startSink } from './pipeline-fixture.ts'

const MANY = 35

const never = new AbortController().signal
const opened: OtlpSpanSink[] = []

afterEach(async () => {
  vi.unstubAllEnvs()
  await Promise.all(opened.splice(0).map(sink => sink.close()))
})

function open(target: Partial<OtlpTarget>): OtlpSpanSink {
  const headers = { 'content-type': 'application/json', ...target.headers }
  const usual = { url: '', gzip: false, timeoutMillis: 5000, tls: {} }
  const sink = new OtlpSpanSink('http/json', new OtlpSender({ ...usual, ...target, headers }))
  opened.push(sink)
  return sink
}

function openFor(server: OtlpSink, target: Partial<OtlpTarget> = {}): OtlpSpanSink {
  return open({ url: `${server.url}/v1/traces`, ...target })
}

function lineOf(name: string): SpanLine {
  const settings = pipelineSettings()
  const memory = new InMemorySpanExporter()
  const provider = createSdkTracerProvider({
    settings,
    resource: createResource(settings, {}),
    spanProcessors: [new SimpleSpanProcessor(memory)],
    idGenerator: randomIds,
  })
  provider.getTracer('test').startSpan(name).end()
  return new SpanLine(memory.getFinishedSpans())
}

test('sends traces and metrics of either protocol under the name of hookspan', async () => {
  const server = await startSink()
  const pipeline = openPipeline({
    backends: [
      backend('otlp', server.url, { protocol: 'http/json' }),
      { ...backend('otlp', server.url, { protocol: 'http/protobuf', metrics: false }), name: 'second' },
    ],
  })
  recordSpans(pipeline, 'one')
  countPoint(pipeline, 'points')
  await pipeline.flush()
  const agents = server.requests.map(({ path, headers }) => [path, headers['content-type'], headers['user-agent']])
  expect(agents.sort()).toEqual([
    ['/v1/metrics', 'application/json', 'hookspan/1.2.3'],
    ['/v1/traces', 'application/json', 'hookspan/1.2.3'],
    ['/v1/traces', 'application/x-protobuf', 'hookspan/1.2.3'],
  ])
})

test.each(['none', 'gzip'])('adds no header of the environment, with compression %s', async compression => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'X-Key=of-the-environment,content-encoding=odd')
  vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'x-other=of-the-environment,x-own=of-the-environment')
  const { env } = process
  const server = await startSink()
  const sink = openFor(server, { gzip: compression === 'gzip', headers: { 'x-own': 'ours' } })
  expect(process.env).toBe(env)
  await sink.export([lineOf('one')], never)
  expect(server.spanNames).toEqual(['one'])
  expect(server.requests[0]?.headers).toMatchObject({ 'x-own': 'ours' })
  expect(JSON.stringify(server.requests[0]?.headers)).not.toMatch(/of-the-environment|odd/)
})

test('never sends a request that was aborted before it was made, nor confuses it with the next one', async () => {
  const server = await startSink()
  const sink = openFor(server)
  const givenUp = new AbortController()
  const first = sink.export([lineOf('first')], givenUp.signal)
  givenUp.abort()
  const second = sink.export([lineOf('second')], never)
  expect(await first).toEqual({ lost: 1, failure: { kind: 'timeout', afterMillis: expect.any(Number) } })
  expect(await second).toEqual({ lost: 0 })
  await sink.export([lineOf('third')], never)
  expect(server.spanNames).toEqual(['second', 'third'])
})

const TROUBLES: readonly (readonly [string, SinkBehaviour])[] = [
  ['never arriving', { kind: 'hanging' }],
  ['cut off', { kind: 'reset' }],
  ['too long', { kind: 'ok', body: 'x'.repeat(5_000_000) }],
  ['with a Retry-After', { kind: 'status', status: 503, headers: { 'retry-after': '60' } }],
]

test.each(TROUBLES)(`delivers later spans after ${MANY} answers %s`, async (_what, behaviour) => {
  const server = await startSink(behaviour)
  const sink = openFor(server)
  for (let round = 1; round <= MANY; round++) {
    const givenUp = new AbortController()
    const exported = sink.export([lineOf('early')], givenUp.signal)
    await server.until(() => server.requests.length >= round)
    if (behaviour.kind === 'hanging') givenUp.abort()
    await exported
  }
  server.behaviour = { kind: 'ok' }
  expect(await sink.export([lineOf('later')], never)).toEqual({ lost: 0 })
  expect(server.spanNames.at(-1)).toBe('later')
})

test('uses the status of an answer that is too long', async () => {
  const server = await startSink({ kind: 'ok', body: 'x'.repeat(5_000_000) })
  expect(await openFor(server).export([lineOf('one')], never)).toEqual({ lost: 0 })
})

test('counts spans that cannot be serialised as lost, and throws nothing', async () => {
  const server = await startSink()
  const sink = openFor(server)
  expect(await sink.export([new SpanLine([{} as ReadableSpan])], never)).toEqual({
    lost: 1,
    failure: { kind: 'internal', reason: 'they cannot be serialised' },
  })
  expect(await sink.export([lineOf('one')], never)).toEqual({ lost: 0 })
})

test('times out at once with a timeout of zero', async () => {
  const server = await startSink({ kind: 'hanging' })
  expect(await openFor(server, { timeoutMillis: 0 }).export([lineOf('one')], never)).toEqual({
    lost: 1,
    failure: { kind: 'timeout', afterMillis: 0 },
  })
})

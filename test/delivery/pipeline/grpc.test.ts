import { describe, expect, test } from 'vitest'
import { planBackend } from '../../../src/delivery/pipeline/backend-plan.ts'
import { afterwards } from '../../support/afterwards.ts'
import { type GrpcBehaviour, GrpcSink } from '../../support/grpc-sink.ts'
import { CLIENT_FIELDS, mutualTls } from '../../support/tls/files.ts'
import {
  backend as anyBackend,
  countPoint,
  DEAD_URL,
  Lines,
  openPipeline,
  recordSpans,
  scratchDirectory,
  startSink,
} from './pipeline-fixture.ts'

const CODE = {
  invalidArgument: 3,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const
const PARTIAL_SUCCESS = '\x0a\x06\x08\x02\x12\x02no'
/** Longer than the first pause of our own. */
const PAUSE_MILLIS = 700
/** A flush waits as long for a server that never answers. */
const SHORT_MILLIS = 150

const backend: typeof anyBackend = (type, endpoint, more) => anyBackend(type, endpoint, { protocol: 'grpc', ...more })

async function startGrpcSink(behaviour: GrpcSink['behaviour'] = { kind: 'ok' }): Promise<GrpcSink> {
  const sink = await GrpcSink.start()
  sink.behaviour = behaviour
  afterwards(() => sink.stop())
  return sink
}

/** Each behaviour for one call, the last one for all further ones. */
function oneByOne(...behaviours: [GrpcBehaviour, ...GrpcBehaviour[]]): () => GrpcBehaviour {
  return () => (behaviours.length > 1 && behaviours.shift()) || behaviours[0]
}

function status(code: number, more: { message?: string; details?: Buffer } = {}): GrpcBehaviour {
  return { kind: 'status', code, ...more }
}

/** `google.rpc.Status` with a `RetryInfo` behind another detail. */
function retryInfo(millis: number): Buffer {
  const field = (number: number, ...content: number[]): number[] => [number * 8 + 2, content.length, ...content]
  const any = (type: string, ...value: number[]): number[] =>
    field(3, ...field(1, ...Buffer.from(`type.googleapis.com/google.rpc.${type}`)), ...field(2, ...value))
  const nanos: number[] = []
  for (let rest = millis * 1_000_000; rest > 0; rest = Math.floor(rest / 128)) nanos.push((rest % 128) + 128)
  const duration = [0x10, ...nanos, 0]
  return Buffer.from([
    8,
    14,
    ...field(2, 0x6e),
    ...any('ErrorInfo', ...field(1, 0x78)),
    ...any('RetryInfo', ...field(1, ...duration)),
  ])
}

function grpcPipeline(sink: GrpcSink, fields: object = {}, settings: object = {}) {
  const lines = new Lines()
  const pipeline = openPipeline({ backends: [backend('otlp', sink.url, fields)], ...settings }, lines)
  return { pipeline, lines }
}

test('takes its headers from a command, which runs again if they are refused', async () => {
  const sink = await startGrpcSink(oneByOne(status(CODE.unauthenticated), { kind: 'ok' }))
  const headers_command = [process.execPath, '-e', 'console.log(crypto.randomUUID())']
  const { pipeline, lines } = grpcPipeline(sink, { headers_command, metrics: false })
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  const tokens = sink.calls.map(({ headers }) => headers.authorization)
  expect(tokens).toEqual([expect.stringMatching(/^Bearer [\w-]{36}$/), expect.stringMatching(/^Bearer [\w-]{36}$/)])
  expect(new Set(tokens).size).toBe(2)
  expect(sink.spanNames).toEqual(['one', 'one'])
  expect(lines.said).toEqual([])
})

test('delivers spans and metrics to their services, over one connection each', async () => {
  const sink = await startGrpcSink()
  const { pipeline, lines } = grpcPipeline(sink, { headers: { 'x-key': 'k', te: 'gzip' } })
  recordSpans(pipeline, 'one', 'two')
  countPoint(pipeline, 'points')
  await pipeline.flush()
  recordSpans(pipeline, 'three')
  await pipeline.flush()
  expect(sink.spanNames).toEqual(['one', 'two', 'three'])
  const metrics = sink.calls.filter(({ path }) => path.includes('.metrics.'))
  expect(metrics[0]?.records).toMatchObject([{ name: 'points' }])
  expect(new Set(sink.calls.map(({ path }) => path))).toEqual(
    new Set([
      '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
      '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
    ]),
  )
  expect(sink.calls[0]?.headers).toMatchObject({
    ':method': 'POST',
    'content-type': 'application/grpc',
    te: 'trailers',
    'user-agent': 'hookspan/1.2.3',
    'x-key': 'k',
    'grpc-timeout': expect.stringMatching(/^\d{1,8}m$/),
  })
  expect(sink.connections).toBe(2)
  expect(lines.said).toEqual([])
  expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 3, dropped: 0, queued: 0 })
})

test('compresses messages if configured', async () => {
  const sink = await startGrpcSink()
  const { pipeline } = grpcPipeline(sink, { compression: 'gzip' })
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  expect(sink.calls[0]?.headers['grpc-encoding']).toBe('gzip')
  expect(sink.spanNames).toEqual(['one'])
})

test('sends log events as protobuf', async () => {
  const sink = await startGrpcSink()
  const { pipeline, lines } = grpcPipeline(sink, { logs: true, traces: false, metrics: false })
  const span = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 }
  const attributes = { count: 7, list: ['x', 'y'] }
  pipeline.log?.({ name: 'turn.failed', severity: 'ERROR', at: 1_700_000_000_123, span, attributes })
  pipeline.log?.({ body: 'a line', severity: 'INFO', at: 1_700_000_000_124, attributes: {} })
  await pipeline.flush()
  const [call, ...others] = sink.calls
  expect(others).toEqual([])
  expect(call?.path).toBe('/opentelemetry.proto.collector.logs.v1.LogsService/Export')
  expect(call?.records).toHaveLength(2)
  const text = call?.message.toString('latin1') ?? ''
  for (const part of ['test-agent', 'hookspan', 'turn.failed', 'ERROR', 'count', 'a line', 'INFO'])
    expect(text).toContain(part)
  for (const part of [Buffer.alloc(16, 0xaa), Buffer.alloc(8, 0xbb), nanos('1700000000123000000')])
    expect(call?.message.includes(part)).toBe(true)
  expect(lines.said).toEqual([])
  expect(pipeline.stats().backends[0]).toMatchObject({ logs: { delivered: 2, dropped: 0 } })
})

test('sends a log event with an attribute that has the name of the prototype', async () => {
  const sink = await startGrpcSink()
  const { pipeline } = grpcPipeline(sink, { logs: true, traces: false, metrics: false })
  const attributes = Object.fromEntries([['__proto__', 'kept']])
  pipeline.log?.({ body: 'a line', severity: 'INFO', at: 1_700_000_000_124, attributes })
  await pipeline.flush()
  expect(pipeline.stats().backends[0]).toMatchObject({ logs: { delivered: 1, dropped: 0 } })
  for (const part of ['__proto__', 'kept']) expect(sink.calls[0]?.message.toString('latin1')).toContain(part)
})

function nanos(text: string): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(text))
  return bytes
}

describe('a server in trouble', () => {
  test('gets the spans again after UNAVAILABLE, within one delivery', async () => {
    const sink = await startGrpcSink(oneByOne(status(CODE.unavailable, { details: retryInfo(1) }), { kind: 'ok' }))
    const { pipeline, lines } = grpcPipeline(sink)
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(sink.spanNames).toEqual(['one', 'one'])
    expect(lines.said).toEqual([])
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 1, dropped: 0 })
  })

  test('gets the spans again after the pause that RESOURCE_EXHAUSTED requests', async () => {
    const pause = retryInfo(PAUSE_MILLIS)
    const sink = await startGrpcSink(oneByOne(status(CODE.resourceExhausted, { details: pause }), { kind: 'ok' }))
    const { pipeline, lines } = grpcPipeline(sink)
    recordSpans(pipeline, 'one')
    const startedAt = performance.now()
    await pipeline.flush()
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(PAUSE_MILLIS)
    expect(sink.spanNames).toEqual(['one', 'one'])
    expect(lines.said).toEqual([])
  })

  test('is not asked again at once after RESOURCE_EXHAUSTED without a pause', async () => {
    const sink = await startGrpcSink(status(CODE.resourceExhausted))
    const { pipeline, lines } = grpcPipeline(sink)
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(sink.calls).toHaveLength(1)
    expect(lines.said).toEqual([
      expect.stringMatching(/:\d+\/ answered RESOURCE_EXHAUSTED: its rate limit or quota is reached/),
    ])
  })

  test('gets the spans in smaller messages if one is larger than it accepts', async () => {
    const tooLarge = status(CODE.resourceExhausted, { message: 'grpc: received message larger than max (9 vs. 4)' })
    const sink = await startGrpcSink(({ records }) => (records.length > 1 ? tooLarge : { kind: 'ok' }))
    const { pipeline, lines } = grpcPipeline(sink)
    recordSpans(pipeline, 'one', 'two')
    await pipeline.flush()
    expect(sink.calls.map(({ records }) => records.length)).toEqual([2, 1, 1])
    expect(lines.said).toEqual([])
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 2, dropped: 0 })
  })

  test('keeps what it rejects of a message from counting as delivered', async () => {
    const sink = await startGrpcSink({ kind: 'ok', message: PARTIAL_SUCCESS })
    const { pipeline, lines } = grpcPipeline(sink)
    recordSpans(pipeline, 'one', 'two', 'three')
    await pipeline.flush()
    expect(lines.said).toEqual([expect.stringContaining('accepted a request but rejected some of its traces')])
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 1, dropped: 2 })
  })

  test.each(['reset', 'dying'] as const)('gets the spans over a new connection: %s', async kind => {
    const sink = await startGrpcSink(oneByOne({ kind }, { kind: 'ok' }))
    const { pipeline, lines } = grpcPipeline(sink, { metrics: false })
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(sink.spanNames).toEqual(['one', 'one'])
    expect(sink.connections).toBe(2)
    expect(lines.said).toEqual([])
  })

  test('gets later spans over a new connection after it was restarted', async () => {
    const first = await GrpcSink.start()
    const { pipeline, lines } = grpcPipeline(first)
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    await first.stop()
    const second = await GrpcSink.start(undefined, first.port)
    afterwards(() => second.stop())
    recordSpans(pipeline, 'two')
    await pipeline.flush()
    expect(second.spanNames).toEqual(['two'])
    expect(lines.said).toEqual([])
  })

  test('that does not answer is given up, and the next call uses a new connection', async () => {
    const sink = await startGrpcSink({ kind: 'hanging' })
    const { pipeline, lines } = grpcPipeline(sink, { metrics: false, timeout_ms: SHORT_MILLIS })
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    sink.behaviour = { kind: 'ok' }
    recordSpans(pipeline, 'two')
    await pipeline.flush()
    expect(lines.said[0]).toMatch(/did not answer within 150 ms/)
    expect(sink.spanNames).toEqual(['one', 'two'])
    expect(sink.connections).toBe(2)
  })

  test('gets from the trace log what it could not accept', async () => {
    const sink = await startGrpcSink(status(CODE.permissionDenied))
    const directory = await scratchDirectory()
    const settings = { localLog: { directory, maxBytes: 1 << 28, maxAgeHours: 1_000_000, flushMillis: 5 } }
    const first = grpcPipeline(sink, { metrics: false }, settings)
    recordSpans(first.pipeline, 'one', 'two')
    await first.pipeline.flush()
    await first.pipeline.shutdown()
    expect(first.lines.said).toEqual([
      expect.stringMatching(/answered PERMISSION_DENIED: it refuses the credentials\. Set headers/),
    ])
    sink.calls.length = 0
    sink.behaviour = { kind: 'ok' }
    const second = grpcPipeline(sink, { metrics: false }, settings)
    await second.pipeline.deliverBacklog()
    expect(sink.spanNames).toEqual(['one', 'two'])
  })
})

test.each<[string, GrpcBehaviour, RegExp]>([
  [
    'INVALID_ARGUMENT',
    status(CODE.invalidArgument),
    /INVALID_ARGUMENT: it cannot read the traces\. Try protocol: http/,
  ],
  [
    'UNIMPLEMENTED',
    status(CODE.unimplemented),
    /UNIMPLEMENTED: it takes no traces over gRPC.* Correct endpoint \(usual for otlp: http:\/\/127\.0\.0\.1:4317\/\)/,
  ],
  ['a status that nothing defines', status(77), /answered gRPC status 77: the server failed/],
  ['a proxy', { kind: 'http', status: 502, headers: { 'retry-after': '60' } }, /answered 502: the server failed/],
  ['a web page', { kind: 'http', status: 200, headers: { 'content-type': 'text/html' } }, /answered with a web page/],
  ['no status', { kind: 'http', status: 200 }, /answered UNKNOWN: the server failed/],
])('reports %s in one line', async (_name, behaviour, expected) => {
  const sink = await startGrpcSink(behaviour)
  const { pipeline, lines } = grpcPipeline(sink, { metrics: false })
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  expect(lines.said).toEqual([expect.stringMatching(expected)])
  expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 0, dropped: 1 })
})

test.each([
  [
    'a refused connection',
    async () => DEAD_URL,
    /nothing listens at http:\/\/127\.0\.0\.1:2\/\. Start it.*usual for otlp: http:\/\/127\.0\.0\.1:4317/,
  ],
  [
    'a server of HTTP/1',
    async () => (await startSink()).url,
    /answers, but not in HTTP\/2 \(ERR_HTTP2_ERROR\): 4317 is the port/,
  ],
  [
    'TLS against a server without TLS',
    async () => (await startGrpcSink()).url.replace('http:', 'https:'),
    /does not speak TLS/,
  ],
])('reports %s', async (_name, url, expected) => {
  const lines = new Lines()
  const pipeline = openPipeline({ backends: [backend('otlp', await url(), { metrics: false })] }, lines)
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  expect(lines.said).toEqual([expect.stringMatching(expected)])
})

test('reports an invalid header without its value, and sends nothing', async () => {
  const sink = await startGrpcSink()
  const { pipeline, lines } = grpcPipeline(sink, { metrics: false, headers: { 'x-key': 'top\nsecret' } })
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  expect(lines.said).toEqual([expect.stringMatching(/cannot be sent \(ERR_INVALID_CHAR\): look for line breaks/)])
  expect(lines.said[0]).not.toContain('secret')
  expect(sink.calls).toEqual([])
})

test('sends to a server that requires a certificate', async () => {
  const sink = await GrpcSink.start(mutualTls())
  afterwards(() => sink.stop())
  const { pipeline, lines } = grpcPipeline(sink, CLIENT_FIELDS)
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  expect(sink.spanNames).toEqual(['one'])
  expect(lines.said).toEqual([])
})

describe('the plan of a backend with protocol: grpc', () => {
  test.each(['otlp', 'jaeger', 'tempo', 'signoz', 'lgtm'])('is sent to port 4317 by default: %s', type => {
    const result = planBackend(backend(type, undefined))
    expect(result).toMatchObject({ ok: true, warnings: [], plan: { protocol: 'grpc' } })
    expect(result.ok && result.plan.urls.traces).toBe('http://127.0.0.1:4317/')
  })

  test.each(['http://host:9', 'http://host:9/v1/traces'])('has no path: %s', endpoint => {
    const result = planBackend(backend('otlp', endpoint))
    expect(result.ok && result.plan.urls).toMatchObject({ traces: 'http://host:9/', metrics: 'http://host:9/' })
  })

  test.each([
    ['mlflow', { experiment_id: '0' }, 'mlflow: mlflow has no OTLP over gRPC; protocol: grpc is ignored'],
    ['phoenix', {}, 'phoenix: phoenix takes http/protobuf only; protocol: grpc is ignored'],
    ['file', { path: '/a' }, 'file: file has no OTLP over gRPC; protocol: grpc is ignored'],
  ])('is reported and sent over HTTP if the type has none: %s', (type, options, line) => {
    const result = planBackend(backend(type, undefined, { options }))
    expect(result).toMatchObject({
      ok: true,
      warnings: [`backend ${line}`],
      plan: { protocol: expect.stringMatching(/^http/) },
    })
  })
})

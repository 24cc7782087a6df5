import { describe, expect, test, vi } from 'vitest'
import {
  backend as anyBackend,
  countPoint,
  Lines,
  openPipeline,
  PROTOCOLS,
  recordSpans,
  startSink,
} from './pipeline-fixture.ts'

interface TraceRequest {
  readonly resourceSpans: readonly { readonly resource: { readonly attributes: readonly KeyValue[] } }[]
}

interface KeyValue {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}

const CONTENT_TYPE = { 'http/json': 'application/json', 'http/protobuf': 'application/x-protobuf' } as const

/** An attribute's key. */
const KEY_B = { 'http/json': '"key":"b"', 'http/protobuf': '\x0a\x01b' } as const

/** Two spans of a request rejected. */
const PARTIAL_SUCCESS = {
  'http/json': '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}}',
  'http/protobuf': '\x0a\x06\x08\x02\x12\x02no',
} as const

describe.each(PROTOCOLS)('delivery over %s', protocol => {
  const backend: typeof anyBackend = (type, endpoint, more) => anyBackend(type, endpoint, { protocol, ...more })

  test('delivers spans and metrics', async () => {
    const sink = await startSink()
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url)] })
    recordSpans(pipeline, 'one', 'two', 'three')
    countPoint(pipeline, 'points')
    await pipeline.flush()
    expect(sink.spanNames).toEqual(['one', 'two', 'three'])
    expect(sink.metricNames).toEqual(['points'])
    for (const request of sink.requests) expect(request.headers['content-type']).toBe(CONTENT_TYPE[protocol])
    expect(pipeline.stats().backends).toMatchObject([
      { name: 'otlp', type: 'otlp', delivered: 3, dropped: 0, queued: 0 },
    ])
  })

  test('compresses requests if configured', async () => {
    const sink = await startSink()
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url, { compression: 'gzip' })] })
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(sink.requests[0]?.headers['content-encoding']).toBe('gzip')
    expect(sink.spanNames).toEqual(['one'])
  })

  test('sends configured headers, which override those of the type in any case', async () => {
    const sink = await startSink()
    const own = { 'X-Honeycomb-Team': 'mine', 'x-more': 'too' }
    const pipeline = openPipeline({
      backends: [backend('honeycomb', sink.url, { headers: own, options: { api_key: 'theirs' } })],
    })
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    const headers = sink.requests[0]?.headers ?? {}
    expect(headers).toMatchObject({ 'x-honeycomb-team': 'mine', 'x-more': 'too' })
    expect(headers['user-agent']).toContain('hookspan/1.2.3')
  })

  test('puts a configured user agent first', async () => {
    const sink = await startSink()
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url, { headers: { 'User-Agent': 'mine/1' } })] })
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(sink.requests[0]?.headers['user-agent']).toMatch(/^mine\/1/)
  })

  test('ignores the OTLP environment for configured backends', async () => {
    const [sink, stranger] = [await startSink(), await startSink()]
    const leaking = {
      OTEL_EXPORTER_OTLP_ENDPOINT: stranger.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-stranger-key=secret',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-other-key=secret',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${stranger.url}/v1/traces`,
      OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_TIMEOUT: '1',
      OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere/ca.pem',
      OTEL_TRACES_SAMPLER: 'always_off',
      OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '1',
    }
    Object.assign(process.env, leaking)
    try {
      const pipeline = openPipeline({ backends: [backend('otlp', sink.url)] })
      expect(process.env).toMatchObject(leaking)
      const span = pipeline.tracerProvider.getTracer('test').startSpan('one', { attributes: { a: 1, b: 2 } })
      span.end()
      countPoint(pipeline, 'points')
      await pipeline.flush()
    } finally {
      for (const name of Object.keys(leaking)) delete process.env[name]
    }
    expect(stranger.requests).toEqual([])
    expect(sink.requests).toHaveLength(2)
    for (const { headers } of sink.requests) {
      expect(headers).not.toHaveProperty('x-stranger-key')
      expect(headers).not.toHaveProperty('x-other-key')
      expect(headers).not.toHaveProperty('content-encoding')
    }
    const traces = sink.requests.find(request => request.path === '/v1/traces')
    expect(traces?.body.toString('latin1')).toContain(KEY_B[protocol])
  })

  test('sends the key of one backend to no other', async () => {
    const [mine, other] = [await startSink(), await startSink()]
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-key=of-the-environment')
    const pipeline = openPipeline({
      backends: [
        backend('otlp', mine.url, { headers: { 'x-key': 'mine' } }),
        { ...backend('otlp', other.url), name: 'other' },
      ],
    })
    recordSpans(pipeline, 'one')
    countPoint(pipeline, 'points')
    await pipeline.flush()
    vi.unstubAllEnvs()
    expect(mine.requests.map(request => request.headers['x-key'])).toEqual(['mine', 'mine'])
    expect(other.requests.map(request => request.headers['x-key'])).toEqual([undefined, undefined])
  })

  test('delivers spans recorded during a batch with the same flush', async () => {
    const sink = await startSink({ kind: 'slow', millis: 30 })
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url)] })
    recordSpans(pipeline, 'first')
    const first = pipeline.flush()
    await sink.until(() => sink.requests.length === 1)
    recordSpans(pipeline, 'second')
    await pipeline.flush()
    expect(sink.spanNames).toEqual(['first', 'second'])
    await first
  })

  test('waits for the batch in flight in a flush', async () => {
    const sink = await startSink({ kind: 'slow', millis: 50 })
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url)], batch: oneByOne })
    recordSpans(pipeline, 'one')
    await sink.until(() => sink.requests.length === 1)
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 0, queued: 1 })
    await pipeline.flush()
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 1, queued: 0 })
  })

  test('sends batches one after the other, in order and within the limit', async () => {
    const sink = await startSink()
    const batch = { maxQueueSize: 2048, scheduleDelayMillis: 1000, maxExportBatchSize: 10, exportTimeoutMillis: 10_000 }
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url)], batch })
    const names = Array.from({ length: 95 }, (_, index) => `span ${index}`)
    recordSpans(pipeline, ...names)
    await pipeline.flush()
    expect(sink.spanNames).toEqual(names)
    expect(sink.requests.map(request => request.records.length)).toEqual([...Array(9).fill(10), 5])
  })

  test('sends spans after the delay without a flush', async () => {
    const sink = await startSink()
    const batch = { maxQueueSize: 2048, scheduleDelayMillis: 5, maxExportBatchSize: 128, exportTimeoutMillis: 10_000 }
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url)], batch })
    recordSpans(pipeline, 'one', 'two')
    await sink.until(() => sink.spanNames.length === 2)
    expect(sink.requests).toHaveLength(1)
  })

  test('applies the timeout of each backend', async () => {
    const sink = await startSink({ kind: 'slow', millis: 100 })
    const batch = { maxQueueSize: 2048, scheduleDelayMillis: 5, maxExportBatchSize: 128, exportTimeoutMillis: 20 }
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url, { timeout_ms: 60_000 })], batch })
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 1, dropped: 0 })
  })

  test('does not send unsampled spans', async () => {
    const sink = await startSink()
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url)], sampleRate: 0 })
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(sink.requests).toEqual([])
  })

  test('counts rejected spans as dropped and warns once', async () => {
    const sink = await startSink({ kind: 'ok', body: PARTIAL_SUCCESS[protocol] })
    const lines = new Lines()
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url)] }, lines)
    recordSpans(pipeline, 'one', 'two', 'three')
    await pipeline.flush()
    recordSpans(pipeline, 'four', 'five', 'six')
    await pipeline.flush()
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 2, dropped: 4 })
    expect(lines.said).toEqual([expect.stringContaining('rejected some of its traces')])
  })

  test('delivers on shutdown, counts later spans as dropped, and is idempotent', async () => {
    const sink = await startSink()
    const lines = new Lines()
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url)], flushWaitMillis: 5000 }, lines)
    recordSpans(pipeline, 'one')
    countPoint(pipeline, 'points')
    await Promise.all([pipeline.shutdown(), pipeline.shutdown()])
    recordSpans(pipeline, 'late')
    await pipeline.flush()
    await pipeline.shutdown()
    expect(sink.spanNames).toEqual(['one'])
    expect(sink.metricNames).toEqual(['points'])
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 1, dropped: 1, queued: 0 })
    expect(lines.said).toEqual([
      'backend otlp: 1 span was lost, because the process ended before they were sent; ' +
        'local_log: true keeps them for later, a longer force_flush_wait_ms sends more',
    ])
  })
})

test('describes the process in the resource', async () => {
  const sink = await startSink()
  const pipeline = openPipeline({
    backends: [anyBackend('otlp', sink.url, { protocol: 'http/json' })],
    projectName: 'my project',
    resourceAttributes: { team: 'a' },
  })
  recordSpans(pipeline, 'one')
  await pipeline.flush()
  const request = sink.requests[0]?.json as TraceRequest
  const attributes = new Map(request.resourceSpans[0]?.resource.attributes.map(({ key, value }) => [key, value]))
  expect(attributes.get('service.name')).toEqual({ stringValue: 'test-agent' })
  expect(attributes.get('openinference.project.name')).toEqual({ stringValue: 'my project' })
  expect(attributes.get('team')).toEqual({ stringValue: 'a' })
  expect(attributes.get('telemetry.distro.name')).toEqual({ stringValue: 'hookspan' })
  expect(attributes.get('telemetry.sdk.name')).toEqual({ stringValue: 'opentelemetry' })
  expect(attributes.get('service.instance.id')?.stringValue).toMatch(/^[0-9a-f-]{36}$/)
  expect(attributes.get('process.pid')).toEqual({ intValue: process.pid })
})

test('sends delta or cumulative metrics as configured', async () => {
  const [delta, cumulative] = [await startSink(), await startSink()]
  const pipeline = openPipeline({
    backends: [
      anyBackend('signoz', delta.url, { protocol: 'http/json' }),
      anyBackend('otlp', cumulative.url, { protocol: 'http/json' }),
    ],
  })
  countPoint(pipeline, 'points')
  await pipeline.flush()
  expect(delta.requests[0]?.body.toString()).toContain('"aggregationTemporality":1')
  expect(cumulative.requests[0]?.body.toString()).toContain('"aggregationTemporality":2')
})

const oneByOne = { maxQueueSize: 2048, scheduleDelayMillis: 1000, maxExportBatchSize: 1, exportTimeoutMillis: 10_000 }

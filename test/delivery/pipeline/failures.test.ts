import { createServer, type Server } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { afterwards } from '../../support/afterwards.ts'
import type { SinkBehaviour } from '../../support/otlp-sink.ts'
import { until } from '../../support/until.ts'
import {
  backend as anyBackend,
  countPoint,
  DEAD_URL,
  Lines,
  openPipeline,
  PROTOCOLS,
  QUICKLY,
  recordSpans,
  startSink,
} from './pipeline-fixture.ts'

const status = (code: number, headers?: Record<string, string>): SinkBehaviour => ({
  kind: 'status',
  status: code,
  ...(headers ? { headers } : {}),
  body: 'not for the person to read: key-that-is-secret',
})

/** Fails fast: the server asks for no retry within the timeout. */
const busy = { 'retry-after': '60' }

type Case = readonly [string, SinkBehaviour, RegExp]

const cases = (protocol: string, other: string): readonly Case[] => [
  ['400', status(400), new RegExp(`answered 400: it cannot read the traces\\. Try protocol: ${other}`)],
  ['401', status(401), /answered 401: it refuses the credentials\. Set headers/],
  ['403', status(403), /answered 403: it refuses the credentials\. Set headers/],
  ['404', status(404), /answered 404: there is no OTLP endpoint for traces\. .*ends in \/v1\/traces; correct endpoint/],
  ['405', status(405), /answered 405: there is no OTLP endpoint for traces/],
  ['413', status(413), /answered 413: the request is too large\. Lower span_batch_max_export_batch_size/],
  ['415', status(415), new RegExp(`answered 415: it does not take ${protocol}\\. Set protocol: ${other}`)],
  ['429', status(429, busy), /answered 429: its rate limit or quota is reached/],
  ['503', status(503, busy), /answered 503: the server failed/],
  [
    'a redirect',
    status(302, { location: 'https://user:pw@example.test/in?key=x' }),
    /answered 302: it redirects to https:\/\/example\.test\/in\. Set endpoint/,
  ],
  ['a web page', { kind: 'ok', contentType: 'text/html', body: '<html>' }, /answered with a web page/],
  ['a reset', { kind: 'reset' }, /closed the connection without an answer.*\(ECONNRESET\)/],
  ['no answer', { kind: 'hanging' }, /did not answer within \d+ ms/],
]

/** For a server that says nothing. One that answers is waited for, however busy this machine is. */
const SHORT_MILLIS = 150
const LONG_MILLIS = 10_000

describe.each(PROTOCOLS)('over %s, a backend that rejects data', protocol => {
  const [other = protocol] = PROTOCOLS.filter(one => one !== protocol)

  const backend: typeof anyBackend = (type, endpoint, more) => anyBackend(type, endpoint, { protocol, ...more })

  test.each(cases(protocol, other))(
    'reports %s in one line and counts the spans',
    async (_name, behaviour, expected) => {
      const sink = await startSink(behaviour)
      const lines = new Lines()
      const secret = { 'x-key': 'key-that-is-secret' }
      const endpoint = sink.url.replace('http://', 'http://user:password-that-is-secret@')
      const timeout_ms = behaviour.kind === 'hanging' ? SHORT_MILLIS : LONG_MILLIS
      const pipeline = openPipeline({ backends: [backend('otlp', endpoint, { headers: secret, timeout_ms })] }, lines)
      recordSpans(pipeline, 'one')
      await pipeline.flush()
      recordSpans(pipeline, 'two', 'three')
      await pipeline.flush()
      expect(lines.said).toEqual([expect.stringMatching(expected)])
      expect(lines.said[0]).toMatch(/^backend otlp: /)
      expect(pipeline.stats().backends[0]).toMatchObject({
        delivered: 0,
        dropped: 3,
        queued: 0,
        lastError: lines.said[0],
      })
      expect([...lines.said, ...lines.details].join()).not.toContain('secret')
    },
  )

  test('reports a dead port once for traces and metrics', async () => {
    const lines = new Lines()
    const pipeline = openPipeline({ backends: [backend('otlp', DEAD_URL)] }, lines)
    recordSpans(pipeline, 'one')
    countPoint(pipeline, 'points')
    await pipeline.flush()
    await pipeline.flush()
    expect(lines.said).toEqual([
      expect.stringMatching(/nothing listens at http:\/\/127\.0\.0\.1:\d+\/v1\/\w+\. Start it/),
    ])
    expect(lines.said[0]).toContain('usual for otlp: http://127.0.0.1:4318')
  })

  test('reports TLS against a server without TLS', async () => {
    const sink = await startSink()
    const lines = new Lines()
    const pipeline = openPipeline({ backends: [backend('jaeger', sink.url.replace('http:', 'https:'))] }, lines)
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(lines.said).toEqual([expect.stringMatching(/does not speak TLS\. Set endpoint to the http:\/\/ URL/)])
  })

  test('reports a server that does not speak HTTP, with the right port', async () => {
    const lines = new Lines()
    const server = await startRawServer('\0\0\x06\x04\0\0\0\0\0')
    const pipeline = openPipeline({ backends: [backend('otlp', urlOf(server))] }, lines)
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    server.close()
    expect(lines.said).toEqual([expect.stringMatching(/not in HTTP \(HPE_\w+\): 4317 is the port of OTLP\/gRPC/)])
  })

  test('names the keys of the type if credentials are refused', async () => {
    const sink = await startSink(status(401))
    const lines = new Lines()
    const options = { public_key: 'pk', secret_key: 'sk' }
    const pipeline = openPipeline({ backends: [backend('langfuse', sink.url, { options })] }, lines)
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(lines.said).toEqual([
      expect.stringContaining('Set public_key and secret_key (or public_key_env and secret_key_env)'),
    ])
  })

  test('advises how to switch off metrics that the backend refuses', async () => {
    const sink = await startSink(status(404))
    const lines = new Lines()
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url, { traces: false })] }, lines)
    countPoint(pipeline, 'points')
    await pipeline.flush()
    expect(lines.said).toEqual([expect.stringContaining('metrics: false if it takes traces and no metrics')])
  })

  test('reports an invalid header without its value', async () => {
    const sink = await startSink()
    const lines = new Lines()
    const headers = { 'x-key': 'top\nsecret' }
    const pipeline = openPipeline({ backends: [backend('jaeger', sink.url, { headers })] }, lines)
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(lines.said).toEqual([expect.stringMatching(/cannot be sent \(ERR_INVALID_CHAR\): look for line breaks/)])
    expect(lines.said[0]).not.toContain('secret')
  })

  test('accepts a key that ends in a line break', async () => {
    const sink = await startSink()
    const pipeline = openPipeline({ backends: [backend('jaeger', sink.url, { headers: { 'x-key': 'abc\n' } })] })
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(sink.requests[0]?.headers['x-key']).toBe('abc')
  })

  test('retries a busy server', async () => {
    const sink = await startSink(status(503, { 'retry-after': '0' }))
    const lines = new Lines()
    const pipeline = openPipeline({ backends: [backend('jaeger', sink.url)] }, lines)
    recordSpans(pipeline, 'one')
    const flushed = pipeline.flush()
    await sink.until(() => sink.requests.length >= 3)
    sink.behaviour = { kind: 'ok' }
    await flushed
    expect(lines.said).toEqual([])
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 1, dropped: 0 })
  })

  test('reopens a connection that the server closed while idle', async () => {
    const sink = await startSink({ kind: 'reset' })
    const lines = new Lines()
    const pipeline = openPipeline({ backends: [backend('jaeger', sink.url)] }, lines)
    recordSpans(pipeline, 'one')
    const flushed = pipeline.flush()
    await sink.until(() => sink.requests.length === 1)
    sink.behaviour = { kind: 'ok' }
    await flushed
    expect(lines.said).toEqual([])
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 1, dropped: 0 })
  })

  test('reports the recovery once, with the losses', async () => {
    const sink = await startSink(status(403))
    const lines = new Lines()
    const pipeline = openPipeline({ backends: [backend('jaeger', sink.url)] }, lines)
    recordSpans(pipeline, 'one', 'two')
    await pipeline.flush()
    sink.behaviour = { kind: 'ok' }
    for (const name of ['three', 'four']) {
      recordSpans(pipeline, name)
      await pipeline.flush()
    }
    expect(lines.said.slice(1)).toEqual(['backend jaeger: traces arrive again; 2 spans were lost'])
  })

  test('does not repeat reports of a flapping backend', async () => {
    const sink = await startSink()
    const lines = new Lines()
    const pipeline = openPipeline({ backends: [backend('jaeger', sink.url)] }, lines)
    for (let round = 0; round < 10; round++) {
      sink.behaviour = round % 2 === 0 ? status(500) : { kind: 'ok' }
      recordSpans(pipeline, 'one')
      await pipeline.flush()
    }
    expect(lines.said).toHaveLength(2)
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 5, dropped: 5 })
  })

  test('drops, counts and reports spans that shutdown cannot deliver in time', async () => {
    const sink = await startSink({ kind: 'hanging' })
    const lines = new Lines()
    const batch = { maxQueueSize: 2048, scheduleDelayMillis: 1000, maxExportBatchSize: 2, exportTimeoutMillis: 10_000 }
    const pipeline = openPipeline({ backends: [backend('otlp', sink.url)], batch, flushWaitMillis: QUICKLY }, lines)
    recordSpans(pipeline, 'one', 'two', 'three')
    countPoint(pipeline, 'points')
    await pipeline.shutdown()
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 0, dropped: 3, queued: 0 })
    expect(lines.said).toContain(
      'backend otlp: 3 spans were lost, because the process ended before they were sent; ' +
        'local_log: true keeps them for later, a longer force_flush_wait_ms sends more',
    )
  })

  test('does not wait again in shutdown for data that a flush waited for', async () => {
    const [hanging, slow] = [await startSink({ kind: 'hanging' }), await startSink()]
    const lines = new Lines()
    const happened: string[] = []
    lines.warn = () => happened.push('the hanging one is given up')
    const backends = [backend('otlp', hanging.url), backend('jaeger', slow.url)]
    const pipeline = openPipeline({ backends, flushWaitMillis: LONG_MILLIS }, lines)
    recordSpans(pipeline, 'one')
    const flushed = pipeline.flush()
    await hanging.until(() => hanging.spanNames.length > 0)
    await until(() => pipeline.stats().backends[1]?.delivered === 1)
    const { now } = performance
    const later = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + LONG_MILLIS)
    afterwards(() => later.mockRestore())
    slow.behaviour = { kind: 'slow', millis: 100 }
    recordSpans(pipeline, 'two')
    const closed = pipeline.shutdown()
    await until(() => pipeline.stats().backends[1]?.delivered === 2)
    happened.push('the slow one has everything')
    await Promise.all([closed, flushed])
    expect(happened).toEqual(['the hanging one is given up', 'the slow one has everything'])
    expect(pipeline.stats().backends).toMatchObject([
      { delivered: 0, dropped: 2 },
      { delivered: 2, dropped: 0 },
    ])
  })

  test("reports the server's answer if shutdown ends between two attempts", async () => {
    const sink = await startSink(status(503))
    const lines = new Lines()
    const pipeline = openPipeline({ backends: [backend('jaeger', sink.url)], flushWaitMillis: 5 * QUICKLY }, lines)
    recordSpans(pipeline, 'one')
    await pipeline.shutdown()
    expect(lines.said).toEqual([
      expect.stringContaining('answered 503'),
      expect.stringContaining('1 span was lost, because the process ended before they were sent'),
    ])
  })
})

function startRawServer(greeting: string): Promise<Server> {
  const server = createServer(socket => {
    socket.on('error', () => socket.destroy())
    socket.end(greeting)
  })
  return new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server)))
}

function urlOf(server: Server): string {
  const address = server.address()
  return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
}

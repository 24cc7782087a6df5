import { request } from 'node:http'
import { SpanStatusCode } from '@opentelemetry/api'
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, expect, test, vi } from 'vitest'
import { type ChaosBehaviour, ChaosSink, chaosSchedule } from '../support/chaos-sink.mjs'
import { ChaosSinkProcess } from '../support/chaos-sink-process.mjs'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function sinkThat(behaviour?: ChaosBehaviour): Promise<ChaosSink> {
  const sink = await ChaosSink.start(behaviour)
  cleanups.push(() => sink.stop())
  return sink
}

const SERIALIZERS = { 'application/json': JsonTraceSerializer, 'application/x-protobuf': ProtobufTraceSerializer }
type ContentType = keyof typeof SERIALIZERS
const CONTENT_TYPES = Object.keys(SERIALIZERS) as ContentType[]

/** Spans with these names, the second one below the first, and so on. */
function requestOf(names: readonly string[], contentType: ContentType = 'application/json'): Uint8Array {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'probe' }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  })
  for (const name of names) {
    const span = provider.getTracer('probe').startSpan(name, { startTime: 1_795_256_100_123 })
    span.setAttributes({ text: 'ü', whole: -42, large: 2 ** 40, part: 0.5, yes: true, list: ['a', 'b'] })
    span.addEvent('exception', { 'exception.type': 'Error' }, 1_795_256_100_200)
    span.setStatus({ code: SpanStatusCode.ERROR, message: 'broke' })
    span.end(1_795_256_100_456)
  }
  return SERIALIZERS[contentType].serializeRequest(exporter.getFinishedSpans()) ?? new Uint8Array()
}

/** The status, or the code of the error where there is none. */
function post(url: string, body: Uint8Array, headers: Record<string, string> = {}): Promise<number | string> {
  return new Promise(resolve => {
    const sent = request(`${url}/v1/traces`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', ...headers },
    })
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'))
    sent.on('response', response => resolve(response.resume().statusCode ?? 0))
    sent.end(body)
  })
}

test.each(CONTENT_TYPES)('reads spans in %s whole', async contentType => {
  const sink = await sinkThat()
  expect(await post(sink.url, requestOf(['one'], contentType), { 'content-type': contentType })).toBe(200)
  expect(sink.accepted).toEqual([
    {
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      parentSpanId: undefined,
      name: 'one',
      kind: 1,
      flags: expect.any(Number),
      status: { code: 2, message: 'broke' },
      startTimeUnixNano: '1795256100123000000',
      endTimeUnixNano: '1795256100456000000',
      attributes: { text: 'ü', whole: -42, large: 2 ** 40, part: 0.5, yes: true, list: ['a', 'b'] },
      events: [{ name: 'exception', timeUnixNano: '1795256100200000000', attributes: { 'exception.type': 'Error' } }],
      links: [],
      resource: { 'service.name': 'probe' },
      scope: 'probe',
      request: 0,
      acceptedAt: expect.any(Number),
    },
  ])
  expect(sink.accepted[0]?.flags).toBeGreaterThan(0)
})

const REFUSALS: [string, ChaosBehaviour, number | string][] = [
  ['status', { kind: 'status', status: 503 }, 503],
  ['reset before', { kind: 'reset', when: 'before' }, 'ECONNRESET'],
  ['reset after', { kind: 'reset', when: 'after' }, 'ECONNRESET'],
  ['down', { kind: 'down' }, 'ECONNREFUSED'],
  ['poison', { kind: 'poison', name: 'two' }, 400],
  ['limit', { kind: 'limit', bytes: 100 }, 413],
  ['token', { kind: 'token', header: 'authorization', value: 'Bearer right' }, 401],
  ['path', { kind: 'path', path: '/elsewhere' }, 404],
  ['protobuf only', { kind: 'protobuf only' }, 415],
  ['slow', { kind: 'slow', millis: 1, answer: { kind: 'status', status: 429 } }, 429],
]

test.each(REFUSALS)('accepts nothing until it recovers from %s', async (_what, behaviour, answer) => {
  const sink = await sinkThat(behaviour)
  const body = requestOf(['one', 'two'])
  expect(await post(sink.url, body)).toBe(answer)
  expect(sink.accepted).toEqual([])
  const { url } = sink
  sink.behaviour = { kind: 'ok' }
  await sink.comeBack()
  expect(sink.url).toBe(url)
  expect(await post(url, body)).toBe(200)
  expect([...sink.deliveries.values()]).toEqual([1, 1])
})

test('keeps the port of a server that is down', async () => {
  const sameEachTime = vi.spyOn(Math, 'random').mockReturnValueOnce(0.5).mockReturnValueOnce(0.5)
  const [one, other] = [await sinkThat({ kind: 'down' }), await sinkThat()]
  sameEachTime.mockRestore()
  expect(other.url).not.toBe(one.url)
  await one.comeBack()
  expect(await post(one.url, requestOf(['one']))).toBe(200)
  expect(other.accepted).toEqual([])
})

test.each(CONTENT_TYPES)('sends a partial success in %s', async contentType => {
  const sink = await sinkThat({ kind: 'partial', rejected: 1 })
  await post(sink.url, requestOf(['one', 'two', 'three'], contentType), { 'content-type': contentType })
  expect(sink.accepted.map(({ name }) => name)).toEqual(['one', 'two'])
  expect(sink.requests[0]).toMatchObject({ spans: 3, answer: 200 })
})

test('accepts a valid request', async () => {
  const sink = await sinkThat({ kind: 'token', header: 'authorization', value: 'Bearer right' })
  expect(await post(sink.url, requestOf(['one']), { authorization: 'Bearer right' })).toBe(200)
})

test('records a requested pause to the millisecond', async () => {
  const sink = await sinkThat({
    kind: 'sequence',
    of: [
      { kind: 'status', status: 429, retryAfter: { seconds: 2 } },
      { kind: 'status', status: 429, retryAfter: { dateInMillis: 3000 } },
      { kind: 'ok' },
    ],
  })
  const before = Date.now()
  const answers = []
  for (let index = 0; index < 4; index++) answers.push(await post(sink.url, requestOf(['one'])))
  expect(answers).toEqual([429, 429, 200, 200])
  const [seconds, date] = sink.requests.map(({ retryAt = 0 }) => retryAt - before)
  expect(seconds).toBeGreaterThanOrEqual(2000)
  expect(date).toBeGreaterThan(1999)
  expect(sink.requests[1]?.retryAt).toSatisfy((at: number) => at % 1000 === 0)
  expect([...sink.deliveries.values()].reduce((sum, count) => sum + count)).toBe(2)
})

test('repeats its chance', async () => {
  const mix = [
    { share: 1, behaviour: { kind: 'ok' } },
    { share: 2, behaviour: { kind: 'status', status: 503 } },
  ] as const
  const answers = async (seed: number): Promise<unknown[]> => {
    const sink = await sinkThat({ kind: 'flapping', seed, mix })
    for (let index = 0; index < 12; index++) await post(sink.url, requestOf(['one']))
    return sink.requests.map(({ answer }) => answer)
  }
  const once = await answers(3)
  expect(await answers(3)).toEqual(once)
  expect(new Set(once)).toEqual(new Set([200, 503]))
  expect(chaosSchedule(5, 20_000)).toEqual(chaosSchedule(5, 20_000))
  expect(chaosSchedule(5, 20_000).at(-1)?.behaviour).toEqual({ kind: 'ok' })
})

test('reports received data when the wait is over', async () => {
  const sink = await sinkThat({ kind: 'status', status: 503 })
  await post(sink.url, requestOf(['one']))
  const waited = sink.until(() => false, 'a miracle', 20)
  await expect(waited).rejects.toThrow('waited 20 ms for a miracle; 1 requests came, 0 spans were accepted')
})

test('runs in a process of its own', async () => {
  const sink = await ChaosSinkProcess.start({ kind: 'status', status: 503 })
  cleanups.push(() => sink.stop())
  expect(await post(sink.url, requestOf(['one']))).toBe(503)
  await sink.behave({ kind: 'ok' })
  await post(sink.url, requestOf(['one', 'two']))
  await sink.until(({ spans }) => spans === 2)
  expect((await sink.accepted()).map(({ name }) => name)).toEqual(['one', 'two'])
  expect((await sink.accepted(1)).map(({ name }) => name)).toEqual(['two'])
  expect((await sink.requests()).map(({ answer }) => answer)).toEqual([503, 200])
  expect([...(await sink.deliveries()).values()]).toEqual([1, 1])
  await sink.goDown()
  expect(await post(sink.url, requestOf(['one']))).toBe('ECONNREFUSED')
  await sink.comeBack()
  expect(await post(sink.url, requestOf(['one']))).toBe(200)
})

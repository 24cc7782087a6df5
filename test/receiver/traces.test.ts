import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { expect, test } from 'vitest'
import type { ReceiverEndpoint } from '../../src/agents/receiver-endpoints.ts'
import { RECEIVER_ENDPOINTS } from '../../src/agents/receiver-endpoints.ts'
import type { ReceiverLimits } from '../../src/receiver/limits.ts'
import type { ReceiverServer } from '../../src/receiver/receiver.ts'
import { RefusedRequest } from '../../src/receiver/refusal.ts'
import { readTraces } from '../../src/receiver/traces.ts'
import { attributes, chat, exported, invokeAgent, SESSION, START } from '../agents/copilot/telemetry.ts'
import { officialJson, officialProtobuf, simpleSpans, spanWith } from '../delivery/trace-log/any-span.ts'
import fc from '../support/fast-check.ts'
import { blocks, read as readPage } from '../support/pages.ts'
import { times } from '../support/sample.ts'
import { until } from '../support/until.ts'
import { type Asked, ECHO, FakeClock, Scene } from './scene.ts'

const JSON_TYPE = 'application/json'
const PROTOBUF_TYPE = 'application/x-protobuf'
const PATH = '/v1/traces'
const EXPORT = JSON.stringify(exported([chat({ id: 'a', from: 10, to: 20 })]))

/** Each span is an event. */
const TRACES: ReceiverEndpoint = {
  host: 'agent',
  services: ['github-copilot', 'one', 'two', 'test'],
  adapter: { events: ({ body, at }) => [{ event: 'span', at, data: body }] },
}

async function listening(limits: Partial<ReceiverLimits> = {}): Promise<{ scene: Scene; receiver: ReceiverServer }> {
  const scene = new Scene()
  return { scene, receiver: await scene.start({ endpoints: { [PATH]: TRACES, '/echo': ECHO }, limits }) }
}

function of(type: string, body: string | Uint8Array, headers: Record<string, string> = {}): Asked {
  return { body, headers: { 'content-type': type, ...headers } }
}

/** Of what a request carries: bytes that OpenTelemetry wrote, or that nobody would. */
function read(type: string, bytes: Uint8Array, mostValues = 1e6): unknown {
  return readTraces(Buffer.from(bytes), type, TRACES.services ?? [], mostValues)
}

function field(number: number, ...content: readonly (string | Uint8Array)[]): Buffer {
  const bytes = Buffer.concat(content.map(each => Buffer.from(each)))
  const length: number[] = []
  for (let left = bytes.length; ; left = Math.floor(left / 128)) {
    length.push((left % 128) + (left >= 128 ? 128 : 0))
    if (left < 128) break
  }
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes])
}

test.each<[string, string, string | Uint8Array, Record<string, string>, string]>([
  ['JSON', JSON_TYPE, EXPORT, {}, '{}'],
  ['JSON, packed', 'application/json; charset=utf-8', gzipSync(EXPORT), { 'content-encoding': 'gzip' }, '{}'],
  ['protobuf', PROTOBUF_TYPE, Buffer.from(officialProtobuf([spanWith()]), 'hex'), {}, ''],
])('accepts %s, and answers as exporters expect', async (_, type, body, headers, text) => {
  const { scene, receiver } = await listening()
  const answer = await scene.ask(receiver, PATH, of(type, body, headers))
  expect(answer).toMatchObject({ status: 200, text, headers: { 'content-type': type.split(';')[0] } })
  await until(() => scene.recorder.told.length === 1)
  expect(scene.recorder.told[0]).toMatchObject({ host: 'agent', event: { event: 'span' } })
})

test('satisfies the exporter of OpenTelemetry, with the token in a header or in the path', async () => {
  const { scene, receiver } = await listening()
  const url = `http://127.0.0.1:${receiver.address.port}`
  for (const options of [
    { url: url + PATH, headers: { 'x-hookspan-token': scene.token } },
    { url: `${url}/t/${scene.token}${PATH}` },
  ]) {
    const exporter = new OTLPTraceExporter(options)
    const result = await new Promise(resolve => exporter.export([spanWith()], resolve))
    await exporter.shutdown()
    expect(result).toEqual({ code: 0 })
  }
  expect(receiver.counts).toMatchObject({ deliveries: 2, refused: {} })
})

test('receives spans with the lines of the page about Copilot', async () => {
  const { scene, receiver } = await listening()
  const lines = blocks(readPage('docs/agents/copilot.md'), 'sh').find(block => block.startsWith('copilot()'))
  const said = 'echo "$OTEL_EXPORTER_OTLP_ENDPOINT $OTEL_EXPORTER_OTLP_HEADERS $*"'
  writeFileSync(join(scene.home, 'copilot'), `#!/bin/sh\n${said}\n`, { mode: 0o700 })
  const env = { ...scene.env, PATH: `${scene.home}:${process.env['PATH']}` }
  const printed = execFileSync('sh', ['-c', `${lines}\ncopilot -p hello\n${said}`], { env, encoding: 'utf8' })
  const { port } = receiver.address
  expect(printed).toBe(`http://127.0.0.1:${port} x-hookspan-token=${scene.token} -p hello\n  \n`)
})

test('reads the same spans from protobuf and JSON', () => {
  fc.assert(
    fc.property(simpleSpans, spans => {
      const ofJson = read(JSON_TYPE, Buffer.from(officialJson(spans)))
      expect(read(PROTOBUF_TYPE, Buffer.from(officialProtobuf(spans), 'hex'))).toEqual(ofJson)
      expect(ofJson).toMatchObject({ spans: { length: spans.length }, others: 0 })
    }),
    { numRuns: times(100, 2000) },
  )
})

test('keeps times exact, and accepts numbers as text', () => {
  const span = { startTimeUnixNano: '1795410000010250001', endTimeUnixNano: 1_250_000, kind: '3' }
  const { spans } = read(JSON_TYPE, Buffer.from(JSON.stringify(exported([span])))) as { spans: readonly object[] }
  expect(spans).toMatchObject([{ startAt: 1_795_410_000_010.25, endAt: 1.25, kind: 3 }])
})

test('counts refused spans of other services, and reports none', async () => {
  const { scene, receiver } = await listening()
  const span = chat({ id: 'a', from: 10, to: 20 })
  const body = JSON.stringify(exported([span, span, span], 'my-app', 'my-tracer'))
  expect(await scene.ask(receiver, PATH, of(JSON_TYPE, body))).toMatchObject({ status: 200, text: '{}' })
  // Whoever names the service otherwise does not name what makes the spans.
  const named = JSON.stringify(exported([span], 'my-copilot', 'one'))
  await scene.ask(receiver, PATH, of(JSON_TYPE, named))
  await until(() => scene.recorder.told.length === 1)
  expect(receiver.counts).toMatchObject({ deliveries: 1, refused: { service: 3 } })
})

test('combines hooks and spans of Copilot, and ignores spans of agents with files of their own', async () => {
  const scene = new Scene()
  const clock = new FakeClock()
  clock.pass(START + 60_000 - clock.now())
  const receiver = await scene.start({ endpoints: RECEIVER_ENDPOINTS, clock })
  for (const [event, at] of Object.entries({ UserPromptSubmit: START, Stop: START + 1500 })) {
    const body = JSON.stringify({ hook_event_name: event, session_id: SESSION, prompt: 'x' })
    await scene.ask(receiver, '/copilot', { body, headers: { 'x-hookspan-at': String(at) } })
  }
  const spans = [chat({ id: 'a', from: 10, to: 1490 }), invokeAgent({ id: 'b', from: 5, to: 1510 })]
  for (const service of ['github-copilot', 'claude-code', 'codex_cli_rs', 'gemini-cli', 'qwen-code']) {
    const body = JSON.stringify(exported(spans, service, service === 'github-copilot' ? 'x' : service))
    expect(await scene.ask(receiver, PATH, of(JSON_TYPE, body))).toMatchObject({ status: 200 })
  }
  await until(() => scene.recorder.told.length === 5)
  expect(new Set(scene.recorder.told.map(({ host }) => host))).toEqual(new Set(['copilot']))
  expect(scene.recorder.names.toSorted()).toEqual([
    'Stop',
    'UserPromptSubmit',
    'span:read',
    'span:read',
    'span:request',
  ])
  expect(receiver.counts.refused).toEqual({ service: 8 })
})

const OPEN_ENDED = Buffer.alloc(20, 0xff)
const ATTRIBUTE = field(9, field(1, 'k'), field(2, field(1, 'v')))
/** A value in a value in a value …; as deep as that, a list of lists is not read. */
const deep = (): Buffer => {
  let value: Buffer = field(1, 'x')
  for (let depth = 0; depth < 3000; depth++) value = field(5, field(1, value))
  return field(9, field(1, 'k'), field(2, value))
}
const ofSpan = (...content: readonly Buffer[]): Buffer =>
  field(1, field(2, field(1, field(1, 'one')), field(2, ...content)))

test.each<[string, string, string | Uint8Array, number, string | undefined]>([
  ['no JSON', JSON_TYPE, 'hello', 400, 'json'],
  ['protobuf declared as JSON', JSON_TYPE, Buffer.from(officialProtobuf([spanWith()]), 'hex'), 400, 'json'],
  ['JSON declared as protobuf', PROTOBUF_TYPE, EXPORT, 400, 'protobuf'],
  ['cut off', PROTOBUF_TYPE, Buffer.from(officialProtobuf([spanWith()]), 'hex').subarray(0, -1), 400, 'protobuf'],
  ['a number without an end', PROTOBUF_TYPE, OPEN_ENDED, 400, 'protobuf'],
  ['a length beyond the end', PROTOBUF_TYPE, Buffer.from([10, 0xff, 0xff, 0xff, 0xff, 0x0f]), 400, 'protobuf'],
  ['a group, which is obsolete', PROTOBUF_TYPE, Buffer.from([0x0b, 0x0c]), 400, 'protobuf'],
  ['a name that is a number', PROTOBUF_TYPE, ofSpan(Buffer.from([5 * 8, 1])), 400, 'protobuf'],
  ['too many attributes', PROTOBUF_TYPE, ofSpan(...Array<Buffer>(500).fill(ATTRIBUTE)), 413, 'size'],
  ['too many of what is not read', PROTOBUF_TYPE, Buffer.alloc(4000, Buffer.from([0x78, 1])), 413, 'size'],
  ['deeper than anything', PROTOBUF_TYPE, ofSpan(deep()), 200, undefined],
  ['nothing', PROTOBUF_TYPE, '', 200, undefined],
])('answers and counts %s, and continues', async (_, type, body, status, why) => {
  const { scene, receiver } = await listening({ bodyBytes: 100_000, values: 1000 })
  expect(await scene.ask(receiver, PATH, of(type, body))).toMatchObject({ status })
  expect(receiver.counts.refused).toEqual(why === undefined ? {} : { [why]: 1 })
  expect(await scene.send(receiver, 'after')).toBe(204)
})

test('accepts a million attributes, in each of the two', () => {
  const most = 2_000_000
  const packed = ofSpan(Buffer.alloc(ATTRIBUTE.length * 1_000_000, ATTRIBUTE))
  expect(() => read(PROTOBUF_TYPE, packed, most)).toThrow(new RefusedRequest('size'))
  const one = JSON.stringify(attributes({ k: 'v' })[0])
  const text = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[${`${one},`.repeat(999_999)}${one}]}]}]}]}`
  expect(() => read(JSON_TYPE, Buffer.from(text), most)).toThrow(new RefusedRequest('size'))
})

test('reads or rejects any other input', () => {
  const whole = fc.constant(Buffer.from(officialProtobuf([spanWith()]), 'hex'))
  const spoilt = fc.tuple(whole, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 5 }), fc.nat())
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    spoilt.map(([of, changes, end]) => {
      const changed = Uint8Array.from(of)
      for (const [at, byte] of changes) changed[at % changed.length] = byte
      return changed.subarray(0, end % 3 === 0 ? end % changed.length : undefined)
    }),
  )
  const json = fc.anything({ maxDepth: 5 }).map(odd => Buffer.from(JSON.stringify({ resourceSpans: odd }) ?? 'null'))
  const readable = (type: string, what: Uint8Array): void => {
    try {
      read(type, what)
    } catch (error) {
      expect(error).toBeInstanceOf(RefusedRequest)
    }
  }
  fc.assert(
    fc.property(bytes, json, (some, other) => {
      readable(PROTOBUF_TYPE, some)
      readable(JSON_TYPE, other)
    }),
    { numRuns: times(300, 20_000) },
  )
})

import { SpanStatusCode } from '@opentelemetry/api'
import { afterEach, describe, expect, test } from 'vitest'
import type { BackendConfig } from '../../../src/delivery/backends/backend-config.ts'
import { BACKEND_TYPES } from '../../../src/delivery/backends/rows.ts'
import { planBackend } from '../../../src/delivery/pipeline/backend-plan.ts'
import { BACKENDS } from '../../../src/delivery/pipeline/index.ts'
import { backend, Lines, openPipeline, startSpan } from '../../delivery/pipeline/pipeline-fixture.ts'
import { type Encoding, VendorServer } from './vendor-server.ts'
import { REGIONS, VENDORS, type Vendor } from './vendors.ts'

type Type = keyof typeof VENDORS
const TYPES = Object.keys(VENDORS) as Type[]
const COMPRESSIONS = ['none', 'gzip'] as const

const servers: VendorServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map(server => server.stop()))
})

async function startVendor(vendor: Vendor): Promise<VendorServer> {
  const server = await VendorServer.start(vendor)
  servers.push(server)
  return server
}

/** Two spans of one trace and three instruments, sent. @returns what a person reads about it. */
async function send(settings: BackendConfig): Promise<readonly string[]> {
  const lines = new Lines()
  const pipeline = openPipeline({ backends: [settings], projectName: 'my agents' }, lines)
  const turn = startSpan(pipeline, 'turn')
  const tool = startSpan(pipeline, 'tool', turn)
  tool.setAttributes({ 'tool.name': 'search', 'tool.tries': 3, 'tool.cost': 0.25, 'tool.ok': false, tags: ['a', 'b'] })
  tool.setStatus({ code: SpanStatusCode.ERROR, message: 'timed out' })
  tool.end()
  turn.end()
  const meter = pipeline.meterProvider.getMeter('test')
  meter.createCounter('calls').add(2, { tool: 'search' })
  meter.createHistogram('seconds').record(1.5)
  meter.createGauge('depth').record(7)
  pipeline.log?.({ name: 'hermes.turn.failed', severity: 'ERROR', at: Date.now(), attributes: {} })
  await pipeline.flush()
  await pipeline.shutdown()
  return lines.said
}

/** What was configured, with some of it different. */
function configured(type: Type, server: VendorServer, more: Partial<BackendConfig> = {}): BackendConfig {
  return backend(type, server.endpoint, { options: VENDORS[type].options, ...more })
}

function expectTrace(server: VendorServer): void {
  const spans = server.taken.flatMap(taken => taken.spans)
  const [turn, tool] = [spans.find(span => span.name === 'turn'), spans.find(span => span.name === 'tool')]
  expect(spans).toHaveLength(2)
  expect(tool).toMatchObject({
    traceId: turn?.traceId,
    parentSpanId: turn?.spanId,
    status: { code: 2, message: 'timed out' },
    attributes: { 'tool.name': 'search', 'tool.tries': 3, 'tool.cost': 0.25, 'tool.ok': false, tags: ['a', 'b'] },
    resource: { 'service.name': 'test-agent', 'openinference.project.name': 'my agents' },
  })
}

function expectMetrics(server: VendorServer, temporality: 'delta' | 'cumulative'): void {
  const metrics = server.taken.flatMap(taken => taken.metrics)
  const own = ['calls', 'seconds', 'depth'].map(name => metrics.find(metric => metric.name === name))
  expect(own).toEqual([
    { name: 'calls', kind: 'sum', temporality, points: 1 },
    { name: 'seconds', kind: 'histogram', temporality, points: 1 },
    { name: 'depth', kind: 'gauge', temporality: undefined, points: 1 },
  ])
}

test('has a vendor and a default endpoint for every type of HTTP', () => {
  const sent = BACKEND_TYPES.filter(type => BACKENDS[type].transport === 'http')
  expect([...TYPES].sort()).toEqual(sent.sort())
  expect(new Set(REGIONS.map(([type]) => type))).toEqual(new Set(TYPES))
})

describe.each(TYPES)('%s', type => {
  const vendor = VENDORS[type]
  const encodings: Encoding[] = vendor.json === 200 ? ['http/protobuf', 'http/json'] : ['http/protobuf']

  test('accepts data without any preference', async () => {
    const server = await startVendor(vendor)
    expect(await send(configured(type, server))).toEqual([])
    expect(server.refused).toEqual([])
    expectTrace(server)
    const signals = new Set(server.taken.map(taken => taken.signal))
    expect([...signals].sort()).toEqual(vendor.metrics === undefined ? ['traces'] : ['metrics', 'traces'])
    if (vendor.metrics !== undefined) expectMetrics(server, vendor.metrics)
    for (const { encoding } of server.taken) expect(encoding).toBe(vendor.sent ?? 'http/protobuf')
  })

  for (const protocol of encodings) {
    test.each(COMPRESSIONS)(`accepts ${protocol}, compression %s`, async compression => {
      const server = await startVendor(vendor)
      expect(await send(configured(type, server, { protocol, compression }))).toEqual([])
      expect(server.refused).toEqual([])
      expectTrace(server)
      if (vendor.metrics !== undefined) expectMetrics(server, vendor.metrics)
      for (const taken of server.taken) expect(taken).toMatchObject({ encoding: protocol, compression })
    })
  }

  test('reports a wrong path, which it answers with 404', async () => {
    const server = await startVendor(vendor)
    const settings = { ...configured(type, server), endpoint: `${server.origin}/elsewhere` }
    // One cause, one line, whichever signal finds it first.
    expect(await send(settings)).toEqual([
      expect.stringMatching(/\/elsewhere\/v1\/(traces|metrics) answered 404: there is no OTLP endpoint for \1/),
    ])
    expect(server.taken).toEqual([])
  })
})

test.each(TYPES)('sends logs to %s if its vendor accepts them and they are configured', async type => {
  const server = await startVendor(VENDORS[type])
  const said = await send(configured(type, server, { logs: true }))
  const isTaken = VENDORS[type].logs === true
  expect(said).toEqual(isTaken ? [] : [`backend ${type}: ${type} is sent no logs; logs: true is ignored`])
  expect(server.refused).toEqual([])
  expect(server.taken.flatMap(({ events }) => events)).toEqual(isTaken ? ['hermes.turn.failed'] : [])
})

const LOCKED = TYPES.flatMap(type => {
  const { wrong } = VENDORS[type]
  return wrong ? [[type, ...wrong] as const] : []
})

describe.each(LOCKED)('%s with a wrong %s', (type, option, status) => {
  const vendor = VENDORS[type]
  const wrongValue = option === 'dsn' ? 'https://other@api.uptrace.dev?grpc=4317' : 'wrong'

  test(`reports an answer ${status}, with the key to set and without the key itself`, async () => {
    const server = await startVendor(vendor)
    const said = await send(configured(type, server, { options: { ...vendor.options, [option]: wrongValue } }))
    expect(server.taken).toEqual([])
    expect(said).toEqual([expect.stringContaining(`answered ${status}: it refuses the credentials. Set `)])
    expect(said[0]).toContain(option)
    expect(said[0]).not.toContain(wrongValue)
  })
})

describe.each(TYPES.filter(type => [400, 415].includes(VENDORS[type].json ?? 0)))('no JSON for %s', type => {
  const vendor = VENDORS[type]

  test(`answers it ${vendor.json}`, async () => {
    const server = await startVendor(vendor)
    const headers = { ...vendor.headers, 'content-type': 'application/json' }
    const { status } = await fetch(`${server.endpoint}/v1/traces`, { method: 'POST', headers, body: '{}' })
    expect(status).toBe(vendor.json)
  })

  test('receives protobuf even if configured otherwise, with a line', async () => {
    const server = await startVendor(vendor)
    const said = await send(configured(type, server, { protocol: 'http/json' }))
    expect(said).toEqual([`backend ${type}: ${type} takes http/protobuf only; protocol: http/json is ignored`])
    expectTrace(server)
  })
})

test.each(REGIONS)('sends traces for %s %o to %s', (type, options, url) => {
  const planned = planBackend(backend(type, undefined, { options: { ...VENDORS[type].options, ...options } }))
  if (url === undefined) {
    expect(planned).toEqual({
      ok: false,
      problem: `backend ${type} is off: endpoint is missing or cannot be derived. Set endpoint`,
    })
  } else expect(planned.ok && planned.plan.urls.traces).toBe(url)
})

test.each(TYPES.filter(type => VENDORS[type].path !== ''))(
  'accepts the full URL of the traces for %s, too',
  async type => {
    const server = await startVendor(VENDORS[type])
    expect(await send({ ...configured(type, server), endpoint: `${server.endpoint}/v1/traces` })).toEqual([])
    expectTrace(server)
  },
)

test('sends the secret token of an Elastic APM server as a bearer', async () => {
  const vendor = { ...VENDORS.elastic, options: { secret_token: 't' }, headers: { authorization: 'Bearer t' } }
  const server = await startVendor(vendor)
  expect(await send(backend('elastic', server.endpoint, { options: vendor.options }))).toEqual([])
  expectTrace(server)
})

test('sends metrics to Datadog only as deltas, if they are switched on', async () => {
  const server = await startVendor({ ...VENDORS.datadog, metrics: 'delta' })
  expect(await send(configured('datadog', server, { metrics: true }))).toEqual([])
  expectMetrics(server, 'delta')
})

test('advises to switch metrics off at a 404', async () => {
  const server = await startVendor(VENDORS.jaeger)
  const said = await send(configured('jaeger', server, { metrics: true }))
  expect(said).toEqual([expect.stringMatching(/\/v1\/metrics answered 404.*metrics: false/)])
  expectTrace(server)
})

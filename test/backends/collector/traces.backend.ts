import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { PluginOptions } from '../../../src/index.ts'
import { OtlpSink, type SinkRecord } from '../../support/otlp-sink.ts'
import { HOST } from '../prometheus/feed-in-slices.ts'
import { until } from '../prometheus/until.ts'
import { type CollectorServer, startCollector } from '../servers/collector.ts'
import { type FedSpan, feedWorkload } from '../workload/feed.ts'

let home: string
let jaeger: OtlpSink
let phoenix: OtlpSink
let collector: CollectorServer

beforeAll(async () => {
  jaeger = await OtlpSink.start()
  phoenix = await OtlpSink.start()
  collector = await startCollector({ jaeger: jaeger.url, phoenix: phoenix.url })
})

afterAll(async () => {
  await collector?.stop()
  await Promise.all([jaeger?.stop(), phoenix?.stop()])
})

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-collector-'))
  jaeger.requests.length = 0
  phoenix.requests.length = 0
})

afterEach(() => rmSync(home, { recursive: true, force: true }))

function configOf(fields: { readonly protocol?: string; readonly endpoint?: string }): PluginOptions {
  const endpoint = fields.protocol === 'grpc' ? collector.grpcUrl : collector.otlpUrl
  return { backends: [{ type: 'otlp', endpoint, metrics: false, ...fields }] } as PluginOptions
}

function spansAt(sink: OtlpSink): readonly SinkRecord[] {
  return sink.requests.filter(({ path }) => path === '/v1/traces').flatMap(({ records }) => records)
}

/** Sorted, so that one which came twice is there twice. */
function ids(spans: readonly (FedSpan | SinkRecord)[]): string[] {
  return spans.map(({ traceId, spanId, name }) => `${traceId} ${spanId} ${name}`).toSorted()
}

async function arrived(sink: OtlpSink, count: number): Promise<readonly SinkRecord[]> {
  return until(
    async () => spansAt(sink),
    spans => (spans.length < count ? { wanted: count, came: spans.length } : undefined),
    'spans behind the collector',
  )
}

describe.each([
  { protocol: 'http/protobuf', compression: 'gzip' },
  { protocol: 'http/protobuf', compression: 'none' },
  { protocol: 'http/json', compression: 'gzip' },
  { protocol: 'http/json', compression: 'none' },
  { protocol: 'grpc', compression: 'gzip' },
  { protocol: 'grpc', compression: 'none' },
])('$protocol, compression $compression', fields => {
  test('forwards every span to both stores, none twice', async () => {
    const fed = await feedWorkload({
      home,
      config: { host: HOST, ...configOf(fields) },
      scenarios: ['recordings', 'pi'],
    })
    expect(fed.spans.length).toBeGreaterThan(20)
    for (const sink of [jaeger, phoenix]) {
      expect(ids(await arrived(sink, fed.spans.length))).toEqual(ids(fed.spans))
      for (const { headers } of sink.requests) expect(headers['content-type']).toBe('application/x-protobuf')
    }
  })
})

test('forwards the whole workload to both stores, none of it twice', async () => {
  const fed = await feedWorkload({ home, config: { host: HOST, ...configOf({}) } })
  for (const sink of [jaeger, phoenix]) expect(ids(await arrived(sink, fed.spans.length))).toEqual(ids(fed.spans))
})

test('reports an unknown path, and forwards nothing', async () => {
  const fields = { endpoint: `${collector.otlpUrl}/nowhere`, exact_endpoint: true }
  const feeding = feedWorkload({ home, config: { host: HOST, ...configOf(fields) }, scenarios: ['pi'] })
  await expect(feeding).rejects.toThrow(/404/)
  expect(spansAt(jaeger)).toEqual([])
})

import { describe, expect, test } from 'vitest'
import { pipelineSettings } from '../../src/plugin/settings.ts'
import {
  countPoint,
  Lines,
  openPipeline,
  PROTOCOLS,
  recordSpans,
  startSink,
} from '../delivery/pipeline/pipeline-fixture.ts'
import { messages, resolved, scratchHome } from './config/scratch-home.ts'

const GENERAL = 'OTEL_EXPORTER_OTLP_ENDPOINT'
const TRACES = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
const METRICS = 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'

/** Variables, of which each holds a path below the sink, and where a span and a point then arrive. */
type Case = readonly [paths: Record<string, string>, traces: string | undefined, metrics: string | undefined]

const CASES: readonly Case[] = [
  [{ [GENERAL]: '' }, '/v1/traces', '/v1/metrics'],
  [{ [GENERAL]: '/gateway/' }, '/gateway/v1/traces', '/gateway/v1/metrics'],
  [{ [TRACES]: '/ingest/spans' }, '/ingest/spans', undefined],
  [{ [TRACES]: '/ingest/spans/?tenant=a' }, '/ingest/spans/?tenant=a', undefined],
  [{ [TRACES]: '/v1/traces' }, '/v1/traces', undefined],
  [{ [TRACES]: '/v1/traces?tenant=a' }, '/v1/traces?tenant=a', undefined],
  [{ [TRACES]: '' }, '/', undefined],
  [{ [METRICS]: '/ingest/points' }, undefined, '/ingest/points'],
  [{ [GENERAL]: '/gateway', [TRACES]: '/gateway' }, '/gateway', '/gateway/v1/metrics'],
  [{ [GENERAL]: '/gateway', [METRICS]: '/ingest/points' }, '/gateway/v1/traces', '/ingest/points'],
  [{ [TRACES]: '/ingest', [METRICS]: '/ingest' }, '/ingest', '/ingest'],
  [{ [TRACES]: '/v1/traces', [METRICS]: '/v1/metrics' }, '/v1/traces', '/v1/metrics'],
  [{ [TRACES]: '/v1/metrics', [METRICS]: '/v1/traces' }, '/v1/metrics', '/v1/traces'],
]

interface Source {
  readonly env?: Record<string, string>
  readonly yaml?: string
}

async function deliver(source: Source, lines: Lines): Promise<void> {
  const resolution = resolved(source)
  expect(messages(resolution)).toEqual([])
  const { backends } = pipelineSettings(resolution.config, {}, scratchHome())
  const pipeline = openPipeline({ backends }, lines)
  recordSpans(pipeline, 'span')
  countPoint(pipeline, 'point')
  await pipeline.flush()
}

describe.each(PROTOCOLS)('over %s', protocol => {
  test.each(CASES)('sends a span to the right address for %j: %s', async (paths, traces, metrics) => {
    const sink = await startSink()
    const env = Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, `${sink.url}${path}`]))
    const lines = new Lines()
    await deliver({ env: { ...env, OTEL_EXPORTER_OTLP_PROTOCOL: protocol } }, lines)
    const placeOf = (name: string): string | undefined =>
      sink.requests.find(({ records }) => records.some(record => record.name === name))?.path
    expect([placeOf('span'), placeOf('point')]).toEqual([traces, metrics])
    expect(lines.said).toEqual([])
  })
})

test('reads it from a file, too', async () => {
  const sink = await startSink()
  const backend = `{ type: jaeger, endpoint: "${sink.url}/ingest", exact_endpoint: true }`
  await deliver({ yaml: `backends: [${backend}]` }, new Lines())
  expect(sink.requests.map(({ path }) => path)).toEqual(['/ingest'])
})

test('reports the fault of an address without the path', async () => {
  const sink = await startSink({ kind: 'status', status: 404 })
  const lines = new Lines()
  await deliver({ env: { [TRACES]: sink.url } }, lines)
  expect(lines.said).toEqual([
    `backend otlp: ${sink.url}/ answered 404: there is no OTLP endpoint for traces. The endpoint is used as it is and usually ends in /v1/traces; correct endpoint (usual for otlp: http://127.0.0.1:4318/)`,
  ])
})

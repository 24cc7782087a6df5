/** Log events on the wire, as a backend gets them. */
import { describe, expect, test } from 'vitest'
import type { Plugin, PluginOptions } from '../../src/plugin/plugin.ts'
import { afterwards } from '../support/afterwards.ts'
import { OtlpSink, type SinkBehaviour } from '../support/otlp-sink.ts'
import { scratchPlugin } from './scratch-plugin.ts'

interface Pair {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}

interface LogRecord {
  readonly eventName: string
  readonly severityNumber: number
  readonly severityText: string
  readonly timeUnixNano: string
  readonly traceId?: string
  readonly spanId?: string
  readonly attributes: readonly Pair[]
}

interface LogsRequest {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: readonly Pair[] }
    readonly scopeLogs: readonly {
      readonly scope: { readonly name: string }
      readonly logRecords: readonly LogRecord[]
    }[]
  }[]
}

async function sinkThat(behaviour?: SinkBehaviour): Promise<OtlpSink> {
  const sink = await OtlpSink.start(behaviour)
  afterwards(() => sink.stop())
  return sink
}

function logRequests(sink: OtlpSink): LogsRequest[] {
  return sink.requests.filter(({ path }) => path === '/v1/logs').map(({ json }) => json as LogsRequest)
}

function recordsAt(sink: OtlpSink): LogRecord[] {
  return logRequests(sink).flatMap(({ resourceLogs }) =>
    resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords)),
  )
}

function said(pairs: readonly Pair[]): Record<string, unknown> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]))
}

const IDS = { session_id: 's1', turn_id: 't1' }
const AT = 1_795_256_100_123

/** A turn whose tool fails, and that fails itself. */
function tellFailure(plugin: Plugin): Promise<void> | undefined {
  plugin.on('pre_llm_call', { ...IDS, model: 'qwen3', user_message: 'hello' }, { at: AT - 100 })
  plugin.on('pre_tool_call', { ...IDS, tool_name: 'terminal', tool_call_id: 'c1' }, { at: AT - 90 })
  plugin.on('post_tool_call', { ...IDS, tool_name: 'terminal', tool_call_id: 'c1', status: 'error' }, { at: AT - 80 })
  return plugin.on('on_session_end', { ...IDS, failed: true }, { at: AT })
}

function pluginFor(sink: OtlpSink, fields: object = { logs: true }, options: PluginOptions = {}) {
  return scratchPlugin({
    host: 'agent',
    backends: [{ type: 'otlp', endpoint: sink.url, metrics: false, ...fields }],
    ...options,
  })
}

test('sends events at the end of a turn, in one request, beside their spans', async () => {
  const sink = await sinkThat()
  const { plugin, lines } = pluginFor(sink, { logs: true, protocol: 'http/json' })
  await tellFailure(plugin)
  const [request, ...others] = logRequests(sink)
  expect(others).toEqual([])
  expect(said(request?.resourceLogs[0]?.resource.attributes ?? [])).toMatchObject({ 'service.name': 'agent' })
  expect(request?.resourceLogs[0]?.scopeLogs[0]?.scope.name).toBe('hookspan')
  const [tool, turn] = recordsAt(sink)
  expect(tool).toMatchObject({ eventName: 'hermes.tool.failed', severityNumber: 13, severityText: 'WARN' })
  expect(turn).toMatchObject({
    eventName: 'hermes.turn.failed',
    severityNumber: 17,
    severityText: 'ERROR',
    timeUnixNano: `${AT}000000`,
  })
  expect(said(turn?.attributes ?? [])).toMatchObject({ 'event.name': 'hermes.turn.failed', 'session.id': 's1' })
  const spans = sink.requests.filter(({ path }) => path === '/v1/traces').flatMap(({ records }) => records)
  for (const [record, name] of [
    [tool, 'tool.terminal'],
    [turn, 'agent'],
  ] as const) {
    const span = spans.find(span => span.name === name)
    expect([record?.traceId, record?.spanId]).toEqual([span?.traceId, span?.spanId])
  }
  expect(plugin.stats().backends.at(-1)).toMatchObject({ logs: { delivered: 2, dropped: 0, queued: 0 } })
  expect(lines).toEqual([])
})

test.each([[{}], [{ logs: false }]])('sends none to a backend without the setting: %j', async fields => {
  const sink = await sinkThat()
  const { plugin } = pluginFor(sink, fields)
  await tellFailure(plugin)
  await plugin.shutdown()
  expect(logRequests(sink)).toEqual([])
  expect(plugin.stats().backends.at(-1)).not.toHaveProperty('logs')
})

test('may send nothing else to a backend', async () => {
  const sink = await sinkThat()
  const { plugin } = pluginFor(sink, { logs: true, traces: false })
  await tellFailure(plugin)
  expect(sink.requests.map(({ path }) => path)).toEqual(['/v1/logs'])
})

test('sends JSON beside spans as protobuf, compressed if configured', async () => {
  const sink = await sinkThat()
  const { plugin } = pluginFor(sink, { logs: true, protocol: 'http/protobuf', compression: 'gzip' })
  await tellFailure(plugin)
  const ofLogs = sink.requests.find(({ path }) => path === '/v1/logs')
  expect(ofLogs?.headers).toMatchObject({ 'content-type': 'application/json', 'content-encoding': 'gzip' })
  expect(recordsAt(sink)).toHaveLength(2)
})

test('reports a type that accepts none', () => {
  const { plugin, lines } = scratchPlugin({
    backends: [{ type: 'jaeger', endpoint: 'http://127.0.0.1:9', logs: true }],
  })
  plugin.stats()
  plugin.on('on_session_start', IDS)
  plugin.stats()
  expect(lines).toEqual(['backend jaeger: jaeger is sent no logs; logs: true is ignored'])
})

describe('a backend that accepts no logs for now', () => {
  test('does not affect the spans, and its dropped events are counted and reported at the end', async () => {
    const traces = await sinkThat()
    const down = await OtlpSink.start()
    const { url } = down
    await down.stop()
    const { plugin, lines } = scratchPlugin({
      backends: [
        { type: 'otlp', name: 'traces', endpoint: traces.url, metrics: false },
        { type: 'otlp', name: 'loki', endpoint: url, traces: false, metrics: false, logs: true },
      ],
    })
    await tellFailure(plugin)
    await plugin.shutdown()
    expect(traces.spanNames.toSorted()).toEqual(['agent', 'llm.qwen3', 'tool.terminal'])
    expect(plugin.stats().backends.at(-1)).toMatchObject({
      name: 'loki',
      logs: { delivered: 0, dropped: 2, queued: 0 },
    })
    expect(lines).toEqual([
      `backend loki: nothing listens at ${url}/v1/logs. Start it, or correct endpoint (usual for otlp: http://127.0.0.1:4318/); until then its logs are kept in memory, up to a limit, until the process ends (ECONNREFUSED)`,
      'backend loki: its logs were not sent: the process ended before they were sent',
    ])
  })
})

test('sends an event about spans that another backend rejects', async () => {
  const refusing = await sinkThat({ kind: 'status', status: 400 })
  const sink = await sinkThat()
  const { plugin } = scratchPlugin({
    local_log: false,
    backends: [
      { type: 'otlp', name: 'picky', endpoint: refusing.url, metrics: false },
      { type: 'otlp', name: 'loki', endpoint: sink.url, traces: false, metrics: false, logs: true },
    ],
  })
  await tellFailure(plugin)
  await plugin.shutdown()
  const [lost] = recordsAt(sink).filter(({ eventName }) => eventName === 'hermes.spans.lost')
  expect(lost).toMatchObject({ severityText: 'ERROR' })
  expect(lost).not.toHaveProperty('traceId')
  expect(said(lost?.attributes ?? [])).toEqual({
    'event.name': 'hermes.spans.lost',
    'hookspan.backend': 'picky',
    'hookspan.reason': 'it answered 400',
    'hookspan.spans': 3,
  })
})

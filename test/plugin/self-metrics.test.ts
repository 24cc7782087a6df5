import { afterEach, describe, expect, test } from 'vitest'
import type { BackendStats } from '../../src/delivery/pipeline/index.ts'
import { createMemoryPipeline, type MetricSample } from '../../src/delivery/pipeline/memory.ts'
import type { RecoveredTrace } from '../../src/delivery/trace-log/index.ts'
import { resolveConfig } from '../../src/plugin/config/resolve.ts'
import { TracingPlugin } from '../../src/plugin/create-plugin.ts'
import { createDiagnostics } from '../../src/plugin/diagnostics.ts'
import type { Plugin } from '../../src/plugin/plugin.ts'
import { pipelineSettings } from '../../src/plugin/settings.ts'
import { memoryTelemetry } from '../../src/plugin/telemetry.ts'
import { OtlpSink, type SinkBehaviour } from '../support/otlp-sink.ts'
import { overriding } from '../support/overriding.ts'
import { scratchPlugin, tellTurn } from './scratch-plugin.ts'

interface Point {
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[]
  readonly asDouble?: number
  readonly asInt?: string
}

interface MetricsRequest {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly {
      readonly metrics: readonly { readonly name: string; readonly sum?: { readonly dataPoints: readonly Point[] } }[]
    }[]
  }[]
}

const JAEGER: BackendStats = {
  name: 'jaeger',
  type: 'jaeger',
  delivered: 40,
  recovered: 2,
  retried: 5,
  spooled: 6,
  spooledEver: 7,
  dropped: 3,
  queued: 1,
  isKept: true,
  spoolBytes: 99,
}

/** A plugin whose pipeline says this of its backends, and whose memory of the metrics can be looked into. */
function pluginWith(backends: readonly BackendStats[]) {
  const { config } = resolveConfig({ env: {}, home: '/nonexistent' })
  const memory = createMemoryPipeline(pipelineSettings({ ...config, local_log: false }, {}, '/nonexistent'))
  let onCrashed: (crashed: readonly RecoveredTrace[]) => void = () => undefined
  const pipeline = overriding(memory, {
    stats: () => ({ backends, traceFiles: [] }),
    recover: (listener: typeof onCrashed) => {
      onCrashed = listener
    },
  })
  const environment = { env: {}, home: '/nonexistent', isReplay: false }
  const telemetry = memoryTelemetry(pipeline)
  const plugin = new TracingPlugin(createDiagnostics(undefined), { host: 'agent', config, telemetry, environment })
  return {
    plugin,
    crashed: (spans: number) => onCrashed([{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), spans }]),
    samples: () => memory.samples(),
    logEvents: memory.logEvents,
  }
}

function valuesOf(samples: readonly MetricSample[], name: string, label: string): Record<string, number> {
  const rows = samples.filter(sample => sample.name === name)
  return Object.fromEntries(rows.map(({ labels, value }) => [labels[label], value]))
}

test("counts the results of a backend's spans, and the pending ones", async () => {
  const { plugin, samples } = pluginWith([JAEGER, { ...JAEGER, name: 'local_log', isKept: false, spoolBytes: 0 }])
  const metrics = await samples()
  const ofJaeger = metrics.filter(({ labels }) => labels['backend'] === 'jaeger')
  expect(valuesOf(ofJaeger, 'hookspan.export.spans', 'result')).toEqual({
    delivered: 42,
    retried: 5,
    spooled: 7,
    dropped: 3,
  })
  expect(valuesOf(metrics, 'hookspan.spool.bytes', 'backend')).toEqual({ jaeger: 99 })
  await plugin.shutdown()
})

test('counts spans open in a killed process, and emits an event in their trace', async () => {
  const { plugin, crashed, samples, logEvents } = pluginWith([])
  crashed(3)
  crashed(1)
  expect(logEvents).toMatchObject(
    [3, 1].map(spans => ({
      name: 'hermes.crash.found',
      severity: 'ERROR',
      span: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) },
      attributes: { 'hookspan.spans': spans },
    })),
  )
  expect(valuesOf(await samples(), 'hookspan.spans.incomplete', 'reason')).toEqual({ crashed: 4 })
  await plugin.shutdown()
})

/** Of the metrics that a sink was sent last: what became of spans. */
function lastExported(sink: OtlpSink): Record<string, number> {
  const sent = sink.requests.filter(({ path }) => path.endsWith('/v1/metrics')).at(-1)?.json as
    | MetricsRequest
    | undefined
  const metrics =
    sent?.resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(scope => scope.metrics)) ?? []
  const points = metrics.find(({ name }) => name === 'hookspan.export.spans')?.sum?.dataPoints ?? []
  return Object.fromEntries(
    points.map(({ attributes, asDouble, asInt }) => {
      const label = (key: string): string | undefined => attributes.find(found => found.key === key)?.value.stringValue
      return [`${label('backend')} ${label('result')}`, Number(asDouble ?? asInt)]
    }),
  )
}

function tellingItself(traces: OtlpSink, metrics: OtlpSink, waitMillis: number): Plugin {
  const backends = [
    { type: 'otlp', name: 'store', endpoint: traces.url, protocol: 'http/json', metrics: false },
    { type: 'otlp', name: 'meters', endpoint: metrics.url, protocol: 'http/json', traces: false },
  ] as const
  const { plugin } = scratchPlugin({ local_log: false, backends, force_flush_wait_ms: waitMillis })
  void tellTurn(plugin)
  return plugin
}

describe('a process that does one thing and ends', () => {
  const sinks: OtlpSink[] = []
  const sink = async (behaviour?: SinkBehaviour): Promise<OtlpSink> => {
    const started = await OtlpSink.start(behaviour)
    sinks.push(started)
    return started
  }
  afterEach(async () => {
    await Promise.all(sinks.splice(0).map(started => started.stop()))
  })

  test.each(['flush', 'shutdown'] as const)('has its last spans in its own metrics, at %s', async how => {
    const [traces, metrics] = [await sink({ kind: 'slow', millis: 30 }), await sink()]
    const plugin = tellingItself(traces, metrics, 30_000)
    await plugin[how]()
    expect(lastExported(metrics)).toMatchObject({ 'store delivered': 3, 'store dropped': 0 })
  })

  test.each(['flush', 'shutdown'] as const)('sends its metrics although its spans are rejected, at %s', async how => {
    const [traces, metrics] = [await sink({ kind: 'hanging' }), await sink()]
    const plugin = tellingItself(traces, metrics, 1500)
    await plugin[how]()
    expect(lastExported(metrics)).toMatchObject({ 'store delivered': 0 })
  })
})

test('has no samples in memory if the core could not be loaded', async () => {
  const { config } = resolveConfig({ env: {}, home: '/nonexistent' })
  const memory = createMemoryPipeline(pipelineSettings({ ...config, local_log: false }, {}, '/nonexistent'))
  expect(await memory.samples()).toEqual([])
})

import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import { createNoopMeter, ProxyTracerProvider } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  PeriodicExportingMetricReader,
  MeterProvider as SdkMeterProvider,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor, InMemorySpanExporter } from '@opentelemetry/sdk-trace-base'
import { describe, expect, test, vi } from 'vitest'
import { runHost } from './child-host.ts'
import { scratchHome, scratchPlugin, tellTurn } from './scratch-plugin.ts'

const TURN = ['tool.terminal', 'llm.qwen3', 'agent']
const FAR_OFF_MILLIS = 3_600_000

/** Exports nothing by itself, as it seems to a test. */
function batching(): { tracerProvider: BasicTracerProvider; names: () => string[] } {
  const exporter = new InMemorySpanExporter()
  const processor = new BatchSpanProcessor(exporter, { scheduledDelayMillis: FAR_OFF_MILLIS })
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [processor] })
  return { tracerProvider, names: () => exporter.getFinishedSpans().map(span => span.name) }
}

function collecting(): { meterProvider: SdkMeterProvider; names: () => string[] } {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: FAR_OFF_MILLIS })
  const names = (): string[] => {
    const scopes = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
    return scopes.flatMap(scope => scope.metrics.map(({ descriptor }) => descriptor.name))
  }
  return { meterProvider: new SdkMeterProvider({ readers: [reader] }), names }
}

test('creates no timer each for many turns that end during a flush', () => {
  const { plugin } = scratchPlugin({ tracerProvider: batching().tracerProvider })
  const timers = [vi.spyOn(globalThis, 'setInterval'), vi.spyOn(globalThis, 'setTimeout')]
  try {
    for (let n = 0; n < 20; n++) void tellTurn(plugin)
    // The flush that runs, the next one, and what the SDK's own processor waits by.
    expect(timers.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBeLessThanOrEqual(4)
  } finally {
    for (const spy of timers) spy.mockRestore()
  }
})

describe('the flush of a provider that is passed in', () => {
  test('runs at the end of a session', async () => {
    const [spans, points] = [batching(), collecting()]
    const { plugin } = scratchPlugin({ tracerProvider: spans.tracerProvider, meterProvider: points.meterProvider })
    await tellTurn(plugin)
    expect(spans.names()).toEqual(TURN)
    expect(points.names()).toContain('hermes.sessions')
  })

  test("runs at the plugin's shutdown and not at a session's end if that is disabled", async () => {
    const spans = batching()
    const { plugin } = scratchPlugin({ tracerProvider: spans.tracerProvider, force_flush_on_session_end: false })
    expect(tellTurn(plugin)).toBeUndefined()
    expect(spans.names()).toEqual([])
    await plugin.flush()
    expect(spans.names()).toEqual(TURN)
  })

  test('includes open spans, when the plugin is shut down', async () => {
    const spans = batching()
    const { plugin } = scratchPlugin({ tracerProvider: spans.tracerProvider })
    plugin.on('pre_llm_call', { session_id: 's1', turn_id: 't1', model: 'qwen3' })
    await plugin.shutdown()
    expect(spans.names()).toEqual(['llm.qwen3', 'agent'])
  })

  test('works through the proxy of an application before and after it registers', async () => {
    const spans = batching()
    const proxy = new ProxyTracerProvider()
    const { plugin } = scratchPlugin({ tracerProvider: proxy })
    proxy.setDelegate(spans.tracerProvider)
    await tellTurn(plugin)
    expect(spans.names()).toEqual(TURN)
  })
})

const never = (): Promise<void> => new Promise(() => undefined)
const rejecting = (): Promise<void> => Promise.reject(['no', 'collector'])
const throwing = (): never => {
  throw new Error('no collector')
}

describe('a faulty flush of a provider that is passed in', () => {
  test.each([
    ['never comes back', never],
    ['fails', rejecting],
    ['throws', throwing],
    ['is none', 'soon'],
  ])('costs no more than the wait if it %s', async (_what, forceFlush) => {
    const { tracerProvider } = batching()
    const tracer = { getTracer: tracerProvider.getTracer.bind(tracerProvider), forceFlush }
    const meter = { getMeter: createNoopMeter, forceFlush }
    const { plugin, lines } = scratchPlugin({
      tracerProvider: tracer as TracerProvider,
      meterProvider: meter as MeterProvider,
      force_flush_wait_ms: 20,
    })
    await expect(tellTurn(plugin)).resolves.toBeUndefined()
    await expect(plugin.flush()).resolves.toBeUndefined()
    await expect(plugin.shutdown()).resolves.toBeUndefined()
    expect(lines).toEqual([])
  })

  test.each([
    ['shutdown', 'await plugin.shutdown()'],
    ['flush', 'await plugin.flush()'],
    ['the end of a session', "await plugin.emit('on_session_end', { session_id: 's1', completed: true })"],
    ['disposal', 'await plugin[Symbol.asyncDispose]()'],
  ])('does not end a program that waits for %s if it never returns', async (_what, waiting) => {
    const body = `
      const { ProxyTracerProvider } = await import('@opentelemetry/api')
      const tracer = new ProxyTracerProvider().getTracer('none')
      const tracerProvider = { getTracer: () => tracer, forceFlush: () => new Promise(() => undefined) }
      const plugin = createPlugin({ tracerProvider, force_flush_wait_ms: 50 })
      plugin.emit('on_session_start', { session_id: 's1' })
      ${waiting}
      process.stdout.write('it goes on')`
    const { code, stdout } = await runHost(body, { HOME: scratchHome() })
    expect([code, stdout]).toEqual([0, 'it goes on'])
  })

  test('is called for metrics if it fails for traces', async () => {
    const points = collecting()
    const { tracerProvider } = batching()
    const tracer = { getTracer: tracerProvider.getTracer.bind(tracerProvider), forceFlush: throwing }
    const { plugin } = scratchPlugin({ tracerProvider: tracer, meterProvider: points.meterProvider })
    await tellTurn(plugin)
    expect(points.names()).toContain('hermes.sessions')
  })
})

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

test('many turns that end while a flush runs cost no timer each', () => {
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

describe('a provider that is handed in is flushed', () => {
  test('at the end of a session', async () => {
    const [spans, points] = [batching(), collecting()]
    const { plugin } = scratchPlugin({ tracerProvider: spans.tracerProvider, meterProvider: points.meterProvider })
    await tellTurn(plugin)
    expect(spans.names()).toEqual(TURN)
    expect(points.names()).toContain('hermes.sessions')
  })

  test('not at the end of a session, where that is switched off, but when the plugin is', async () => {
    const spans = batching()
    const { plugin } = scratchPlugin({ tracerProvider: spans.tracerProvider, force_flush_on_session_end: false })
    expect(tellTurn(plugin)).toBeUndefined()
    expect(spans.names()).toEqual([])
    await plugin.flush()
    expect(spans.names()).toEqual(TURN)
  })

  test('with what was still open, when the plugin is shut down', async () => {
    const spans = batching()
    const { plugin } = scratchPlugin({ tracerProvider: spans.tracerProvider })
    plugin.on('pre_llm_call', { session_id: 's1', turn_id: 't1', model: 'qwen3' })
    await plugin.shutdown()
    expect(spans.names()).toEqual(['llm.qwen3', 'agent'])
  })

  test('through the proxy that an application has before and after it registers', async () => {
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

describe('a flush of a provider that is handed in', () => {
  test.each([
    ['never comes back', never],
    ['fails', rejecting],
    ['throws', throwing],
    ['is none', 'soon'],
  ])('that %s costs no more than the wait', async (_what, forceFlush) => {
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
  ])('that never comes back does not end a program that waits for %s', async (_what, waiting) => {
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

  test('that fails for traces is made for metrics', async () => {
    const points = collecting()
    const { tracerProvider } = batching()
    const tracer = { getTracer: tracerProvider.getTracer.bind(tracerProvider), forceFlush: throwing }
    const { plugin } = scratchPlugin({ tracerProvider: tracer, meterProvider: points.meterProvider })
    await tellTurn(plugin)
    expect(points.names()).toContain('hermes.sessions')
  })
})

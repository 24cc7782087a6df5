import { metrics as metricsApi, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MetricReader,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { describe, expect, test, vi } from 'vitest'
import type { PluginOptions } from '../../../src/index.ts'
import { scratchPlugin, tellTurn } from '../../plugin/scratch-plugin.ts'
import { until } from '../../support/until.ts'

const never = (): Promise<void> => new Promise(() => undefined)
const boom = (): never => {
  throw new Error('boom')
}

function processor(of: Partial<SpanProcessor> = {}): SpanProcessor & { readonly ended: ReadableSpan[] } {
  const ended: ReadableSpan[] = []
  const nothing = (): Promise<void> => Promise.resolve()
  return {
    ended,
    onStart: () => undefined,
    onEnd: span => void ended.push(span),
    forceFlush: nothing,
    shutdown: nothing,
    ...of,
  }
}

class ManualReader extends MetricReader {
  protected onForceFlush(): Promise<void> {
    return Promise.resolve()
  }
  protected onShutdown(): Promise<void> {
    return Promise.resolve()
  }
}

const QUIET: PluginOptions = { prometheus: false }
/** For those who wait in vain. */
const QUICK: PluginOptions = { ...QUIET, force_flush_wait_ms: 50 }

describe('a processor', () => {
  test('receives our spans, and is flushed and shut down with the pipeline', async () => {
    const exporter = new InMemorySpanExporter()
    const own = new SimpleSpanProcessor(exporter)
    const [flush, shutdown] = [vi.spyOn(own, 'forceFlush'), vi.spyOn(own, 'shutdown')]
    const { plugin, lines } = scratchPlugin({ ...QUIET, spanProcessors: [own] })
    tellTurn(plugin)
    await plugin.flush()
    expect(flush).toHaveBeenCalled()
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['tool.terminal', 'llm.qwen3', 'agent'])
    await plugin.shutdown()
    await plugin.shutdown()
    expect(shutdown).toHaveBeenCalledTimes(1)
    expect(lines).toEqual([])
  })

  test('receives no secret', async () => {
    const own = processor()
    const { plugin } = scratchPlugin({ ...QUIET, spanProcessors: [own] })
    plugin.emit('pre_llm_call', { session_id: 's1', user_message: 'with ghp_example0000000000example0000000000' })
    await plugin.emit('on_session_end', { session_id: 's1', completed: true })
    expect(own.ended.map(({ attributes }) => attributes['input.value'])).toContain('with [REDACTED]')
    expect(JSON.stringify(own.ended.map(({ attributes }) => attributes))).not.toContain('ghp_')
  })

  test('loses no span and does not affect the others if it throws', async () => {
    const own = processor()
    const bad = processor({ onStart: boom, onEnd: boom, forceFlush: boom, shutdown: boom })
    const { plugin, lines } = scratchPlugin({ ...QUIET, spanProcessors: [bad, own] })
    await tellTurn(plugin)
    await plugin.shutdown()
    expect(own.ended).toHaveLength(3)
    expect(plugin.stats().hooks).toMatchObject({ ok: 5, error: 0 })
    expect(plugin.stats().backends[0]).toMatchObject({ name: 'local_log', delivered: 3 })
    const line = (method: string): string => `spanProcessors[0]: its ${method} failed; everything else goes on`
    expect(lines.sort()).toEqual(['forceFlush', 'onEnd', 'onStart', 'shutdown'].map(line))
  })

  test('delays a flush by at most force_flush_wait_ms if it rejects or never settles', async () => {
    const rejecting = processor({ forceFlush: () => Promise.reject(new Error('no')), shutdown: never })
    const hanging = processor({ forceFlush: never, shutdown: () => Promise.reject(new Error('no')) })
    const { plugin, lines } = scratchPlugin({ ...QUICK, spanProcessors: [rejecting, hanging] })
    await tellTurn(plugin)
    await plugin.flush()
    await plugin.shutdown()
    expect(plugin.stats().backends[0]).toMatchObject({ delivered: 3 })
    await until(() => lines.length === 4)
    expect(lines.sort()).toEqual([
      'spanProcessors[0]: its forceFlush failed; everything else goes on',
      'spanProcessors[0]: its shutdown was not done after 50 ms; everything else goes on',
      'spanProcessors[1]: its forceFlush was not done after 50 ms; everything else goes on',
      'spanProcessors[1]: its shutdown failed; everything else goes on',
    ])
  })
})

describe('a metric reader', () => {
  test('collects our metrics, and is flushed and shut down with the pipeline', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
    const { plugin, lines } = scratchPlugin({ ...QUIET, metricReaders: [reader] })
    await tellTurn(plugin)
    await plugin.flush()
    const names = exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) =>
        scopeMetrics.flatMap(({ metrics }) => metrics.map(({ descriptor }) => descriptor.name)),
      )
    expect(names).toContain('hermes.tool.calls')
    const shutdown = vi.spyOn(exporter, 'shutdown')
    await plugin.shutdown()
    expect(shutdown).toHaveBeenCalledTimes(1)
    expect(lines).toEqual([])
  })

  test('affects nothing else if it throws or never settles', async () => {
    const good = new ManualReader()
    const methods = { forceFlush: never, shutdown: boom, selectAggregation: boom, selectAggregationTemporality: boom }
    const bad = Object.assign(new ManualReader(), methods, { setMetricProducer: boom, selectCardinalityLimit: boom })
    const { plugin, lines } = scratchPlugin({ ...QUICK, metricReaders: [bad, good] })
    await tellTurn(plugin)
    const { resourceMetrics, errors } = await good.collect()
    expect(errors).toEqual([])
    expect(JSON.stringify(resourceMetrics.scopeMetrics)).toContain('hermes.tool.calls')
    await plugin.flush()
    await plugin.shutdown()
    await until(() => lines.join().includes('its forceFlush was not done'))
    expect(lines).toContain('metricReaders[0]: its setMetricProducer failed; everything else goes on')
    expect(lines).toContain('metricReaders[0]: its forceFlush was not done after 50 ms; everything else goes on')
    expect(lines).toContain('metricReaders[0]: its shutdown failed; everything else goes on')
  })
})

describe('an unusable extension', () => {
  test.each<[string, object, string]>([
    ['no list', { spanProcessors: processor() }, 'spanProcessors: expected a list; nothing is added'],
    [
      'no processor',
      { spanProcessors: [{ onEnd: boom }] },
      'spanProcessors[0]: expected an object with the methods onStart, onEnd; it is left out',
    ],
    [
      'no reader',
      { metricReaders: [null] },
      'metricReaders[0]: expected an object with the methods setMetricProducer, collect; it is left out',
    ],
    ['no function', { enrich: { a: 1 } }, 'enrich: expected a function; nothing is added to the spans'],
  ])('is reported in one line: %s', async (_, options, line) => {
    const { plugin, lines } = scratchPlugin({ ...QUIET, ...options })
    await tellTurn(plugin)
    expect(lines).toEqual([line])
    expect(plugin.stats().hooks.ok).toBe(5)
  })

  test('is reported in one line if providers are passed in, which have processors and readers of their own', () => {
    const handedIn = { tracerProvider: trace.getTracerProvider(), meterProvider: metricsApi.getMeterProvider() }
    const { lines } = scratchPlugin({ ...handedIn, spanProcessors: [processor()], metricReaders: [new ManualReader()] })
    expect(lines).toEqual([
      'spanProcessors: they are left out where a provider is handed in; give them to that provider',
      'metricReaders: they are left out where a provider is handed in; give them to that provider',
    ])
  })
})

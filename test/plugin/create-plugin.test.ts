import { metrics, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { describe, expect, test } from 'vitest'
import { HOOK_NAMES, type Plugin, type PluginOptions } from '../../src/index.ts'
import { filesBelow, scratchHome, scratchPlugin, tellTurn } from './scratch-plugin.ts'

function recorded(): { tracerProvider: BasicTracerProvider; names: () => string[] } {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  return { tracerProvider, names: () => exporter.getFinishedSpans().map(span => span.name) }
}

function counted(): { meterProvider: MeterProvider; names: () => Promise<string[]> } {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const names = async (): Promise<string[]> => {
    await meterProvider.forceFlush()
    const scopes = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
    return scopes.flatMap(scope => scope.metrics.map(({ descriptor }) => descriptor.name))
  }
  return { meterProvider, names }
}

/** Who listens for the end of the process before any plugin does. */
const OF_OTHERS: readonly unknown[] = process.listeners('beforeExit')

const TURN = ['tool.terminal', 'llm.qwen3', 'agent']

test('forwards `on` to `emit`, switched off or not', () => {
  for (const enabled of [true, false]) {
    const { plugin } = scratchPlugin({ enabled })
    expect(plugin.on).toBe(plugin.emit)
  }
  const { plugin } = scratchPlugin()
  const { emit } = plugin
  emit('pre_llm_call', { session_id: 's', turn_id: 't' })
  expect(plugin.stats().turnsOpen).toBe(1)
})

describe('switched off', () => {
  test('accepts everything and does nothing', async () => {
    const before = process.listenerCount('beforeExit')
    const { plugin, lines, home } = scratchPlugin({ enabled: false })
    expect(tellTurn(plugin)).toBeUndefined()
    for (const hook of HOOK_NAMES) expect(plugin.handlers[hook]({ session_id: 's1' })).toBeUndefined()
    expect(plugin.traceparent({ session_id: 's1' })).toBeUndefined()
    await expect(plugin.flush()).resolves.toBeUndefined()
    await expect(plugin.shutdown()).resolves.toBeUndefined()
    expect(plugin.stats()).toMatchObject({ hooks: { ok: 0, ignored: 0 }, spansOpen: 0, turnsOpen: 0, backends: [] })
    expect(filesBelow(home)).toEqual([])
    expect(process.listenerCount('beforeExit')).toBe(before)
    expect(lines).toEqual([])
  })
})

describe('a handler', () => {
  test('exists for every hook, and needs no this', () => {
    const { plugin } = scratchPlugin({ local_log: false })
    expect(Object.keys(plugin.handlers)).toEqual([...HOOK_NAMES])
    const { on_session_start: start, on_session_end: end } = plugin.handlers
    expect(start({ session_id: 's1' })).toBeUndefined()
    expect(end({ session_id: 's1', completed: true })).toBeInstanceOf(Promise)
    expect(plugin.stats().hooks.ok).toBe(2)
  })

  test('ignores further arguments beside the payload', () => {
    const { plugin } = scratchPlugin({ local_log: false })
    const start = plugin.handlers.on_session_start as (...given: unknown[]) => unknown
    expect(start({ session_id: 's1' }, { at: 'never', host: 7 }, () => undefined)).toBeUndefined()
    expect(start()).toBeUndefined()
    expect(plugin.stats().hooks.error).toBe(0)
  })
})

describe('providers that are passed in', () => {
  test('receives the spans and the points, and we export nothing of our own', async () => {
    const [spans, points] = [recorded(), counted()]
    const backends = [{ type: 'otlp', endpoint: 'http://127.0.0.1:1' }] as const
    const { plugin, home } = scratchPlugin({ ...spans, ...points, backends: [...backends] })
    await tellTurn(plugin)
    expect(spans.names()).toEqual(TURN)
    expect(await points.names()).toContain('hermes.tool.calls')
    expect(plugin.stats()).toMatchObject({ backends: [] })
    expect(plugin.stats().traceFiles).toEqual([])
    await plugin.shutdown()
    expect(filesBelow(home)).toEqual([])
  })

  test('has no points, and none of ours, with a tracer provider alone', async () => {
    const spans = recorded()
    const { plugin, home } = scratchPlugin({ tracerProvider: spans.tracerProvider })
    await tellTurn(plugin)
    await plugin.shutdown()
    expect(spans.names()).toEqual(TURN)
    expect(filesBelow(home)).toEqual([])
  })

  test('has no spans, and none of ours, with a meter provider alone', async () => {
    const points = counted()
    const { plugin, home } = scratchPlugin({ meterProvider: points.meterProvider })
    await tellTurn(plugin)
    expect(await points.names()).toContain('hermes.sessions')
    expect(plugin.stats()).toMatchObject({ hooks: { ok: 5, error: 0 }, spansOpen: 0 })
    await plugin.shutdown()
    expect(filesBelow(home)).toEqual([])
  })

  test("does not shut down the host's providers", async () => {
    const [spans, points] = [recorded(), counted()]
    const { plugin } = scratchPlugin({ ...spans, ...points })
    await plugin.shutdown()
    spans.tracerProvider.getTracer('host').startSpan('of the host').end()
    points.meterProvider.getMeter('host').createCounter('of.the.host').add(1)
    expect(spans.names()).toEqual(['of the host'])
    expect(await points.names()).toContain('of.the.host')
  })

  test('loses the spans, not the agent, if providers throw at every step', async () => {
    const boom = (): never => {
      throw new Error('no tracer today')
    }
    const tracer = { startSpan: boom, startActiveSpan: boom }
    const { plugin, lines } = scratchPlugin({ tracerProvider: { getTracer: () => tracer } })
    expect(() => void tellTurn(plugin)).not.toThrow()
    expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
    expect(lines.length).toBeLessThanOrEqual(5)
    await plugin.shutdown()
  })

  test.each(['tracerProvider', 'meterProvider'] as const)('reports an invalid provider in one line: %s', name => {
    for (const odd of [{}, { getTracer: 1, getMeter: 1 }, 'yes', 42, null, []]) {
      let made: Plugin | undefined
      expect(() => {
        made = scratchPlugin({ [name]: odd } as PluginOptions).plugin
      }).not.toThrow()
      expect(() => made && void tellTurn(made)).not.toThrow()
    }
  })
})

test('touches no provider of the process', async () => {
  const before = [trace.getTracerProvider(), metrics.getMeterProvider(), trace.getActiveSpan()]
  const { plugin } = scratchPlugin()
  await tellTurn(plugin)
  await plugin.shutdown()
  expect([trace.getTracerProvider(), metrics.getMeterProvider(), trace.getActiveSpan()]).toEqual(before)
})

describe('the end of the process', () => {
  const ours = (): (() => void)[] =>
    process.listeners('beforeExit').filter(listener => !OF_OTHERS.includes(listener)) as unknown as (() => void)[]

  test('is listened to once for all plugins, and no more when they are shut down', async () => {
    const plugins = Array.from({ length: 5 }, () => scratchPlugin({ local_log: false }).plugin)
    expect(ours()).toHaveLength(1)
    for (const plugin of plugins) await plugin.shutdown()
    expect(ours()).toHaveLength(0)
  })

  test('shuts down every plugin that is left, and only once', async () => {
    const spans = [recorded(), recorded()]
    const plugins = spans.map(({ tracerProvider }) => scratchPlugin({ tracerProvider }).plugin)
    for (const plugin of plugins) plugin.on('on_session_start', { session_id: 's1' })
    for (const listener of [...ours(), ...ours()]) listener()
    expect(plugins.map(plugin => plugin.stats().spansOpen)).toEqual([0, 0])
    await Promise.all(plugins.map(plugin => plugin.shutdown()))
    expect(spans.map(({ names }) => names())).toEqual([['agent'], ['agent']])
  })

  test('handles no signals, unless the host asks', async () => {
    const count = (): number[] => [process.listenerCount('SIGINT'), process.listenerCount('SIGTERM')]
    const before = count()
    scratchPlugin({ local_log: false })
    expect(count()).toEqual(before)
    const plugins = [1, 2].map(() => scratchPlugin({ local_log: false, handle_signals: true }).plugin)
    expect(count()).toEqual(before.map(listeners => listeners + 1))
    for (const plugin of plugins) await plugin.shutdown()
    expect(count()).toEqual(before)
  })
})

describe('a plugin that is shut down', () => {
  test('has ended its open spans, once, however often it is called', async () => {
    const { tracerProvider, names } = recorded()
    const { plugin } = scratchPlugin({ tracerProvider })
    plugin.on('pre_llm_call', { session_id: 's1', turn_id: 't1', model: 'qwen3' })
    await Promise.all([plugin.shutdown(), plugin.shutdown()])
    await plugin.shutdown()
    expect(names()).toEqual(['llm.qwen3', 'agent'])
    expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
  })

  test('accepts nothing more, counts it, and does not throw', async () => {
    const { tracerProvider, names } = recorded()
    const { plugin } = scratchPlugin({ tracerProvider })
    await plugin.shutdown()
    expect(tellTurn(plugin)).toBeUndefined()
    expect(names()).toEqual([])
    expect(plugin.stats().hooks).toEqual({ ok: 0, ignored: 5, duplicate: 0, error: 0 })
    await expect(plugin.flush()).resolves.toBeUndefined()
    expect(plugin.traceparent({ session_id: 's1' })).toBeUndefined()
  })
})

test.each([
  null,
  42,
  'text',
  [],
  () => undefined,
  { host: 42 },
  { host: null },
  { enabled: 'perhaps' },
  { backends: {} },
])('does not throw for meaningless options: %j', odd => {
  expect(() => scratchPlugin(odd as unknown as PluginOptions)).not.toThrow()
})

test('separates two plugins in one home', async () => {
  const home = scratchHome()
  const [one, other] = [scratchPlugin({}, home).plugin, scratchPlugin({}, home).plugin]
  await Promise.all([tellTurn(one), tellTurn(other)])
  await Promise.all([one.shutdown(), other.shutdown()])
  const files = [one.stats().traceFiles[0], other.stats().traceFiles[0]]
  expect(new Set(files).size).toBe(2)
  expect(filesBelow(home)).toHaveLength(2)
})

import { type Context, context, createContextKey, ProxyTracerProvider, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import type { Plugin, SpanIds } from '../../src/index.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { HOSTILE_VALUES } from '../support/hostile-values.ts'
import { attributes, only } from '../traces/scenes.ts'
import { hostTelemetry } from './host-telemetry.ts'
import { scratchPlugin } from './scratch-plugin.ts'

const IDS = { session_id: 's1', turn_id: 't1' }
const TOOL = { ...IDS, tool_call_id: 'c1', tool_name: 'query' }
const KEY = createContextKey('of the host')

function began<Some extends Plugin>(plugin: Some): Some {
  plugin.emit('pre_llm_call', { ...IDS, model: 'qwen3' })
  plugin.emit('pre_tool_call', TOOL)
  return plugin
}

function ended(plugin: Plugin): void {
  plugin.emit('post_tool_call', TOOL)
  void plugin.emit('on_session_end', { ...IDS, completed: true })
}

const spanIn = (held: Context): string | undefined => trace.getSpanContext(held)?.spanId

describe("a span of the user's", () => {
  test('is below the tool that made it, in its trace, wherever each is recorded', () => {
    const host = hostTelemetry()
    const plugin = createTestPlugin()
    began(plugin)
    context.with(plugin.context({ tool_call_id: 'c1' }), () => host.within('SELECT', () => undefined))
    ended(plugin)
    const { traceId, spanId } = only(plugin, 'tool.query')
    expect(host.span('SELECT').spanContext().traceId).toBe(traceId)
    expect(host.span('SELECT').parentSpanContext).toMatchObject({ traceId, spanId })
  })

  test("is in one trace and exporter with ours if the providers are the host's", async () => {
    const host = hostTelemetry()
    const { plugin } = scratchPlugin({ tracerProvider: host.tracerProvider })
    began(plugin)
    await context.with(plugin.context(TOOL), () =>
      host.within('SELECT', async () => {
        await undefined
        host.within('connect', () => undefined)
      }),
    )
    ended(plugin)
    const parents = host
      .ended()
      .map(span => [
        span.name,
        host.ended().find(other => other.spanContext().spanId === span.parentSpanContext?.spanId)?.name,
      ])
    expect(new Map(parents as [string, string | undefined][])).toEqual(
      new Map([
        ['agent', undefined],
        ['llm.qwen3', 'agent'],
        ['tool.query', 'llm.qwen3'],
        ['SELECT', 'tool.query'],
        ['connect', 'SELECT'],
      ]),
    )
  })

  test('is not sampled where its turn is not', () => {
    const host = hostTelemetry()
    const plugin = createTestPlugin({ sample_rate: 0 })
    began(plugin)
    context.with(plugin.context(TOOL), () => host.within('SELECT', () => undefined))
    expect(host.ended()).toEqual([])
  })

  test('writes to itself and not to ours, which it cannot end either', () => {
    hostTelemetry()
    const plugin = createTestPlugin()
    began(plugin)
    context.with(plugin.context(TOOL), () => {
      trace.getActiveSpan()?.setAttribute('said', 'not masked').setStatus({ code: 2 }).updateName('mine').end()
    })
    ended(plugin)
    expect(attributes(plugin, 'tool.query')).not.toHaveProperty('said')
    expect(only(plugin, 'tool.query').status).toBe('ok')
  })
})

describe('the context', () => {
  test('is that of the named tool, else of the innermost span of the turn', () => {
    const plugin = createTestPlugin()
    began(plugin)
    const loop = spanIn(plugin.context(IDS))
    plugin.emit('pre_api_request', { ...IDS, api_request_id: 'r1', model: 'qwen3' })
    const [request, tool] = [IDS, TOOL].map(ids => spanIn(plugin.context(ids)))
    ended(plugin)
    expect([loop, request, tool]).toEqual(
      ['llm.qwen3', 'api.qwen3', 'tool.query'].map(name => only(plugin, name).spanId),
    )
  })

  test('is the given one with the span in it, and keeps its other values', () => {
    const plugin = createTestPlugin()
    began(plugin)
    const base = ROOT_CONTEXT.setValue(KEY, 'kept')
    const held = plugin.context(TOOL, base)
    expect(held.getValue(KEY)).toBe('kept')
    expect(spanIn(held)).toBeDefined()
    expect(spanIn(base)).toBeUndefined()
  })

  test('is the active one with the span in it if none is given', () => {
    hostTelemetry()
    const plugin = createTestPlugin()
    began(plugin)
    context.with(context.active().setValue(KEY, 'active'), () => {
      expect(plugin.context(TOOL).getValue(KEY)).toBe('active')
    })
  })

  test.each<[string, () => Plugin]>([
    ['nothing is open', () => createTestPlugin()],
    ['something else is open', () => began(createTestPlugin())],
    ['the plugin is switched off', () => began(scratchPlugin({ enabled: false }).plugin)],
    [
      'the provider that was handed in records nothing',
      () => began(scratchPlugin({ tracerProvider: new ProxyTracerProvider() }).plugin),
    ],
    [
      'it is over',
      () => {
        const { plugin } = scratchPlugin({ local_log: false })
        began(plugin)
        void plugin.shutdown()
        return plugin
      },
    ],
  ])('is the given or the active one for %s', (what, make) => {
    const host = hostTelemetry()
    const plugin = make()
    host.within('active', span => {
      const asked = { ...TOOL, tool_call_id: what === 'something else is open' ? 'other' : 'c1' }
      const base = ROOT_CONTEXT.setValue(KEY, 'given')
      expect(plugin.context(asked, base)).toBe(base)
      expect(plugin.context(asked)).toBe(context.active())
      expect(spanIn(plugin.context(asked))).toBe(span.spanContext().spanId)
    })
  })

  test('ignores `propagate_context`, which is about outgoing data', () => {
    const plugin = createTestPlugin({ propagate_context: false })
    began(plugin)
    expect(spanIn(plugin.context(TOOL))).toBeDefined()
  })

  test.each(HOSTILE_VALUES.map(({ name, make }) => [name, make] as const))(
    'is the active one for invalid ids or on an invalid base: %s',
    (_name, make) => {
      for (const plugin of [createTestPlugin(), scratchPlugin({ enabled: false }).plugin]) {
        began(plugin)
        expect(plugin.context({ session_id: 'nobody' }, make() as Context)).toBe(ROOT_CONTEXT)
        const base = ROOT_CONTEXT.setValue(KEY, 'given')
        expect(plugin.context({ session_id: make() } as SpanIds, base).getValue(KEY)).toBe('given')
        expect(plugin.context(make() as SpanIds, base).getValue(KEY)).toBe('given')
      }
    },
  )
})

test('has no traceparent from a provider that records nothing', () => {
  const { plugin } = scratchPlugin({ tracerProvider: new ProxyTracerProvider() })
  began(plugin)
  expect(plugin.traceparent(TOOL)).toBeUndefined()
})

import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-base'
import { describe, expect, test } from 'vitest'
import { createTestPlugin, type StoredSpan, type TestPlugin } from '../../src/testing.ts'
import { feedSteps } from '../support/feed.ts'
import { createLivePlugin } from '../traces/live-plugin.ts'
import { began, childTurn, delegated, only } from '../traces/scenes.ts'
import { hostTelemetry } from './host-telemetry.ts'
import { scratchPlugin, tellTurn } from './scratch-plugin.ts'

const TRACE = 'a'.repeat(32)
const SPAN = 'b'.repeat(16)
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`
const PARENTS = ['link', 'nest', 'active'] as const

type Parent = (typeof PARENTS)[number]

function rootsOf(plugin: { spans(): readonly StoredSpan[] }): StoredSpan[] {
  return plugin.spans().filter(span => span.name === 'agent')
}

function rootOf(plugin: { spans(): readonly StoredSpan[] }): StoredSpan {
  const [root, ...others] = rootsOf(plugin)
  if (root === undefined || others.length > 0) throw new Error(`${others.length} other roots`)
  return root
}

/** Where a root stands: below which span, and linked to which. */
function place({ parentSpanId, links }: StoredSpan): object {
  return { below: parentSpanId, linked: links.map(link => link.spanId) }
}

function tell(plugin: TestPlugin, extra: object = {}, session_id = 's1', turn_id = 't1'): void {
  const ids = { session_id, turn_id }
  plugin.emit('pre_llm_call', { ...ids, model: 'qwen3', ...extra })
  plugin.emit('post_llm_call', ids)
  void plugin.emit('on_session_end', { ...ids, completed: true })
}

describe("the host's active span", () => {
  test('is the parent of a turn that begins in it, with `parent: active`', () => {
    const host = hostTelemetry()
    const plugin = createTestPlugin({ parent: 'active' })
    host.within('POST /chat', () => tell(plugin))
    const { traceId, spanId } = host.span('POST /chat').spanContext()
    expect(rootOf(plugin)).toMatchObject({ traceId, parentSpanId: spanId, links: [] })
  })

  test.each(['link', 'nest'] as const)('is not looked at with `parent: %s`', parent => {
    const host = hostTelemetry()
    const plugin = createTestPlugin({ parent })
    host.within('POST /chat', () => tell(plugin))
    expect(place(rootOf(plugin))).toEqual({ below: undefined, linked: [] })
  })

  test('is not read by default', () => {
    const host = hostTelemetry()
    const plugin = createTestPlugin()
    host.within('POST /chat', () => tell(plugin))
    expect(place(rootOf(plugin))).toEqual({ below: undefined, linked: [] })
  })

  test('is that of the hook that begins the turn, not of later ones', () => {
    const host = hostTelemetry()
    const plugin = createTestPlugin({ parent: 'active' })
    host.within('first', () => plugin.emit('on_session_start', { session_id: 's1' }))
    host.within('second', () => tell(plugin))
    expect(rootOf(plugin).parentSpanId).toBe(host.span('first').spanContext().spanId)
  })

  test('is that of each asynchronous context, whatever else runs', async () => {
    const host = hostTelemetry()
    const plugin = createTestPlugin({ parent: 'active' })
    const serve = (name: string): Promise<void> =>
      host.within(name, async () => {
        await undefined
        tell(plugin, {}, name, name)
      })
    await Promise.all([serve('one'), serve('two')])
    for (const name of ['one', 'two']) {
      const root = rootsOf(plugin).find(({ attributes }) => attributes['session.id'] === name)
      expect(root?.parentSpanId).toBe(host.span(name).spanContext().spanId)
    }
  })

  test('leaves the turn a trace of its own if there is none', () => {
    hostTelemetry()
    const plugin = createTestPlugin({ parent: 'active' })
    tell(plugin)
    const invalid = trace.setSpanContext(ROOT_CONTEXT, { traceId: '0', spanId: '0', traceFlags: 1 })
    context.with(invalid, () => tell(plugin, {}, 's2', 't2'))
    expect(rootsOf(plugin).map(place)).toEqual(Array(2).fill({ below: undefined, linked: [] }))
  })

  test('may be unreadable: the turn is recorded all the same', () => {
    const fail = (): never => {
      throw new Error('no context today')
    }
    const plugin = createTestPlugin({ parent: 'active' })
    context.setGlobalContextManager({
      active: fail,
      with: fail,
      bind: fail,
      enable: fail,
      disable: () => undefined as never,
    })
    plugin.emit('pre_llm_call', { session_id: 's1', turn_id: 't1', model: 'qwen3' })
    context.disable()
    void plugin.emit('on_session_end', { session_id: 's1', turn_id: 't1', completed: true })
    expect(plugin.tree({ status: false })).toBe('agent\n  llm.qwen3 (incomplete: turn_ended)')
    expect(plugin.stats().hooks.error).toBe(0)
  })

  test('is in one trace and one exporter with spans of providers that are passed in', async () => {
    const host = hostTelemetry()
    const { plugin } = scratchPlugin({ tracerProvider: host.tracerProvider, parent: 'active' })
    await host.within('POST /chat', () => tellTurn(plugin))
    const { traceId, spanId } = host.span('POST /chat').spanContext()
    expect(host.span('agent').parentSpanContext).toMatchObject({ traceId, spanId })
    expect(host.span('agent').parentSpanContext?.isRemote).not.toBe(true)
    expect(new Set(host.ended().map(span => span.spanContext().traceId))).toEqual(new Set([traceId]))
  })

  test('excludes the turn if the host does not sample it, and keeps the metrics', async () => {
    const host = hostTelemetry({ sampler: new AlwaysOffSampler() })
    const plugin = createTestPlugin({ parent: 'active' })
    host.within('POST /chat', () => tell(plugin))
    expect(plugin.spans()).toEqual([])
    expect(await plugin.metrics()).toContainEqual(expect.objectContaining({ name: 'hermes.sessions', value: 1 }))
  })
})

describe('a traceparent of the caller', () => {
  const NESTED = { below: SPAN, linked: [] }
  const LINKED = { below: undefined, linked: [SPAN] }

  test.each([
    ['link', LINKED],
    ['nest', NESTED],
    ['active', NESTED],
  ] as const)('is read from the record, `parent: %s`', (parent, expected) => {
    for (const hook of ['on_session_start', 'pre_llm_call'] as const) {
      const plugin = createTestPlugin({ parent })
      plugin.emit(hook, { session_id: 's1', turn_id: 't1', traceparent: TRACEPARENT })
      void plugin.emit('on_session_end', { session_id: 's1', turn_id: 't1', completed: true })
      expect(place(rootOf(plugin))).toEqual(expected)
    }
  })

  test('is a link without a setting', () => {
    const plugin = createTestPlugin()
    tell(plugin, { traceparent: TRACEPARENT })
    expect(place(rootOf(plugin))).toEqual(LINKED)
  })

  test("is preferred from the record to the active span, and that to the process's", async () => {
    const host = hostTelemetry()
    const other = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`
    const plugin = createLivePlugin({ parent: 'active' }, { env: { TRACEPARENT: other } })
    const turn = (turn_id: string, extra: object = {}): void => {
      plugin.emit('pre_llm_call', { session_id: turn_id, turn_id, ...extra })
      void plugin.emit('on_session_end', { session_id: turn_id, turn_id, completed: true })
    }
    host.within('active', () => {
      turn('1', { traceparent: TRACEPARENT })
      turn('2')
    })
    turn('3')
    expect(rootsOf(plugin).map(root => root.parentSpanId)).toEqual([
      SPAN,
      host.span('active').spanContext().spanId,
      'd'.repeat(16),
    ])
    await plugin.shutdown()
  })

  test.each(PARENTS)('is a link if it arrives after the root, once (%s)', parent => {
    const plugin = createTestPlugin({ parent })
    plugin.emit('on_session_start', { session_id: 's1' })
    tell(plugin, { traceparent: TRACEPARENT })
    plugin.emit('on_session_start', { session_id: 's2' })
    for (let again = 0; again < 3; again += 1)
      plugin.emit('on_session_start', { session_id: 's2', traceparent: TRACEPARENT })
    tell(plugin, { traceparent: TRACEPARENT }, 's2', 't2')
    expect(rootsOf(plugin).map(place)).toEqual([LINKED, LINKED])
    expect(rootsOf(plugin)[0]?.links[0]?.attributes).toEqual({ 'hermes.link': 'parent' })
  })

  test('is no link if the root has it already', () => {
    const plugin = createTestPlugin({ parent: 'nest' })
    plugin.emit('on_session_start', { session_id: 's1', traceparent: TRACEPARENT })
    tell(plugin, { traceparent: TRACEPARENT })
    expect(place(rootOf(plugin))).toEqual(NESTED)
  })

  test.each(['nest', 'active'] as const)('records nothing if it is not sampled (%s)', parent => {
    const plugin = createTestPlugin({ parent })
    tell(plugin, { traceparent: `${TRACEPARENT.slice(0, -2)}00` })
    expect(plugin.spans()).toEqual([])
  })

  test('does not exclude a separate trace if it is not sampled (link)', () => {
    const plugin = createTestPlugin({ parent: 'link' })
    tell(plugin, { traceparent: `${TRACEPARENT.slice(0, -2)}00` })
    expect(place(rootOf(plugin))).toEqual(LINKED)
  })

  test('overrules the own share if it is sampled (nest)', () => {
    const plugin = createTestPlugin({ parent: 'nest', sample_rate: 0 })
    tell(plugin, { traceparent: TRACEPARENT })
    expect(rootOf(plugin).traceId).toBe(TRACE)
  })
})

describe('precedence over a caller', () => {
  test.each(PARENTS)('prefers a known delegation: its children nest, and nothing else (%s)', parent => {
    const host = hostTelemetry()
    const plugin = createTestPlugin({ parent })
    feedSteps(plugin, [...began(), delegated(100)])
    host.within('elsewhere', () => feedSteps(plugin, childTurn(150)))
    feedSteps(plugin, [[400, 'subagent_stop', { child_session_id: 'C', child_status: 'completed' }]])
    const child = rootOf(plugin)
    expect(child.parentSpanId).toBe(only(plugin, 'subagent.researcher').spanId)
    expect(child.links).toEqual([])
  })
})

describe('a turn that begins in a context of ours', () => {
  test.each([
    ['link', false],
    ['nest', false],
    ['active', true],
  ] as const satisfies readonly (readonly [Parent, boolean])[])(
    'puts the turn below the tool, `parent: %s`: %s',
    (parent, isBelow) => {
      hostTelemetry()
      const plugin = createTestPlugin({ parent })
      const ids = { session_id: 's1', turn_id: 't1' }
      const tool = { ...ids, tool_call_id: 'c1', tool_name: 'ask_expert' }
      plugin.emit('pre_llm_call', { ...ids, model: 'qwen3' })
      plugin.emit('pre_tool_call', tool)
      context.with(plugin.context(tool), () => tell(plugin, {}, 'expert', 'e1'))
      plugin.emit('post_tool_call', tool)
      void plugin.emit('on_session_end', { ...ids, completed: true })
      const expert = rootsOf(plugin).find(({ attributes }) => attributes['hermes.session.id'] === 'expert')
      expect(expert?.parentSpanId).toBe(isBelow ? only(plugin, 'tool.ask_expert').spanId : undefined)
      if (isBelow) expect(plugin.tree()).not.toMatch(/parent/)
    },
  )
})

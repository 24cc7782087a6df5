import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Enrich, EnrichedSpan, EnrichRecord } from '../../src/index.ts'
import { attributeOptionsOf } from '../../src/plugin/settings.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { Enrichment } from '../../src/tracker/enrichment.ts'
import { Guard } from '../../src/tracker/guard.ts'
import { TrackedSession } from '../../src/tracker/turn.ts'
import { resolved } from '../plugin/config/scratch-home.ts'
import { openSpan, turnOf } from '../support/core-parts.ts'
import { feedSteps, START_AT } from '../support/feed.ts'
import { answered, asked, attributes, began, only, used } from '../traces/scenes.ts'

const STORY = [...began(), ...asked(100), ...used(250), ...answered(400)]

function told(enrich: unknown, options: object = {}): TestPlugin {
  const plugin = createTestPlugin({ host: 'my-agent', enrich: enrich as Enrich, ...options })
  feedSteps(plugin, STORY)
  return plugin
}

describe('enrich', () => {
  test('is called at the start and at the end of each span, with its record', () => {
    const calls: [EnrichRecord, EnrichedSpan][] = []
    const plugin = told((record: EnrichRecord, span: EnrichedSpan) => {
      calls.push([record, span])
      return { [`${span.phase}.kind`]: span.kind, [`${span.phase}.hook`]: record.hook }
    })
    for (const { attributes: written } of plugin.spans()) {
      expect(written['start.kind']).toBe(written['hermes.span.kind'])
      expect(written['end.kind']).toBe(written['hermes.span.kind'])
    }
    expect(attributes(plugin, 'tool.terminal')).toMatchObject({
      'start.hook': 'pre_tool_call',
      'end.hook': 'post_tool_call',
    })
    const tool = only(plugin, 'tool.terminal')
    const [start, end] = calls.filter(([, { kind }]) => kind === 'tool')
    const facts = { kind: 'tool', name: 'tool.terminal', traceId: tool.traceId, spanId: tool.spanId }
    const ids = { sessionId: 's1', turnId: 't1', startAt: START_AT + 250 }
    expect(start?.[1]).toEqual({ ...facts, ...ids, phase: 'start', endAt: undefined, errorType: undefined })
    expect(end?.[1]).toEqual({ ...facts, ...ids, phase: 'end', endAt: START_AT + 300, errorType: undefined })
    expect(end?.[0]).toMatchObject({ hook: 'post_tool_call', at: START_AT + 300, payload: { result: 'done' } })
    const root = calls.find(([, { kind, phase }]) => kind === 'session' && phase === 'end')
    expect(root?.[0]).toEqual({
      hook: 'on_session_end',
      at: START_AT + 410,
      payload: { completed: true, interrupted: false },
    })
  })

  test('receives the error type', () => {
    const plugin = createTestPlugin({ enrich: (_, { errorType }) => ({ 'my.error': errorType }) })
    feedSteps(plugin, [...began(), ...used(100, {}, { status: 'error', error_type: 'ExitCode' }), ...answered(400)])
    expect(attributes(plugin, 'tool.terminal')).toHaveProperty(['my.error'], 'ExitCode')
    expect(attributes(plugin, 'llm.qwen3')).not.toHaveProperty(['my.error'])
  })

  test("is masked, cannot replace hookspan's attributes, and is bounded", () => {
    const plugin = told(() => ({
      note: 'uses ghp_example0000000000example0000000000',
      api_key: 'hunter2',
      'gen_ai.request.model': 'forged',
      long: 'x'.repeat(5000),
    }))
    expect(attributes(plugin, 'tool.terminal')).toMatchObject({ note: 'uses [REDACTED]', api_key: '[REDACTED]' })
    expect(String(attributes(plugin, 'tool.terminal')['long'])).toHaveLength(200)
    expect(JSON.stringify(plugin.spans())).not.toContain('forged')
    expect(plugin.reported).toEqual([
      'enrich: gen_ai.request.model is a name that hookspan writes itself; it is left out, choose another',
    ])
  })

  test('costs the span nothing if it throws, and is reported once', () => {
    const plugin = told(() => {
      throw new TypeError('quotes somebody')
    })
    const bare = told(undefined)
    expect(plugin.spans().map(({ attributes: written }) => written)).toEqual(
      bare.spans().map(({ attributes: written }) => written),
    )
    expect(plugin.reported).toEqual([expect.stringMatching(/^enrich: TypeError at \S*\.ts:\d+; /)])
    expect(plugin.stats().hooks.error).toBeGreaterThan(0)
  })

  test.each<[string, unknown, RegExp]>([
    ['a promise', async () => Promise.reject(new Error('later')), /^enrich: it returned a promise/],
    ['a text', () => 'team=search', /^enrich: expected an object of attributes/],
    ['a list in it', () => ({ tags: ['a'] }), /^enrich: tags is neither text, a number nor a boolean/],
  ])('causes one line if it returns %s', async (_, enrich, line) => {
    const plugin = told(enrich)
    await new Promise(setImmediate)
    expect(plugin.tree()).toContain('tool.terminal OK')
    expect(plugin.reported).toEqual([expect.stringMatching(line)])
    expect(plugin.stats().hooks.error).toBe(0)
  })

  test.each([[() => undefined], [() => null], [() => ({})], [() => ({ left: undefined, out: null })]])(
    'may add nothing',
    enrich => {
      const plugin = told(enrich)
      expect(plugin.reported).toEqual([])
      expect(plugin.tree()).toBe(told(undefined).tree())
    },
  )

  test('is not called for hooks that it emits itself', () => {
    let calls = 0
    const plugin: TestPlugin = createTestPlugin({
      enrich: () => {
        calls += 1
        plugin.emit('pre_tool_call', { session_id: 'other', tool_name: 'inner', tool_call_id: `c${calls}` })
        return {}
      },
    })
    feedSteps(plugin, STORY)
    expect(calls).toBe(2 * 4)
  })

  test('is reported once if it is slow, with its duration', () => {
    const lines: string[] = []
    const warn = (line: string): void => void lines.push(line)
    const guard = new Guard({ warn, error: warn, debug: () => undefined }, name => name)
    let now = 0
    const attributeOptions = attributeOptionsOf(resolved({}).config, warn)
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 2.5))
    onTestFinished(() => void vi.restoreAllMocks())
    const enrichment = new Enrichment(() => ({ a: 1 }), { attributeOptions, sweepByClock: true }, guard)
    const open = openSpan('tool', turnOf(new TrackedSession('s', 'h', 's')))
    for (let call = 1; call <= 19; call++)
      enrichment.attributesFor(open, { hook: 'pre_tool_call', at: 0, payload: {}, facts: {} })
    expect(lines).toEqual([])
    for (let call = 1; call <= 50; call++)
      enrichment.attributesFor(open, { hook: 'pre_tool_call', at: 0, payload: {}, facts: {} })
    expect(lines).toEqual(['enrich takes 2.5 ms each time it is called, and the agent waits for it'])
  })
})

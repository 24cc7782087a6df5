/** A record is taken, and worked off between two turns of the event loop; nothing of that shows but the time. */
import { readdirSync } from 'node:fs'
import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { context, trace } from '@opentelemetry/api'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { HOOK_NAMES, type HookName } from '../../src/index.ts'
import { resolveConfig } from '../../src/plugin/config/resolve.ts'
import { pipelineSettings } from '../../src/plugin/settings.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { HOOK_PLAN } from '../../src/tracker/spans/hook-plan.ts'
import { CONTRACT_FIELDS } from '../support/contract-fields.ts'
import fc from '../support/fast-check.ts'
import { type FedRecord, recordsOf, START_AT } from '../support/feed.ts'
import { SAMPLED, sample, times } from '../support/sample.ts'
import { createLivePlugin } from '../traces/live-plugin.ts'

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? times(2, 20))
const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_122)
const FIXTURES = new URL('../fixtures/hermes/', import.meta.url)
const MODES = [
  { content_capture: 'off' },
  { content_capture: 'preview' },
  { content_capture: 'preview', capture_conversation_history: true },
  { content_capture: 'full' },
  { content_capture: 'full', capture_conversation_history: true },
] as const

type Options = Parameters<typeof createTestPlugin>[0]

/** What a host may do with an object that it has handed to us. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const inner of Object.values(value)) spoil(inner)
  if (Array.isArray(value)) value.push('more', { role: 'user', content: 'another' })
  for (const key of Object.keys(value)) (value as Record<string, unknown>)[key] = 'spoilt'
}

/** As a host makes an object anew for each record. Far cheaper than `structuredClone` for thousands of small objects. */
function copyOf<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyOf) as Value
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) copy[key] = copyOf(value[key as keyof Value])
  return copy as Value
}

/** All that can be seen of records, each of them told before the next one is looked at, or all in one go. */
async function shown(
  records: readonly FedRecord[],
  options: Options,
  how: 'at once' | 'spoilt' | 'kept' | 'asked for',
): Promise<object> {
  const plugin = createTestPlugin({ host: 'agent', deterministic_ids: true, capture_sender_id: true, ...options })
  for (const record of records) {
    const { hook, payload, ...meta } = copyOf(record)
    void plugin.emitUntyped(hook, payload, meta)
    if (how === 'at once') plugin.stats()
    else if (how === 'asked for') plugin.traceparent({ session_id: 's1' })
    else if (how === 'spoilt') for (const told of [payload, meta]) spoil(told)
  }
  const { hooks, unread } = plugin.stats()
  await plugin.shutdown()
  const samples = (await plugin.metrics()).map(sample => JSON.stringify(sample)).sort()
  return { hooks, unread, spans: plugin.spans(), samples, reported: [...plugin.reported].sort() }
}

async function expectSame(
  records: readonly FedRecord[],
  options: Options,
  how: 'spoilt' | 'kept' | 'asked for' = 'spoilt',
): Promise<void> {
  expect(await shown(records, options, how)).toEqual(await shown(records, options, 'at once'))
}

function partsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + partsOf(inner), 1)
}

describe('a later change of a payload by the host', () => {
  afterEach(() => void vi.useRealTimers())

  const runs = readdirSync(FIXTURES).filter(name => name.endsWith('.jsonl'))

  test.each(MODES)(`changes nothing of captured runs (%o), ${SAMPLED}`, async mode => {
    for (const name of sample(runs, 4)) await expectSame(recordsOf(new URL(name, FIXTURES)), mode)
  })

  const WORDS = ['terminal', 'ls -la', 's1', 'error', '{"status": "error"}', '[1, 2', 'skills/pdf/SKILL.md', 'text ']
  const words = fc.constantFrom(...WORDS)
  const { tree: value } = fc.letrec(tie => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.oneof(words, fc.integer(), fc.boolean(), fc.constant(null), fc.constant('x'.repeat(9000))),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(
        fc.constantFrom(
          ...['body', 'model', 'messages', 'tools', 'content', 'role', 'type', 'text', 'name', 'path', 'command'],
          ...['prompt_tokens', 'output_tokens', 'message', 'total', 'stop', 'max_tokens', 'assistant_message', 'error'],
          ...['upstream_provider', 'status', 'exit_code', 'tool_calls', 'function', 'arguments', 'password'],
        ),
        tie('tree'),
        { maxKeys: 5 },
      ),
      fc.constantFrom(
        ...[2, 20, 150, 700, 6000].map(length => Array.from({ length }, (_, n) => ({ role: 'user', content: n }))),
      ),
    ),
  }))
  const ids = fc.constantFrom('s1', 's2')
  const record = fc.constantFrom(...HOOK_NAMES).chain(hook => {
    const fields = CONTRACT_FIELDS.get(hook) ?? []
    const told = Object.fromEntries(fields.map(field => [field, field.endsWith('_id') ? ids : value]))
    return fc.record(told, { requiredKeys: [] }).map(payload => ({ hook, payload }))
  })
  const story = fc
    .array(record, { minLength: 5, maxLength: 25 })
    .map(told => told.map((one, at): FedRecord => ({ ...one, at: START_AT + at * 10 })))

  // What has more parts is drawn while its host waits. Of a start nothing is kept that can change; an end that comes before its
  // start is kept as it is.
  const kept = story.map(records =>
    records.filter(({ hook, payload }) => HOOK_PLAN[hook as HookName]?.phase !== 'end' || partsOf(payload) < 400),
  )

  test.each(sample(MODES, 2))(`changes nothing of any records (%o), ${SAMPLED}`, async mode => {
    vi.useFakeTimers({ toFake: ['Date'], now: START_AT + 60_000 })
    const changesNothing = fc.asyncProperty(kept, records => expectSame(records, mode))
    await fc.assert(changesNothing, { numRuns: RUNS, seed: SEED })
  })

  test.each(sample(MODES, 2))(`has no effect, even if it is large (%o), ${SAMPLED}`, async mode => {
    vi.useFakeTimers({ toFake: ['Date'], now: START_AT + 60_000 })
    const showsNowhere = fc.asyncProperty(story, records => expectSame(records, mode, 'kept'))
    await fc.assert(showsNowhere, { numRuns: Math.ceil(RUNS / 4), seed: SEED })
  })

  test.each(MODES)(`has no effect, even if the context of spans is requested (%o), ${SAMPLED}`, async mode => {
    vi.useFakeTimers({ toFake: ['Date'], now: START_AT + 60_000 })
    for (const name of sample(runs, 2)) await expectSame(recordsOf(new URL(name, FIXTURES)), mode, 'asked for')
    const showsNowhere = fc.asyncProperty(story, records => expectSame(records, mode, 'asked for'))
    await fc.assert(showsNowhere, { numRuns: Math.ceil(RUNS / 4), seed: SEED })
  })

  test.each(MODES)(`changes nothing where each is worked off at once (%o), ${SAMPLED}`, async mode => {
    const options = { ...mode, enrich: () => undefined }
    for (const name of sample(runs, 2)) await expectSame(recordsOf(new URL(name, FIXTURES)), options)
  })

  test('has no effect if the payload is reused for the next record', () => {
    const plugin = createTestPlugin({ host: 'agent' })
    const payload = { session_id: 's', turn_id: 't', tool_call_id: '', tool_name: 'terminal', args: { command: '' } }
    for (const name of ['one', 'two']) {
      Object.assign(payload, { tool_call_id: name, tool_name: name })
      payload.args.command = `run ${name}`
      plugin.emit('pre_tool_call', payload)
    }
    for (const tool_call_id of ['one', 'two']) plugin.emit('post_tool_call', { session_id: 's', tool_call_id })
    const tools = plugin.spans().map(({ name, attributes }) => [name, attributes['hermes.tool.command']])
    expect(tools).toEqual([
      ['tool.one', 'run one'],
      ['tool.two', 'run two'],
    ])
  })
})

const CALL = { session_id: 's', turn_id: 't', tool_call_id: 'c', tool_name: 'terminal' }

/** A plugin with the texts that it has drawn so far, which cost as much time as is said. */
function watched(options: Options = {}, cost: () => void = () => undefined): { plugin: TestPlugin; drawn: string[] } {
  const drawn: string[] = []
  const redact = (text: string): string => {
    if (text.startsWith('result')) {
      drawn.push(/^result \d+/.exec(text)?.[0] ?? '')
      cost()
    }
    return text
  }
  return { plugin: createTestPlugin({ host: 'agent', content_capture: 'full', redact, ...options }), drawn }
}

function tell(plugin: TestPlugin, from: number, to: number, tail = ''): void {
  for (let n = from; n < to; n++) {
    const call = { ...CALL, tool_call_id: `c${n}`, duration_ms: 1 }
    plugin.emit('post_tool_call', { ...call, result: `result ${n}${tail}` }, { at: START_AT + n })
  }
}

function results(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, n) => `result ${from + n}`)
}

describe('the deferred work', () => {
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  test('is done when the event loop turns, in order, without a request', async () => {
    vi.spyOn(performance, 'now').mockReturnValue(0)
    const { plugin, drawn } = watched()
    tell(plugin, 0, 5)
    expect(drawn).toEqual([])
    await turnOfLoop()
    expect(drawn).toEqual(results(0, 5))
  })

  test('blocks the event loop for two milliseconds at a time', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: START_AT })
    let clock = 0
    vi.spyOn(performance, 'now').mockImplementation(() => clock)
    const { plugin, drawn } = watched({}, () => {
      clock += 1
    })
    tell(plugin, 0, 5)
    const turns: number[] = []
    while (drawn.length < 5) {
      await turnOfLoop()
      turns.push(drawn.length)
    }
    expect(turns.filter((done, n) => done !== turns[n - 1])).toEqual([2, 4, 5])
  })

  test('is not postponed any more when the loop was blocked for long', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: START_AT })
    let clock = 0
    vi.spyOn(performance, 'now').mockImplementation(() => clock)
    const { plugin, drawn } = watched({}, () => {
      clock += 1
    })
    tell(plugin, 0, 5)
    vi.setSystemTime(START_AT + 11)
    tell(plugin, 5, 10)
    await turnOfLoop()
    expect(drawn).toEqual(results(0, 5))
    plugin.stats()
    expect(drawn).toEqual(results(0, 10))
  })

  test('is done by a call beyond the limit, the oldest first', () => {
    const { plugin, drawn } = watched()
    tell(plugin, 0, 1000)
    expect(drawn).toEqual(results(0, drawn.length))
    expect(drawn.length).toBeGreaterThanOrEqual(1000 - 128)
  })

  test('is done at once if the pending records are large', () => {
    const { plugin, drawn } = watched()
    tell(plugin, 0, 1, 'x'.repeat(5 * 1024 * 1024))
    expect(drawn).toEqual(results(0, 1))
  })

  test.each<[string, (plugin: TestPlugin) => unknown]>([
    ['stats', plugin => plugin.stats()],
    ['traceparent', plugin => plugin.traceparent({ session_id: 's' })],
    ['context', plugin => plugin.context({ session_id: 's' })],
    ['flush', plugin => plugin.flush()],
    ['shutdown', plugin => plugin.shutdown()],
    ['tree', plugin => plugin.tree()],
    ['spans', plugin => plugin.spans()],
    ['metrics', plugin => plugin.metrics()],
    ['reported', plugin => plugin.reported],
  ])('is done before %s answers', (_, ask) => {
    const { plugin, drawn } = watched()
    tell(plugin, 0, 3)
    void ask(plugin)
    expect(drawn).toEqual(results(0, 3))
  })

  test('defers the arguments of a tool if a caller asks only for its context', async () => {
    const { plugin, drawn } = watched()
    plugin.emit('pre_tool_call', { ...CALL, args: { command: 'result 1' } })
    expect(plugin.traceparent(CALL)).toMatch(/^00-/)
    expect(drawn).toEqual([])
    await turnOfLoop()
    expect(new Set(drawn)).toEqual(new Set(['result 1']))
    plugin.emit('pre_tool_call', { ...CALL, tool_call_id: 'd', args: { command: 'result 2' } })
    plugin.context({ ...CALL, tool_call_id: 'd' })
    expect(drawn).not.toContain('result 2')
    plugin.stats()
    expect(drawn).toContain('result 2')
  })

  test('is counted before metrics are collected', async () => {
    const { plugin } = watched()
    tell(plugin, 0, 3)
    const samples = await plugin.metrics()
    const of = (name: string): unknown => samples.find(sample => sample.name === name)
    expect(of('hookspan.hooks')).toMatchObject({ value: 3 })
    expect(of('hermes.tool.calls')).toMatchObject({ value: 3 })
    expect(of('hermes.tool.duration')).toMatchObject({ count: 3 })
  })

  test('runs while the host waits if a callback is asked about a span', () => {
    const asked: string[] = []
    const plugin = createTestPlugin({
      enrich: ({ payload }) => {
        asked.push(String(payload['tool_call_id']))
        return {}
      },
    })
    plugin.emit('pre_tool_call', CALL)
    expect(asked).toContain('c')
  })

  test('continues if it emits records itself', async () => {
    const plugin: TestPlugin = createTestPlugin({
      redact: text => {
        if (text === 'first') plugin.emit('pre_tool_call', { ...CALL, tool_call_id: 'c2', args: 'second' })
        expect(plugin.stats().hooks.error).toBe(0)
        return text
      },
    })
    plugin.emit('pre_tool_call', { ...CALL, args: 'first' })
    await turnOfLoop()
    await turnOfLoop()
    expect(plugin.stats()).toMatchObject({ spansOpen: 3, hooks: { ok: 2 } })
  })

  test('runs a sweep after earlier records', () => {
    vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'], now: START_AT })
    const plugin = createLivePlugin({ root_span_ttl_ms: 60_000 })
    plugin.emit('pre_llm_call', { session_id: 's', turn_id: 't' })
    plugin.stats()
    vi.setSystemTime(START_AT + 59_000)
    plugin.emit('pre_tool_call', CALL)
    vi.setSystemTime(START_AT + 61_000)
    vi.advanceTimersByTime(6000)
    expect(plugin.stats().turnsOpen).toBe(1)
    return plugin.shutdown()
  })
})

describe('the moment', () => {
  afterEach(() => void vi.useRealTimers())

  test('is that of the call', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: START_AT })
    const plugin = createLivePlugin()
    plugin.emit('pre_tool_call', CALL)
    vi.setSystemTime(START_AT + 70)
    plugin.emit('post_tool_call', CALL)
    vi.setSystemTime(START_AT + 90)
    const tool = plugin.spans().find(({ name }) => name === 'tool.terminal')
    expect(tool).toMatchObject({ startAt: START_AT, endAt: START_AT + 70 })
    await plugin.shutdown()
  })

  test('has the span that was active then', async () => {
    const plugin = createLivePlugin({ parent: 'active' })
    const active = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 }
    vi.spyOn(context, 'active').mockReturnValue(trace.setSpanContext(context.active(), active))
    plugin.emit('pre_llm_call', { session_id: 's', turn_id: 't' })
    vi.restoreAllMocks()
    await plugin.shutdown()
    expect(plugin.spans().find(({ name }) => name === 'agent')).toMatchObject({ parentSpanId: active.spanId })
  })
})

describe('the end of a session', () => {
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  const ids = { session_id: 's', turn_id: 't' }

  test('is processed like any other record if its host does not await it', async () => {
    const flush = vi.fn(() => Promise.resolve())
    const plugin = createLivePlugin({}, { flush })
    plugin.emit('pre_llm_call', ids)
    void plugin.emit('on_session_end', { ...ids, completed: true })
    expect(flush).not.toHaveBeenCalled()
    await vi.waitFor(() => expect(flush).toHaveBeenCalledOnce())
    await plugin.shutdown()
  })

  test('is flushed at once, after pending records, if its host awaits it', async () => {
    // Each look at the clock is a slice's end.
    let clock = 0
    vi.spyOn(performance, 'now').mockImplementation(() => (clock += 10))
    const flush = vi.fn(() => Promise.resolve())
    const plugin = createLivePlugin({}, { flush })
    plugin.emit('pre_llm_call', ids)
    for (let n = 0; n < 20; n++) plugin.emit('pre_tool_call', { ...ids, tool_call_id: `c${n}`, tool_name: 'ls' })
    const flushed = plugin.emit('on_session_end', { ...ids, completed: true })?.then()
    expect(flush).toHaveBeenCalledOnce()
    await flushed
    await plugin.shutdown()
  })

  test('asks for no flush within a second of the last one, but where its host waits for it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
    const flush = vi.fn(() => Promise.resolve())
    const save = vi.fn()
    const plugin = createLivePlugin({}, { flush, startLogFlush: save })
    const turn = (turn_id: string): Promise<void> | undefined => {
      plugin.emit('pre_llm_call', { ...ids, turn_id })
      return plugin.emit('on_session_end', { ...ids, turn_id, completed: true })
    }
    for (const id of ['a', 'b', 'c']) {
      void turn(id)
    }
    await turnOfLoop()
    expect(flush).toHaveBeenCalledOnce()
    expect(save).toHaveBeenCalledTimes(2)
    await turn('d')
    expect(flush).toHaveBeenCalledTimes(2)
    await plugin.shutdown()
  })

  test('returns a promise that resolves when it is flushed', async () => {
    let flushed = (): void => undefined
    const plugin = createLivePlugin({}, { flush: () => new Promise<void>(resolve => (flushed = resolve)) })
    const over = vi.fn()
    plugin.emit('pre_llm_call', ids)
    const ended = Promise.resolve(plugin.emit('on_session_end', { ...ids, completed: true })).then(over)
    await turnOfLoop()
    expect(over).not.toHaveBeenCalled()
    flushed()
    await ended
    expect(over).toHaveBeenCalledOnce()
    await plugin.shutdown()
  })
})

test('is on disk within `log_flush_ms`, including the time in the queue', () => {
  const { config } = resolveConfig({ code: {}, env: {}, home: '/home/u', hostName: undefined })
  const { localLog } = pipelineSettings(config, {}, '/home/u')
  // Ten milliseconds are the longest that a record is put off.
  expect(localLog?.flushMillis).toBeLessThanOrEqual(config.log_flush_ms - 10)
})

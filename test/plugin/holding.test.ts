/** `keep`: what backends get, what the local log has, and what becomes of it when things go wrong. */
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { Plugin, PluginOptions } from '../../src/plugin/plugin.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { afterwards } from '../support/afterwards.ts'
import { OtlpSink } from '../support/otlp-sink.ts'
import { type ScratchPlugin, scratchHome, scratchPlugin } from './scratch-plugin.ts'

interface Pair {
  readonly key: string
  readonly value: { readonly stringValue?: string }
}

interface WireSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly traceState?: string
  readonly attributes: readonly Pair[]
}

interface TraceRequest {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[] }[]
}

const spansIn = (requests: readonly unknown[]): WireSpan[] =>
  requests.flatMap(request =>
    (request as TraceRequest).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  )

function sentTo(sink: OtlpSink): WireSpan[] {
  return spansIn(sink.requests.filter(({ path }) => path === '/v1/traces').map(({ json }) => json))
}

const stateOf = (home: string, ...below: string[]): string => join(home, '.local', 'state', 'hookspan', ...below)

function filesIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory).map(name => join(directory, name)) : []
}

/** In the local log, which has everything. */
function stored(home: string): WireSpan[] {
  const lines = filesIn(stateOf(home, 'traces')).flatMap(path => readFileSync(path, 'utf8').split('\n'))
  return spansIn(lines.filter(line => line.startsWith('{"resourceSpans"')).map(line => JSON.parse(line)))
}

async function sinkFor(): Promise<OtlpSink> {
  const sink = await OtlpSink.start()
  afterwards(() => sink.stop())
  return sink
}

function pluginFor(sink: OtlpSink, keep: object | boolean, more: object = {}, home?: string): ScratchPlugin {
  const backends = [{ type: 'otlp', endpoint: sink.url, metrics: false, protocol: 'http/json' }]
  return scratchPlugin({ host: 'agent', backends, keep, ...more } as PluginOptions, home)
}

/** One turn with a tool, whose name is that of its session, so that spans tell where they belong. */
function tell(plugin: Plugin, session_id: string, status: 'ok' | 'error' = 'ok'): void {
  const ids = { session_id, turn_id: `${session_id}.t1` }
  begin(plugin, session_id)
  plugin.on('post_tool_call', { ...ids, tool_name: session_id, tool_call_id: 'c1', status })
  plugin.on('post_llm_call', ids)
  void plugin.on('on_session_end', { ...ids, completed: true })
}

function begin(plugin: Plugin, session_id: string): void {
  const ids = { session_id, turn_id: `${session_id}.t1` }
  plugin.on('pre_llm_call', { ...ids, model: 'qwen3', user_message: 'hello' })
  plugin.on('pre_tool_call', { ...ids, tool_name: session_id, tool_call_id: 'c1' })
}

const toolNames = (spans: readonly WireSpan[]): string[] =>
  spans.flatMap(({ name }) => (name.startsWith('tool.') ? [name.slice('tool.'.length)] : [])).sort()

const reasonsIn = (spans: readonly WireSpan[]): (string | undefined)[] =>
  spans
    .filter(({ parentSpanId }) => parentSpanId === undefined || parentSpanId === '')
    .map(({ attributes }) => attributes.find(({ key }) => key === 'hermes.sampling.reason')?.value.stringValue)
    .sort()

const LOGGED = [true, false]

test.each(LOGGED)('a backend gets the traces that are kept and no other, whole (local log: %s)', async local_log => {
  const sink = await sinkFor()
  const { plugin, lines } = pluginFor(sink, true, { local_log })
  for (const name of ['one', 'two', 'three']) tell(plugin, name, name === 'two' ? 'error' : 'ok')
  await plugin.shutdown()
  expect(toolNames(sentTo(sink))).toEqual(['two'])
  expect(sentTo(sink)).toHaveLength(3)
  expect(reasonsIn(sentTo(sink))).toEqual(['error'])
  expect(lines).toEqual([])
})

test('the local log has all of them, and what was kept is owed to nobody any more', async () => {
  const sink = await sinkFor()
  const { plugin, home } = pluginFor(sink, true)
  tell(plugin, 'one')
  tell(plugin, 'two', 'error')
  await plugin.shutdown()
  expect(toolNames(stored(home))).toEqual(['one', 'two'])
  expect(reasonsIn(stored(home))).toEqual(['error', 'none'])
  expect([...filesIn(stateOf(home, 'spool')), ...filesIn(stateOf(home, 'kept', 'spool'))]).toEqual([])
})

test('what is kept waits for a backend that is down, and the next process delivers it', async () => {
  const sink = await sinkFor()
  sink.behaviour = { kind: 'status', status: 503 }
  const { plugin, home } = pluginFor(sink, true, { force_flush_wait_ms: 10 })
  tell(plugin, 'one')
  tell(plugin, 'two', 'error')
  await plugin.shutdown()
  sink.requests.splice(0)
  sink.behaviour = { kind: 'ok' }
  const next = pluginFor(sink, true, {}, home)
  tell(next.plugin, 'three')
  await sink.until(() => toolNames(sentTo(sink)).length > 0)
  await next.plugin.shutdown()
  expect(toolNames(sentTo(sink))).toEqual(['two'])
})

test('it does so too where nothing is held any more', async () => {
  const sink = await sinkFor()
  sink.behaviour = { kind: 'status', status: 503 }
  const { plugin, home } = pluginFor(sink, true, { force_flush_wait_ms: 10 })
  tell(plugin, 'two', 'error')
  await plugin.shutdown()
  sink.requests.splice(0)
  sink.behaviour = { kind: 'ok' }
  const next = pluginFor(sink, false, {}, home)
  tell(next.plugin, 'three')
  await sink.until(() => toolNames(sentTo(sink)).length === 2)
  await next.plugin.shutdown()
  expect(toolNames(sentTo(sink))).toEqual(['three', 'two'])
})

test('what was kept is removed when it is too old, also where nothing is held any more', async () => {
  const sink = await sinkFor()
  const home = scratchHome()
  const old = stateOf(home, 'kept', 'traces', '1000-1.jsonl')
  mkdirSync(stateOf(home, 'kept', 'traces'), { recursive: true, mode: 0o700 })
  writeFileSync(old, '', { mode: 0o600 })
  utimesSync(old, 1, 1)
  const { plugin } = pluginFor(sink, false, {}, home)
  tell(plugin, 'one')
  await plugin.shutdown()
  expect(existsSync(old)).toBe(false)
})

test('with `hold: false` everything is sent, and the roots say what it is', async () => {
  const sink = await sinkFor()
  const { plugin, home } = pluginFor(sink, { hold: false })
  tell(plugin, 'one')
  tell(plugin, 'two', 'error')
  await plugin.shutdown()
  expect(toolNames(sentTo(sink))).toEqual(['one', 'two'])
  expect(reasonsIn(sentTo(sink))).toEqual(['error', 'none'])
  expect(existsSync(stateOf(home, 'kept'))).toBe(false)
})

test('nothing goes before the turn is over; then all of it does, in one request', async () => {
  const sink = await sinkFor()
  const { plugin } = pluginFor(sink, { rate: 1 }, { span_batch_schedule_delay_ms: 1 })
  begin(plugin, 'one')
  plugin.on('post_tool_call', { session_id: 'one', turn_id: 'one.t1', tool_name: 'one', tool_call_id: 'c1' })
  await plugin.flush()
  expect(sentTo(sink)).toEqual([])
  void plugin.on('on_session_end', { session_id: 'one', turn_id: 'one.t1', completed: true })
  await plugin.flush()
  expect(sink.requests.map(({ records }) => records.length)).toEqual([3])
})

test('a backend that extrapolates reads for how many traces one stands', async () => {
  const sink = await sinkFor()
  const { plugin } = pluginFor(sink, { rate: 0.9999999, errors: true })
  tell(plugin, 'one')
  tell(plugin, 'two', 'error')
  await plugin.shutdown()
  const stateOfTool = (tool: string): string | undefined =>
    sentTo(sink).find(({ name }) => name === `tool.${tool}`)?.traceState
  expect([stateOfTool('one'), stateOfTool('two')]).toEqual(['ot=th:000001ad7f29a8', 'ot=th:0'])
})

test('what comes late goes the way of its trace', async () => {
  const sink = await sinkFor()
  const { plugin, home } = pluginFor(sink, true)
  const late = (session_id: string): void =>
    void plugin.on('post_tool_call', {
      ...{ session_id, turn_id: `${session_id}.t1`, tool_name: `late-${session_id}`, tool_call_id: 'c9' },
      status: 'ok',
      duration_ms: 5,
    })
  tell(plugin, 'one')
  tell(plugin, 'two', 'error')
  late('one')
  late('two')
  await plugin.shutdown()
  expect(toolNames(sentTo(sink))).toEqual(['late-two', 'two'])
  expect(toolNames(stored(home))).toEqual(['late-one', 'late-two', 'one', 'two'])
})

test('a turn that fills too much room is judged by what is known of it, and its root says so', async () => {
  const sink = await sinkFor()
  const { plugin, home } = pluginFor(sink, { errors: true, max_bytes: 4000 })
  for (const [session_id, status] of [
    ['good', 'ok'],
    ['bad', 'error'],
  ] as const) {
    const ids = { session_id, turn_id: 't' }
    plugin.on('pre_llm_call', { ...ids, model: 'm', user_message: 'hello' })
    for (let call = 0; call < 12; call++) {
      const tool = { ...ids, tool_name: session_id, tool_call_id: `c${call}` }
      plugin.on('pre_tool_call', tool)
      plugin.on('post_tool_call', { ...tool, status: call === 2 ? status : 'ok' })
    }
    void plugin.on('on_session_end', { ...ids, completed: true })
  }
  await plugin.shutdown()
  expect(toolNames(sentTo(sink))).toEqual(Array.from({ length: 12 }, () => 'bad'))
  expect(reasonsIn(stored(home))).toEqual(['error', 'none'])
})

/** More than a queue has room for. */
const MANY = 3000

function tellLong(plugin: Plugin): void {
  const ids = { session_id: 'long', turn_id: 'long.t1' }
  plugin.on('pre_llm_call', { ...ids, model: 'm', user_message: 'hello' })
  for (let call = 0; call < MANY; call++) {
    const tool = { ...ids, tool_name: 'long', tool_call_id: `c${call}` }
    plugin.on('pre_tool_call', tool)
    plugin.on('post_tool_call', { ...tool, status: call === 0 ? 'error' : 'ok' })
  }
  void plugin.on('on_session_end', { ...ids, completed: true })
}

test('a trace of more spans than a queue takes is sent whole without a local log', async () => {
  const sink = await sinkFor()
  const { plugin, lines } = pluginFor(sink, true, { local_log: false })
  tellLong(plugin)
  await plugin.shutdown()
  expect(plugin.stats().backends).toMatchObject([{ dropped: 0 }])
  expect(toolNames(sentTo(sink))).toHaveLength(MANY)
  expect(lines).toEqual([])
})

test('it is shown whole, too', async () => {
  const shown = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  afterwards(() => shown.mockRestore())
  const backends = [{ type: 'console', stream: 'stderr' }]
  const { plugin } = scratchPlugin({ host: 'agent', backends, keep: true } as PluginOptions)
  tellLong(plugin)
  await plugin.shutdown()
  expect(plugin.stats().backends).toMatchObject([{ name: 'local_log' }, { dropped: 0, delivered: MANY + 2 }])
})

test('what is known of it is also what a child agent has met that is at work', async () => {
  const sink = await sinkFor()
  const { plugin, home } = pluginFor(sink, { errors: true, max_bytes: 4000 })
  const [parent, child] = [
    { session_id: 'parent', turn_id: 'p1' },
    { session_id: 'child', turn_id: 'c1' },
  ]
  plugin.on('pre_llm_call', { ...parent, model: 'm', user_message: 'hello' })
  plugin.on('subagent_start', { parent_session_id: 'parent', child_session_id: 'child' })
  plugin.on('pre_llm_call', { ...child, model: 'm', user_message: 'look' })
  for (let call = 0; call < 13; call++) {
    const tool = { ...child, tool_name: 'child', tool_call_id: `c${call}` }
    plugin.on('pre_tool_call', tool)
    plugin.on('post_tool_call', { ...tool, status: call === 0 ? 'error' : 'ok' })
  }
  void plugin.on('on_session_end', { ...child, completed: true })
  plugin.on('subagent_stop', { child_session_id: 'child', child_status: 'completed' })
  void plugin.on('on_session_end', { ...parent, completed: true })
  await plugin.shutdown()
  expect(toolNames(sentTo(sink))).toHaveLength(13)
  expect(sentTo(sink)).toHaveLength(stored(home).length)
  expect(reasonsIn(sentTo(sink))).toEqual(['error'])
})

test('where roots have no words of ours to say it, everything is sent, and a line says so', async () => {
  const sink = await sinkFor()
  const { plugin, lines } = pluginFor(sink, true, { conventions: ['gen_ai'] })
  tell(plugin, 'one')
  await plugin.shutdown()
  expect(sentTo(sink)).toHaveLength(3)
  expect(lines).toEqual([
    'keep: everything is sent, because turns cannot say what they are worth without `own` among the conventions',
  ])
})

test('turns that nobody samples are not judged', async () => {
  const plugin = createTestPlugin({ sample_rate: 0, keep: true })
  tell(plugin, 'one')
  expect((await plugin.metrics()).filter(({ name }) => name === 'hermes.sampling.turns')).toEqual([])
})

test('a child that fails when its parent is over has the whole trace sent', async () => {
  const sink = await sinkFor()
  const { plugin } = pluginFor(sink, true)
  const child = { session_id: 'child', turn_id: 'c1' }
  begin(plugin, 'parent')
  plugin.on('subagent_start', { parent_session_id: 'parent', child_session_id: 'child' })
  plugin.on('pre_llm_call', { ...child, model: 'm', user_message: 'look' })
  plugin.on('post_tool_call', { session_id: 'parent', tool_name: 'parent', tool_call_id: 'c1', status: 'ok' })
  void plugin.on('on_session_end', { session_id: 'parent', turn_id: 'parent.t1', completed: true })
  await plugin.flush()
  expect(sentTo(sink)).toEqual([])
  void plugin.on('on_session_end', { ...child, failed: true })
  plugin.on('subagent_stop', { child_session_id: 'child', child_status: 'completed' })
  await plugin.flush()
  expect(
    sentTo(sink)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(['agent', 'agent', 'llm.m', 'llm.qwen3', 'subagent', 'tool.parent'].sort())
})

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
  // However busy the machine is, a flush that a test awaits comes to its end.
  const patient = { force_flush_wait_ms: 60_000 }
  return scratchPlugin({ host: 'agent', backends, keep, ...patient, ...more } as PluginOptions, home)
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

test.each(LOGGED)('sends the kept traces and no others, whole, to a backend (local log: %s)', async local_log => {
  const sink = await sinkFor()
  const { plugin, lines } = pluginFor(sink, true, { local_log })
  for (const name of ['one', 'two', 'three']) tell(plugin, name, name === 'two' ? 'error' : 'ok')
  await plugin.shutdown()
  expect(toolNames(sentTo(sink))).toEqual(['two'])
  expect(sentTo(sink)).toHaveLength(3)
  expect(reasonsIn(sentTo(sink))).toEqual(['error'])
  expect(lines).toEqual([])
})

test('has all traces in the local log, and nothing pending', async () => {
  const sink = await sinkFor()
  const { plugin, home } = pluginFor(sink, true)
  tell(plugin, 'one')
  tell(plugin, 'two', 'error')
  await plugin.shutdown()
  expect(toolNames(stored(home))).toEqual(['one', 'two'])
  expect(reasonsIn(stored(home))).toEqual(['error', 'none'])
  expect([...filesIn(stateOf(home, 'spool')), ...filesIn(stateOf(home, 'kept', 'spool'))]).toEqual([])
})

test('delivers a kept trace from the next process if the backend is down', async () => {
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

test('delivers it even if nothing is buffered any more', async () => {
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

test('removes kept traces that are too old, even if nothing is buffered any more', async () => {
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

test('sends everything with `hold: false`, and marks the roots', async () => {
  const sink = await sinkFor()
  const { plugin, home } = pluginFor(sink, { hold: false })
  tell(plugin, 'one')
  tell(plugin, 'two', 'error')
  await plugin.shutdown()
  expect(toolNames(sentTo(sink))).toEqual(['one', 'two'])
  expect(reasonsIn(sentTo(sink))).toEqual(['error', 'none'])
  expect(existsSync(stateOf(home, 'kept'))).toBe(false)
})

test('sends nothing before the turn is over, then all of it in one request', async () => {
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

test('has a weight for a backend that extrapolates', async () => {
  const sink = await sinkFor()
  const { plugin } = pluginFor(sink, { rate: 0.9999999, errors: true })
  tell(plugin, 'one')
  tell(plugin, 'two', 'error')
  await plugin.shutdown()
  const stateOfTool = (tool: string): string | undefined =>
    sentTo(sink).find(({ name }) => name === `tool.${tool}`)?.traceState
  expect([stateOfTool('one'), stateOfTool('two')]).toEqual(['ot=th:000001ad7f29a8', 'ot=th:0'])
})

test('sends or drops late spans like their trace', async () => {
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

test('decides a turn that fills too much memory by its known state, and marks its root', async () => {
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

test('sends a trace of more spans than a queue has room for whole without a local log', async () => {
  const sink = await sinkFor()
  const { plugin, lines } = pluginFor(sink, true, { local_log: false })
  tellLong(plugin)
  await plugin.shutdown()
  expect(plugin.stats().backends).toMatchObject([{ dropped: 0 }])
  expect(toolNames(sentTo(sink))).toHaveLength(MANY)
  expect(lines).toEqual([])
})

test('shows it whole, too', async () => {
  const shown = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  afterwards(() => shown.mockRestore())
  const backends = [{ type: 'console', stream: 'stderr' }]
  const { plugin } = scratchPlugin({ host: 'agent', backends, keep: true } as PluginOptions)
  tellLong(plugin)
  await plugin.shutdown()
  expect(plugin.stats().backends).toMatchObject([{ name: 'local_log' }, { dropped: 0, delivered: MANY + 2 }])
})

test('counts the failures of a running child agent as known', async () => {
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

test('sends everything, with a line, if roots have none of our names', async () => {
  const sink = await sinkFor()
  const { plugin, lines } = pluginFor(sink, true, { conventions: ['gen_ai'] })
  tell(plugin, 'one')
  await plugin.shutdown()
  expect(sentTo(sink)).toHaveLength(3)
  expect(lines).toEqual([
    'keep: everything is sent, because turns cannot say what they are worth without `own` among the conventions',
  ])
})

test('does not decide turns that are not sampled', async () => {
  const plugin = createTestPlugin({ sample_rate: 0, keep: true })
  tell(plugin, 'one')
  expect((await plugin.metrics()).filter(({ name }) => name === 'hermes.sampling.turns')).toEqual([])
})

test('sends the whole trace of a child that fails after its parent has ended', async () => {
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

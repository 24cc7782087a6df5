/** Spans of control hooks that look at tool calls: the SDK runs these hooks before it reports the start of the tool. */
import { expect, test } from 'vitest'
import { ABLE } from '../../../src/agents/ai-sdk/hooks.ts'
import { createTelemetry } from '../../../src/agents/ai-sdk/index.ts'
import { toolHookTrace } from '../../../src/agents/attach.ts'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import { block, createHooks, defineHook, HostHooks } from '../../../src/guards/index.ts'
import { afterwards } from '../../support/afterwards.ts'
import { freshHostsEachTest } from '../fresh-hosts.ts'
import { PARIS, Scene, type ToolCall } from './scene.ts'

freshHostsEachTest()

const REQUEST = { type: 'tool-approval-request', approvalId: 'a1', toolCall: PARIS }
const DENIED = { type: 'tool-approval-response', approved: false, reason: 'Not here.', toolCall: PARIS }

/** Both records of one control hook, as the trace of hooks emits them. */
function hookRuns(scene: Scene, callId: string, { toolCallId }: ToolCall, verdict = 'pass', name = 'guard'): Scene {
  const about = { turn_id: callId, tool_call_id: toolCallId, api_request_id: `${callId}:1` }
  const run = { ...about, hook_run_id: `${name} ${toolCallId}`, hook_name: name, hook_phase: 'before_tool' }
  const action = { pass: 'ran', block: 'blocked', ask: 'asked' }[verdict]
  return scene.says(callId, 'pre_control_hook', run).says(callId, 'post_control_hook', { ...run, verdict, action })
}

/** @param open spans that stay open at the end: of an approval, or of a hook in an unknown call */
async function drawn(scene: Scene, open = 0): Promise<string> {
  const { tree, plugin, leftOpen } = await scene.play()
  expect([leftOpen, plugin.reported]).toEqual([open, []])
  expect(plugin.stats().hooks).toMatchObject({ ignored: 0, duplicate: 0, error: 0 })
  return tree.replace(/ \[.*?\]$/gm, '')
}

test('is below its tool, whose span begins with it', async () => {
  const scene = hookRuns(new Scene().starts('a').calls('a', PARIS), 'a', PARIS)
  scene.tool('a', PARIS).says('a', 'onStepEnd', { content: [] }).asks('a').answers('a').ends('a')
  expect(await drawn(scene)).toBe(`agent OK
  llm.fake-1 OK
    api.fake-1 OK
      tool.get_weather OK
        hook.guard OK
    api.fake-1 OK`)
  const { plugin } = await scene.play()
  const [tool, hook] = ['tool.get_weather', 'hook.guard'].map(name => plugin.spans().find(span => span.name === name))
  expect(tool?.startAt).toBe(hook?.startAt)
})

test('is separate for each of two parallel calls', async () => {
  const other = { ...PARIS, toolCallId: 'c9', input: { city: 'Rome' } }
  const scene = new Scene().starts('a').calls('a', PARIS, other)
  hookRuns(hookRuns(scene, 'a', PARIS, 'pass', 'first'), 'a', other, 'pass', 'second')
  scene.tool('a', other).tool('a', PARIS).ends('a')
  expect(await drawn(scene)).toBe(`agent OK
  llm.fake-1 OK
    api.fake-1 OK
      tool.get_weather OK
        hook.first OK
      tool.get_weather OK
        hook.second OK`)
})

test('makes a call that it blocks a blocked tool, which lasts as long as the hook', async () => {
  const scene = hookRuns(new Scene().starts('a').calls('a', PARIS), 'a', PARIS, 'block')
  scene
    .waits(500)
    .says('a', 'onStepEnd', { content: [DENIED] })
    .asks('a')
    .answers('a')
    .ends('a')
  expect(await drawn(scene)).toBe(`agent OK
  llm.fake-1 OK
    api.fake-1 OK
      tool.get_weather OK
        hook.guard OK
    api.fake-1 OK`)
  const tool = (await scene.play()).plugin.spans().find(({ name }) => name === 'tool.get_weather')
  expect(tool?.attributes).toMatchObject({ 'hermes.tool.outcome': 'blocked', 'hermes.tool.blocked_by': 'guard' })
  expect((tool?.endAt ?? 0) - (tool?.startAt ?? 0)).toBe(10)
})

test('is below the request if a call that waits for the user has no tool', async () => {
  const scene = hookRuns(new Scene().starts('a').calls('a', PARIS), 'a', PARIS, 'ask')
  scene.says('a', 'onStepEnd', { content: [REQUEST] }).says('a', 'onEnd', { text: '' })
  expect(await drawn(scene, 1)).toBe(`agent OK
  llm.fake-1 OK
    api.fake-1 OK
      hook.guard OK
  approval.get_weather UNSET (incomplete: shutdown)`)
})

test.each([
  ['the call fails', (scene: Scene) => scene.says('a', 'onStepError', { error: { name: 'E', message: 'm' } })],
  ['the process ends', (scene: Scene) => scene],
])('is kept if %s before the tool starts', async (_, goesOn) => {
  const scene = goesOn(hookRuns(new Scene().starts('a').calls('a', PARIS), 'a', PARIS))
  expect(await drawn(scene)).toMatch(/^ {6}hook\.guard OK$/m)
})

test('has a span if the call is unknown, and is below the tool if it judges a result', async () => {
  const unknown = await drawn(hookRuns(new Scene(), 'elsewhere', PARIS), 1)
  expect(unknown).toContain('hook.guard')
  const scene = new Scene().starts('a').calls('a', PARIS).says('a', 'onToolExecutionStart', { toolCall: PARIS })
  hookRuns(scene, 'a', PARIS).says('a', 'onToolExecutionEnd', {
    toolCall: PARIS,
    toolOutput: { type: 'tool-result', output: 'ok' },
  })
  expect(await drawn(scene.ends('a'))).toMatch(/^ {6}tool\.get_weather OK\n {8}hook\.guard OK$/m)
})

test('passes hooks of tools through the events of the host, and others to the plugin', async () => {
  const events: HostEvent[] = []
  const TAP = Symbol.for('hookspan.tap')
  Object.assign(globalThis, { [TAP]: (_: string, event: HostEvent) => events.push(event) })
  afterwards(() => Reflect.deleteProperty(globalThis, TAP))
  createTelemetry({ local_log: false, prometheus: false })
  const guard = defineHook({ name: 'guard', beforeTool: () => block('No.'), beforeTurn: () => block('No.') })
  const hooks = createHooks([guard])
  const asked = new HostHooks({ host: 'ai-sdk', hooks, capabilities: ABLE, plugin: () => toolHookTrace('ai-sdk') })
  const tool = { name: 'bash', arguments: {}, kind: 'shell' } as never
  await asked.run('beforeTool', { turnId: 't', toolCallId: 'c' }, { tool })
  await asked.run('beforeTurn', { turnId: 't' }, { prompt: 'Hi' })
  expect(events).toMatchObject([
    { event: 'pre_control_hook', data: { turn_id: 't', tool_call_id: 'c', hook_name: 'guard' } },
    { event: 'post_control_hook', data: { turn_id: 't', tool_call_id: 'c', verdict: 'block' } },
  ])
})

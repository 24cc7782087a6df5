/** Spans of control hooks that look at tool calls: the SDK runs these hooks before it reports the start of the tool. */
import { expect, test } from 'vitest'
import { OpenAiAgentsMachine } from '../../../src/agents/openai-agents/events.ts'
import { replay } from './replay.ts'
import { type Call, Scene } from './scene.ts'

const WEATHER = { id: 'call_1', name: 'get_weather', args: { city: 'Paris' } }
const ROME = { id: 'call_2', name: 'get_weather', args: { city: 'Rome' } }

/** Both records of one control hook, as the trace of hooks emits them. */
function hookRuns(scene: Scene, turn: string, { id }: Call, verdict = 'pass', name = 'guard'): Scene {
  const about = { session_id: 'conversation', turn_id: turn, tool_call_id: id }
  const run = { ...about, hook_run_id: `${name} ${id}`, hook_name: name, hook_phase: 'before_tool' }
  const action = { pass: 'ran', block: 'blocked', ask: 'asked' }[verdict]
  return scene.tell('pre_control_hook', run).tell('post_control_hook', { ...run, verdict, action })
}

/** A run whose first answer asks for these calls, as far as the end of that request; the hooks run within the request. */
function asking(calls: readonly Call[], judge: (scene: Scene, task: string) => void) {
  const scene = new Scene().trace('t1', 'conversation')
  const { task, agent } = scene.run('t1', 'main')
  const loop = scene.loop('t1', agent)
  const request = scene.start('t1', loop, { type: 'response' })
  judge(scene, task)
  const output = calls.map(({ id, name, args }) => ({
    type: 'function_call',
    callId: id,
    call_id: id,
    name,
    arguments: JSON.stringify(args ?? {}),
  }))
  const said = { response_id: 'r', _input: 'Do it', _response: { id: 'r', model: 'gpt-5', output } }
  scene.end(request, said)
  return { scene, loop, end: () => scene.endRun(loop, agent, task).endTrace('t1', 'conversation') }
}

/** @param open spans that stay open at the end: of an approval, or of a hook in an unknown run */
async function drawn(scene: Scene, open = 0): Promise<string> {
  const { tree, plugin, leftOpen } = await replay(scene.events)
  expect([leftOpen, plugin.reported]).toEqual([open, []])
  expect(plugin.stats().hooks).toMatchObject({ ignored: 0, duplicate: 0, error: 0 })
  return tree.replace(/ \[.*?\]$/gm, '')
}

test('is below its tool, whose span begins with it', async () => {
  const { scene, loop, end } = asking([WEATHER, ROME], (scene, task) => {
    hookRuns(scene, task, WEATHER, 'pass', 'first')
    hookRuns(scene, task, ROME, 'pass', 'second')
  })
  scene.tool('t1', loop, ROME).tool('t1', loop, WEATHER)
  end()
  expect(await drawn(scene)).toBe(`agent OK
  llm.gpt-5 OK
    api.gpt-5 OK
      tool.get_weather OK
        hook.first OK
      tool.get_weather OK
        hook.second OK`)
  const { plugin } = await replay(scene.events)
  const startsOf = (kind: string) =>
    plugin.spans().flatMap(({ name, startAt }) => (name.startsWith(kind) ? startAt : []))
  expect(startsOf('tool.').toSorted()).toEqual(startsOf('hook.').toSorted())
})

test('makes a call that it blocks a blocked tool', async () => {
  const { scene, loop, end } = asking([WEATHER], (scene, task) => hookRuns(scene, task, WEATHER, 'block'))
  const tool = scene.startTool('t1', loop, WEATHER)
  scene.end(tool, { output: 'No.' }, { message: 'Kept from running by the hook guard' })
  end()
  expect(await drawn(scene)).toMatch(/^ {6}tool\.get_weather OK\n {8}hook\.guard OK$/m)
  const { plugin } = await replay(scene.events)
  expect(plugin.spans().find(({ name }) => name === 'tool.get_weather')?.attributes).toMatchObject({
    'hermes.tool.outcome': 'blocked',
    'hermes.tool.blocked_by': 'guard',
  })
})

test('is below the request if a call never runs and has no tool', async () => {
  const { scene, end } = asking([WEATHER], (scene, task) => hookRuns(scene, task, WEATHER, 'ask'))
  end()
  expect(await drawn(scene, 1)).toMatch(/^ {4}api\.gpt-5 OK\n {6}hook\.guard OK$/m)
})

test('lets the next request begin without a call that never runs', async () => {
  const { scene, loop, end } = asking([WEATHER], (scene, task) => hookRuns(scene, task, WEATHER))
  const { length } = scene.events
  scene.model('t1', loop, 'Done.')
  const machine = new OpenAiAgentsMachine()
  const records = scene.events.slice(0, length + 1).flatMap(event => machine.accept(event) ?? [])
  const hooks = records.map(({ hook }) => hook).filter(hook => hook.endsWith('control_hook'))
  expect(hooks).toEqual(['pre_control_hook', 'post_control_hook'])
  end()
  expect(await drawn(scene)).toMatch(/^ {4}api\.gpt-5 OK\n {6}hook\.guard OK\n {4}api\.gpt-5 OK$/m)
})

test('has a span if the run is unknown, or the process ends', async () => {
  expect(await drawn(hookRuns(new Scene(), 'elsewhere', WEATHER), 1)).toContain('hook.guard')
  const { scene } = asking([WEATHER], (scene, task) => hookRuns(scene, task, WEATHER))
  expect(await drawn(scene)).toContain('hook.guard')
})

test('is found by the call id that only a listener reports', async () => {
  const scene = new Scene().trace('t1', 'conversation').tell('runner.agent_start', { agent: 'main', trace_id: 't1' })
  const { task, agent } = scene.run('t1', 'main')
  hookRuns(scene, task, WEATHER)
  const tool = scene.startTool('t1', agent, WEATHER)
  const toolCall = { callId: WEATHER.id, name: WEATHER.name, arguments: '{"city":"Paris"}' }
  scene.tell('runner.agent_tool_start', { trace_id: 't1', span_id: tool, details: { toolCall } })
  scene.end(tool, { output: 'sunny' }).endRun(agent, task).endTrace('t1', 'conversation')
  expect(await drawn(scene)).toMatch(/^( +)tool\.get_weather OK\n\1 {2}hook\.guard OK$/m)
})

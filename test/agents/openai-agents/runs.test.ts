import { expect, test } from 'vitest'
import { replay } from './replay.ts'
import { Scene } from './scene.ts'

const WEATHER = { id: 'call_1', name: 'get_weather', args: { city: 'Paris' } }
const ROME = { id: 'call_2', name: 'get_weather', args: { city: 'Rome' } }

async function treeOf(scene: Scene): Promise<string> {
  const { tree, leftOpen, plugin } = await replay(scene.events)
  expect(leftOpen).toBe(0)
  expect(plugin.stats().hooks).toMatchObject({ ignored: 0, duplicate: 0, error: 0 })
  expect(plugin.reported).toEqual([])
  return tree
}

function basic(scene: Scene, trace: string, group: string): void {
  scene.trace(trace, group)
  const { task, agent } = scene.run(trace, 'main')
  const loop = scene.loop(trace, agent)
  scene.model(trace, loop, [WEATHER]).tool(trace, loop, WEATHER, 'sunny').end(loop)
  const next = scene.loop(trace, agent)
  scene.model(trace, next, 'It is sunny.').endRun(next, agent, task).endTrace(trace, group)
}

test('makes a run a turn, with the tool below the request that asked for it', async () => {
  const scene = new Scene()
  basic(scene, 't1', 'conversation')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
          tool.get_weather OK [gen_ai.tool.call.id=call_1, hermes.tool.outcome=completed]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
})

test("sets the user's message and the result on the root", async () => {
  const scene = new Scene()
  basic(scene, 't1', 'conversation')
  const { plugin } = await replay(scene.events)
  const root = plugin.spans().find(span => span.name === 'agent')
  expect(root?.attributes).toMatchObject({
    'session.id': 'conversation',
    'input.value': 'Do it',
    'output.value': 'It is sunny.',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-5',
    'hermes.turn.tokens.total': 220,
    'hermes.turn.tokens.cache_read': 10,
  })
})

test('makes two runs of one conversation two turns of one session', async () => {
  const scene = new Scene()
  basic(scene, 't1', 'conversation')
  basic(scene, 't2', 'conversation')
  const { plugin } = await replay(scene.events)
  const roots = plugin.spans().filter(span => span.name === 'agent')
  expect(roots.map(root => root.attributes['hermes.turn.number'])).toEqual([1, 2])
  expect(new Set(roots.map(root => root.attributes['session.id']))).toEqual(new Set(['conversation']))
  expect(roots[1]?.links.map(link => link.attributes?.['hermes.link'])).toEqual(['previous_turn'])
})

test('makes the trace the session without a group', async () => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  scene.model('t1', agent, 'Hello').endRun(agent, task).endTrace('t1')
  const { plugin } = await replay(scene.events)
  expect(plugin.spans().map(span => span.attributes['session.id'])).toEqual(['t1', 't1', 't1'])
})

test('runs at once in one conversation do not interrupt each other', async () => {
  const scene = new Scene().trace('t1', 'conversation').trace('t2', 'conversation')
  const one = scene.run('t1', 'main')
  const other = scene.run('t2', 'helper')
  scene.model('t1', one.agent, 'one').model('t2', other.agent, 'two')
  scene.endRun(one.agent, one.task, other.agent, other.task).endTrace('t1').endTrace('t2')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]

    agent OK [gen_ai.agent.name=helper, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
})

test('keeps the ids of parallel calls of one tool, in whatever order they start', async () => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  const loop = scene.loop('t1', agent)
  scene.model('t1', loop, [WEATHER, ROME])
  const rome = scene.startTool('t1', loop, ROME)
  const paris = scene.startTool('t1', loop, WEATHER)
  scene.end(paris, { output: 'sunny' }).end(rome, { output: 'rain' }).end(loop)
  scene.model('t1', agent, 'Mixed.').endRun(agent, task).endTrace('t1')
  const { plugin, tree } = await replay(scene.events)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
          tool.get_weather OK [gen_ai.tool.call.id=call_2, hermes.tool.outcome=completed]
          tool.get_weather OK [gen_ai.tool.call.id=call_1, hermes.tool.outcome=completed]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
  const results = plugin
    .spans()
    .filter(span => span.name === 'tool.get_weather')
    .map(span => [span.attributes['gen_ai.tool.call.id'], span.attributes['gen_ai.tool.call.result']])
  expect(Object.fromEntries(results)).toEqual({ call_1: 'sunny', call_2: 'rain' })
})

test('fails a tool that throws, and continues the run', async () => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  scene.model('t1', agent, [WEATHER])
  const error = { message: 'Error running tool (non-fatal)', data: { error: 'TypeError: no such city' } }
  scene.end(scene.startTool('t1', agent, WEATHER), { output: 'An error occurred.' }, error)
  scene.model('t1', agent, 'Sorry').endRun(agent, task).endTrace('t1')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
          tool.get_weather ERROR TypeError [gen_ai.tool.call.id=call_1, hermes.tool.outcome=error]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
})

test('does not fail a tool that took too long', async () => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  scene.model('t1', agent, [WEATHER])
  const error = { message: 'Error running tool', data: { error: 'ToolTimeoutError: timed out' } }
  scene.end(scene.startTool('t1', agent, WEATHER), {}, error)
  scene.endRun(agent, task).endTrace('t1')
  expect(await treeOf(scene)).toContain('tool.get_weather OK [gen_ai.tool.call.id=call_1, hermes.tool.outcome=timeout]')
})

test('fails request and turn if a model fails for good, without an end of the trace', async () => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  const loop = scene.loop('t1', agent)
  scene.failingModel('t1', loop).fail('Error: 500 on fire', loop, agent, task)
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent ERROR InternalServerError [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=model_error]
      llm OK
        api.error ERROR InternalServerError [http.response.status_code=500]"
  `)
})

test('makes a request that the runner repeats an attempt of its own', async () => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  const loop = scene.loop('t1', agent)
  scene.failingModel('t1', loop, '429 slow down').model('t1', loop, 'Hello').endRun(loop, agent, task).endTrace('t1')
  const { plugin, tree } = await replay(scene.events)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.error ERROR RateLimitError [http.response.status_code=429]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
  const attempts = plugin.spans().filter(span => span.name.startsWith('api.'))
  expect(attempts.map(span => span.attributes['hermes.api.attempt'])).toEqual([0, 1])
})

test.each([
  ['MaxTurnsExceededError: Max turns (3) exceeded', 'agent ERROR max_turns [gen_ai.agent.name=main'],
  ['ToolCallError: Failed to run function tools', 'final_status=failed, hermes.turn.exit_reason=tool_error'],
  ['ModelBehaviorError: no JSON', 'final_status=failed, hermes.turn.exit_reason=ModelBehaviorError'],
  ['AbortError: aborted', 'final_status=interrupted, hermes.turn.exit_reason=aborted'],
  ['OutputGuardrailTripwireTriggered: {}', 'final_status=interrupted, hermes.turn.exit_reason=guardrail'],
  ['Error', 'final_status=failed, hermes.turn.exit_reason=error'],
])('ends a run with %s', async (error, outcome) => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  scene.model('t1', agent, 'Hello').fail(error, agent, task)
  expect(await treeOf(scene)).toContain(outcome)
})

test('stops the turn at a guardrail that trips, also if the host may not give the reason', async () => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  scene.end(scene.start('t1', agent, { type: 'guardrail', name: 'no_secrets', triggered: false }), { triggered: true })
  scene.fail('Error', agent, task)
  expect(await treeOf(scene)).toMatchInlineSnapshot(
    `"agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=guardrail]"`,
  )
})

test('ignores spans of the user and of other kinds, and places their children', async () => {
  const scene = new Scene().trace('t1')
  const outside = scene.start('t1', null, { type: 'custom', name: 'workflow', data: {} })
  const { task, agent } = scene.run('t1', 'main', outside)
  const list = scene.start('t1', agent, { type: 'mcp_tools', server: 's' })
  scene.end(list).model('t1', agent, [WEATHER])
  const inside = scene.start('t1', agent, { type: 'custom', name: 'mine', data: {} })
  scene.tool('t1', inside, WEATHER).end(inside).model('t1', agent, 'Done').endRun(agent, task, outside).endTrace('t1')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
          tool.get_weather OK [gen_ai.tool.call.id=call_1, hermes.tool.outcome=completed]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
})

test('knows the model at the start of chat completions, and the tokens from the completion', async () => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  const input = [
    { role: 'system', content: 'You are main.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
  ]
  const span = scene.start('t1', agent, {
    type: 'generation',
    model: 'gpt-4o',
    model_config: { temperature: 0.5 },
    input,
  })
  const usage = { prompt_tokens: 50, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 2 } }
  const choices = [{ finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }]
  scene.end(span, { output: [{ id: 'chatcmpl-1', model: 'gpt-4o-2024', choices, usage }] })
  scene.endRun(agent, task).endTrace('t1')
  const { plugin, tree } = await replay(scene.events)
  expect(tree).toContain('api.gpt-4o OK [gen_ai.usage.input_tokens=50, gen_ai.usage.output_tokens=5]')
  expect(plugin.spans().find(span => span.name === 'api.gpt-4o')?.attributes).toMatchObject({
    'gen_ai.request.temperature': 0.5,
    'gen_ai.response.model': 'gpt-4o-2024',
    'gen_ai.usage.cache_read.input_tokens': 2,
    'llm.output_messages.0.message.content': 'Hello',
  })
})

test("names the provider of a foreign model behind the SDK's adapter", async () => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  const config = { provider: 'anthropic.messages', model_impl: 'ai-sdk' }
  const span = scene.start('t1', agent, {
    type: 'generation',
    model: 'anthropic.messages:claude-9',
    model_config: config,
  })
  scene
    .end(span, { usage: { input_tokens: 3, output_tokens: 2 } })
    .endRun(agent, task)
    .endTrace('t1')
  const { plugin } = await replay(scene.events)
  expect(plugin.spans().find(span => span.name === 'api.claude-9')?.attributes).toMatchObject({
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.usage.input_tokens': 3,
  })
})

test('counts tokens once if a host that may not trace content reports them with the loop around the request', async () => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  const loop = scene.loop('t1', agent)
  scene.end(scene.start('t1', loop, { type: 'response' }))
  const tool = scene.start('t1', loop, { type: 'function', name: 'research', input: '', output: '' })
  const child = scene.run('t1', 'researcher', tool)
  const inner = scene.loop('t1', child.agent)
  scene.end(scene.start('t1', inner, { type: 'response' }))
  const own = { input_tokens: 70, output_tokens: 7, cached_input_tokens: 0, cache_write_input_tokens: 0 }
  scene.end(inner, { usage: own }).end(child.agent).end(child.task, { usage: own }).end(tool)
  const all = { input_tokens: 120, output_tokens: 17, cached_input_tokens: 20, cache_write_input_tokens: 0 }
  scene.end(loop, { usage: all }).end(agent).end(task, { usage: all }).endTrace('t1')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm OK
        api.error OK [gen_ai.usage.input_tokens=50, gen_ai.usage.output_tokens=10]
          tool.research OK [gen_ai.tool.call.id=span_t1_5, hermes.tool.outcome=completed]
            subagent.researcher OK [gen_ai.agent.name=researcher]
              agent OK [gen_ai.agent.name=researcher, hermes.turn.number=1, hermes.turn.final_status=completed]
                llm OK
                  api.error OK [gen_ai.usage.input_tokens=70, gen_ai.usage.output_tokens=7]"
  `)
})

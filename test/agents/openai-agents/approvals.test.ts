import { expect, test } from 'vitest'
import { replay } from './replay.ts'
import { type Call, Scene } from './scene.ts'

const DELETE = { id: 'call_d', name: 'delete_file', args: { path: '/a' } }
const ERASE = { id: 'call_e', name: 'delete_file', args: { path: '/b' } }
const WEATHER = { id: 'call_w', name: 'get_weather', args: { city: 'Paris' } }
const RESEARCH = { id: 'call_r', name: 'research', args: { input: 'What is it?' } }

/** A run that ends because a person has to decide. */
function interrupted(calls: readonly Call[], runs: readonly Call[] = []): Scene {
  const scene = new Scene().trace('t1', 'conversation')
  const { task, agent } = scene.run('t1', 'main')
  const loop = scene.loop('t1', agent)
  scene.model('t1', loop, calls)
  for (const call of runs) scene.tool('t1', loop, call)
  return scene.endRun(loop, agent, task).endTrace('t1', 'conversation').wait(1000)
}

/** The run that goes on. */
function resumed(scene: Scene, tools: (agent: string) => void): Scene {
  const { task, agent } = scene.run('t1', 'main')
  tools(agent)
  return scene.model('t1', agent, 'Done.').endRun(agent, task)
}

function told(event: string, calls: readonly object[]): [string, Readonly<Record<string, unknown>>] {
  return [event, { trace_id: 't1', group_id: 'conversation', calls }]
}

function asked({ id, name, args }: Call): object {
  return { call_id: id, name, arguments: JSON.stringify(args) }
}

test('puts a granted wait below the turn that asked, and the tool into the turn that continues', async () => {
  const scene = interrupted([DELETE, WEATHER], [WEATHER])
  resumed(scene, agent => scene.tool('t1', agent, DELETE))
  const { tree, leftOpen, plugin } = await replay(scene.events)
  expect(leftOpen).toBe(0)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=approval]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
          tool.get_weather OK [gen_ai.tool.call.id=call_w, hermes.tool.outcome=completed]
      approval.delete_file OK (inferred) [gen_ai.tool.call.id=call_d, hermes.approval.choice=once]

    agent OK [gen_ai.agent.name=main, hermes.turn.number=2, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        tool.delete_file OK [gen_ai.tool.call.id=call_d, hermes.tool.outcome=completed]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
  const wait = plugin.spans().find(span => span.name === 'approval.delete_file')
  expect(wait?.attributes['hermes.approval.duration_ms']).toBeGreaterThan(1000)
  const roots = plugin.spans().filter(span => span.name === 'agent')
  expect(roots[1]?.attributes['input.value']).toBe('Do it')
  expect(roots[1]?.links).toHaveLength(1)
})

test('shows the tool of a refused call as blocked', async () => {
  const scene = interrupted([DELETE])
  resumed(scene, agent => scene.rejectedTool('t1', agent, DELETE))
  const { tree, leftOpen } = await replay(scene.events)
  expect(leftOpen).toBe(0)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=approval]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
      approval.delete_file OK (inferred) [gen_ai.tool.call.id=call_d, hermes.approval.choice=deny]

    agent OK [gen_ai.agent.name=main, hermes.turn.number=2, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        tool.delete_file OK [gen_ai.tool.call.id=call_d, hermes.tool.outcome=blocked]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
})

test('distinguishes two calls of one tool, one granted and one refused', async () => {
  const scene = interrupted([DELETE, ERASE])
  resumed(scene, agent => scene.rejectedTool('t1', agent, DELETE).tool('t1', agent, ERASE))
  const { records } = await replay(scene.events)
  const choices = records
    .filter(record => record.hook === 'post_approval_response')
    .map(({ payload }) => payload as { tool_call_id?: string; choice?: string })
  expect(choices.map(({ tool_call_id, choice }) => [tool_call_id, choice])).toEqual([
    ['call_d', 'deny'],
    ['call_e', 'once'],
  ])
})

test('knows questions and decisions for certain with listeners', async () => {
  const scene = interrupted([DELETE])
  scene.events.splice(2, 0, {
    event: 'runner.agent_start',
    at: scene.events[1]?.at ?? 0,
    data: { agent: 'main', model: 'gpt-5', turnInput: [{ role: 'user', content: 'Delete it' }], trace_id: 't1' },
  })
  scene.tell(...told('runner.interrupted', [asked(DELETE)])).wait(1000)
  scene.tell(...told('runner.resumed', [{ ...asked(DELETE), choice: 'always' }]))
  resumed(scene, agent => scene.tool('t1', agent, DELETE))
  const { tree, leftOpen } = await replay(scene.events)
  expect(leftOpen).toBe(0)
  expect(tree).toContain('approval.delete_file OK [gen_ai.tool.call.id=call_d, hermes.approval.choice=always]')
})

test('treats calls left over at the end of the run as the questions, if reported before it', async () => {
  const scene = new Scene().trace('t1', 'conversation')
  const { task, agent } = scene.run('t1', 'main')
  scene.tell('runner.agent_start', { agent: 'main', trace_id: 't1', span_id: agent }).model('t1', agent, [DELETE])
  scene.tell(...told('runner.interrupted', [asked(DELETE)])).endRun(agent, task)
  const { records } = await replay(scene.events)
  expect(records.at(-1)).toMatchObject({ hook: 'pre_approval_request', payload: { tool_call_id: 'call_d' } })
})

test('shows the decision of a run that was begun in another process, without the wait', async () => {
  const scene = new Scene().tell(...told('runner.resumed', [{ ...asked(DELETE), choice: 'once' }]))
  resumed(scene, agent => scene.tool('t1', agent, DELETE))
  const { tree, leftOpen, plugin } = await replay(scene.events)
  expect(leftOpen).toBe(0)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        approval.delete_file OK (inferred) [gen_ai.tool.call.id=call_d, hermes.approval.choice=once]
        tool.delete_file OK [gen_ai.tool.call.id=call_d, hermes.tool.outcome=completed]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
  expect(plugin.spans()[0]?.attributes['session.id']).toBe('conversation')
})

test('keeps an unanswered question open, and marks it when the process ends', async () => {
  const { tree, leftOpen } = await replay(interrupted([DELETE]).events)
  expect(leftOpen).toBe(1)
  expect(tree).toContain('approval.delete_file UNSET (incomplete: shutdown) (inferred)')
})

test('keeps the tool open in an agent that runs as a tool, and continues with the run', async () => {
  const scene = new Scene().trace('t1', 'conversation')
  const first = scene.run('t1', 'main')
  scene.model('t1', first.agent, [RESEARCH])
  const tool = scene.startTool('t1', first.agent, RESEARCH)
  const child = scene.run('t1', 'researcher', tool)
  scene.model('t1', child.agent, [DELETE], 'What is it?').endRun(child.agent, child.task, tool)
  scene.endRun(first.agent, first.task).endTrace('t1', 'conversation').wait(1000)
  resumed(scene, agent => {
    const again = scene.startTool('t1', agent, RESEARCH)
    scene.trace('t1', 'conversation')
    const goesOn = scene.run('t1', 'researcher', again)
    scene.tool('t1', goesOn.agent, DELETE).model('t1', goesOn.agent, '42').endRun(goesOn.agent, goesOn.task)
    scene.endTrace('t1', 'conversation').end(again, { output: '42' })
  })
  const { tree, leftOpen, plugin } = await replay(scene.events)
  expect(leftOpen).toBe(0)
  expect(plugin.stats().hooks).toMatchObject({ ignored: 0, duplicate: 0, error: 0 })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=approval]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
          tool.research OK [gen_ai.tool.call.id=call_r, hermes.tool.outcome=interrupted]
            subagent.researcher OK [gen_ai.agent.name=researcher]
              agent OK [gen_ai.agent.name=researcher, hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=approval]
                llm.gpt-5 OK
                  api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
                approval.delete_file OK (inferred) [gen_ai.tool.call.id=call_d, hermes.approval.choice=once]

    agent OK [gen_ai.agent.name=main, hermes.turn.number=2, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        tool.research OK [gen_ai.tool.call.id=call_r, hermes.tool.outcome=completed]
          subagent.researcher OK [gen_ai.agent.name=researcher]
            agent OK [gen_ai.agent.name=researcher, hermes.turn.number=1, hermes.turn.final_status=completed]
              llm.gpt-5 OK
                tool.delete_file OK [gen_ai.tool.call.id=call_d, hermes.tool.outcome=completed]
                api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
})

import { expect, test } from 'vitest'
import { replay } from './replay.ts'
import { Scene } from './scene.ts'

const RESEARCH = { id: 'call_1', name: 'research', args: { input: 'What is it?' } }
const DELETE = { id: 'call_d', name: 'delete_file', args: { path: '/a' } }
const WEATHER = { id: 'call_w', name: 'get_weather', args: { city: 'Paris' } }

async function treeOf(scene: Scene): Promise<string> {
  const { tree, leftOpen, plugin } = await replay(scene.events)
  expect(leftOpen).toBe(0)
  expect(plugin.stats().hooks).toMatchObject({ ignored: 0, duplicate: 0, error: 0 })
  return tree
}

test('makes an agent that runs as a tool a child of its own, in the same trace', async () => {
  const scene = new Scene().trace('t1', 'conversation')
  const { task, agent } = scene.run('t1', 'main')
  scene.model('t1', agent, [RESEARCH])
  const tool = scene.startTool('t1', agent, RESEARCH)
  const child = scene.run('t1', 'researcher', tool)
  scene.model('t1', child.agent, '42', 'What is it?').endRun(child.agent, child.task)
  scene.end(tool, { output: '42' }).model('t1', agent, 'It is 42.').endRun(agent, task).endTrace('t1')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
          tool.research OK [gen_ai.tool.call.id=call_1, hermes.tool.outcome=completed]
            subagent.researcher OK [gen_ai.agent.name=researcher]
              agent OK [gen_ai.agent.name=researcher, hermes.turn.number=1, hermes.turn.final_status=completed]
                llm.gpt-5 OK
                  api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
  const { plugin } = await replay(scene.events)
  const delegation = plugin.spans().find(span => span.name === 'subagent.researcher')
  expect(delegation?.attributes).toMatchObject({
    'session.id': 'conversation',
    'hermes.subagent.child_session_id': child.task,
    'hermes.subagent.goal': 'What is it?',
    'hermes.subagent.summary': '42',
  })
})

test('makes a child that fails a failed delegation', async () => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  scene.model('t1', agent, [RESEARCH])
  const tool = scene.startTool('t1', agent, RESEARCH)
  const child = scene.run('t1', 'researcher', tool)
  scene.failingModel('t1', child.agent).fail('Error: 500 on fire', child.agent, child.task)
  scene.end(tool, { output: 'An error occurred.' }, { message: 'Error running tool (non-fatal)' })
  scene.model('t1', agent, 'Sorry').endRun(agent, task).endTrace('t1')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
          tool.research ERROR tool_error [gen_ai.tool.call.id=call_1, hermes.tool.outcome=error]
            subagent.researcher ERROR failed [gen_ai.agent.name=researcher]
              agent ERROR InternalServerError [gen_ai.agent.name=researcher, hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=model_error]
                llm OK
                  api.error ERROR InternalServerError [http.response.status_code=500]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
})

test('separates two children at once', async () => {
  const other = { id: 'call_2', name: 'translate', args: { input: 'Say it' } }
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  scene.model('t1', agent, [RESEARCH, other])
  const tools = [scene.startTool('t1', agent, RESEARCH), scene.startTool('t1', agent, other)] as const
  const one = scene.run('t1', 'researcher', tools[0])
  const two = scene.run('t1', 'translator', tools[1])
  scene.model('t1', two.agent, 'deux').model('t1', one.agent, '42')
  scene.endRun(two.agent, two.task, tools[1], one.agent, one.task, tools[0])
  scene.model('t1', agent, 'Both').endRun(agent, task).endTrace('t1')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
          tool.research OK [gen_ai.tool.call.id=call_1, hermes.tool.outcome=completed]
            subagent.researcher OK [gen_ai.agent.name=researcher]
              agent OK [gen_ai.agent.name=researcher, hermes.turn.number=1, hermes.turn.final_status=completed]
                llm.gpt-5 OK
                  api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
          tool.translate OK [gen_ai.tool.call.id=call_2, hermes.tool.outcome=completed]
            subagent.translator OK [gen_ai.agent.name=translator]
              agent OK [gen_ai.agent.name=translator, hermes.turn.number=1, hermes.turn.final_status=completed]
                llm.gpt-5 OK
                  api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
})

test('makes an agent that a guardrail asks a child, too', async () => {
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  const guardrail = scene.start('t1', agent, { type: 'guardrail', name: 'homework', triggered: false })
  const child = scene.run('t1', 'checker', guardrail)
  scene.model('t1', child.agent, 'fine').endRun(child.agent, child.task, guardrail)
  scene.model('t1', agent, 'Hello').endRun(agent, task).endTrace('t1')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
      subagent.checker OK [gen_ai.agent.name=checker]
        agent OK [gen_ai.agent.name=checker, hermes.turn.number=1, hermes.turn.final_status=completed]
          llm.gpt-5 OK
            api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
})

test("continues the turn with the other agent after a handoff, and its tokens are the turn's", async () => {
  const transfer = { id: 'call_t', name: 'transfer_to_billing' }
  const scene = new Scene().trace('t1')
  const { task, agent } = scene.run('t1', 'main')
  scene.model('t1', agent, [transfer])
  const handoff = scene.start('t1', agent, { type: 'handoff', from_agent: 'main' })
  scene.end(handoff, { to_agent: 'billing' }).end(agent)
  const billing = scene.agent('t1', task, 'billing')
  scene.model('t1', billing, [WEATHER]).tool('t1', billing, WEATHER).model('t1', billing, 'Refunded.')
  scene.endRun(billing, task).endTrace('t1')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
        subagent.billing OK [gen_ai.agent.name=billing]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
          tool.get_weather OK [gen_ai.tool.call.id=call_w, hermes.tool.outcome=completed]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
  const { plugin } = await replay(scene.events)
  const root = plugin.spans().find(span => span.name === 'agent')
  expect(root?.attributes).toMatchObject({ 'hermes.turn.tokens.total': 330, 'output.value': 'Refunded.' })
})

test('makes an agent and its handoffs the turn without spans for the run', async () => {
  const scene = new Scene().trace('t1')
  const agent = scene.agent('t1', null, 'main')
  scene.model('t1', agent, [{ id: 'call_t', name: 'transfer_to_billing' }])
  scene.end(scene.start('t1', agent, { type: 'handoff', from_agent: 'main' }), { to_agent: 'billing' }).end(agent)
  const billing = scene.agent('t1', null, 'billing')
  scene.model('t1', billing, [RESEARCH])
  const tool = scene.startTool('t1', billing, RESEARCH)
  const child = scene.agent('t1', tool, 'researcher')
  scene.model('t1', child, '42').endRun(child, tool).model('t1', billing, 'It is 42').end(billing).endTrace('t1')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
        subagent.billing OK [gen_ai.agent.name=billing]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
          tool.research OK [gen_ai.tool.call.id=call_1, hermes.tool.outcome=completed]
            subagent.researcher OK [gen_ai.agent.name=researcher]
              agent OK [gen_ai.agent.name=researcher, hermes.turn.number=1, hermes.turn.final_status=completed]
                llm.gpt-5 OK
                  api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
})

test('ends a failed run without spans for it, though its trace has no end', async () => {
  const scene = new Scene().trace('t1')
  const agent = scene.agent('t1', null, 'main')
  scene.failingModel('t1', agent).fail('Error: 500 on fire', agent)
  expect(await treeOf(scene)).toContain('final_status=failed')
})

test('continues a resumed run without spans for it with the same agent span', async () => {
  const scene = new Scene().trace('t1')
  const agent = scene.agent('t1', null, 'main')
  scene.model('t1', agent, [DELETE]).endTrace('t1').wait(500)
  scene.tool('t1', agent, DELETE).model('t1', agent, 'Deleted').end(agent)
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [gen_ai.agent.name=main, hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=approval]
      llm.gpt-5 OK
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]
      approval.delete_file OK (inferred) [gen_ai.tool.call.id=call_d, hermes.approval.choice=once]

    agent OK [gen_ai.agent.name=main, hermes.turn.number=2, hermes.turn.final_status=completed]
      llm.gpt-5 OK
        tool.delete_file OK [gen_ai.tool.call.id=call_d, hermes.tool.outcome=completed]
        api.gpt-5 OK [gen_ai.usage.input_tokens=100, gen_ai.usage.output_tokens=10]"
  `)
})

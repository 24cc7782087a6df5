import { expect, test } from 'vitest'
import { ClaudeCodeMachine } from '../../../src/agents/claude-code/events.ts'
import { play } from './play.ts'
import { Scene, tool } from './scene.ts'

async function treeOf(scene: Scene): Promise<string> {
  const { tree, leftOpen, plugin } = await play(scene.events)
  expect(leftOpen).toBe(0)
  expect(plugin.stats().hooks).toMatchObject({ ignored: 0, error: 0 })
  return tree
}

const scout = { agent_type: 'scout' }

/** A turn that has given two agents their tasks. */
function delegating(): Scene {
  const scene = new Scene().prompted('one').answered('m1', { calls: ['t1', 't2'] })
  return scene.starts('t1', 'Agent').starts('t2', 'Agent')
}

test('attaches parallel children to the tools that their files name', async () => {
  const scene = delegating()
  for (const [agent_id, tool_use_id] of [
    ['a2', 't2'],
    ['a1', 't1'],
  ] as const) {
    scene
      .hook('SubagentStart', { ...scout, agent_id })
      .found('agent', { agent_id, tool_use_id })
      .found('read')
  }
  scene.answered('c1', { agent_id: 'a1', calls: ['t3'] }).hook('PreToolUse', { ...tool('t3', 'Bash'), agent_id: 'a1' })
  scene.found('read').hook('PostToolUse', { ...tool('t3', 'Bash'), agent_id: 'a1' })
  scene.hook('SubagentStop', { ...scout, agent_id: 'a1', last_assistant_message: 'Seen.' }).found('read')
  scene.hook('SubagentStop', { ...scout, agent_id: 'a2', last_assistant_message: 'Seen.' }).found('read')
  scene.ends('t2', 'Agent').ends('t1', 'Agent').batch('t1', 't2').stops()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.scout OK
              agent OK [hermes.turn.final_status=completed]
                llm.claude OK
                  api.claude OK [gen_ai.usage.input_tokens=120]
                    tool.Bash OK [hermes.tool.outcome=completed]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.scout OK
              agent OK [hermes.turn.final_status=completed]
                llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

test('attaches a child to the first matching tool without its file, and marks it as inferred', async () => {
  const scene = delegating().hook('SubagentStart', { ...scout, agent_id: 'a1' })
  scene
    .hook('SubagentStop', { ...scout, agent_id: 'a1' })
    .ends('t1', 'Agent')
    .ends('t2', 'Agent')
  expect(await treeOf(scene.batch('t1', 't2').stops())).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.scout OK (inferred)
              agent OK [hermes.turn.final_status=completed]
                llm.claude OK
          tool.Agent OK [hermes.tool.outcome=completed]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

test('keeps a background child open after the turn', async () => {
  const scene = delegating().hook('SubagentStart', { ...scout, agent_id: 'a1' })
  scene.found('agent', { agent_id: 'a1', tool_use_id: 't1' }).found('read')
  const tool_response = { isAsync: true, status: 'async_launched', agentId: 'a1' }
  scene.ends('t1', 'Agent', { tool_response }).ends('t2', 'Agent', { tool_response }).batch('t1', 't2').stops()
  scene.hook('PreToolUse', { ...tool('t3', 'Bash'), agent_id: 'a1' })
  scene
    .answered('c1', { agent_id: 'a1', calls: ['t3'], started_at: scene.at - 2, ended_at: scene.at - 1 })
    .found('read')
  scene.prompted('two').hook('PostToolUse', { ...tool('t3', 'Bash'), agent_id: 'a1', prompt_id: 'one' })
  scene.hook('SubagentStop', { ...scout, agent_id: 'a1', prompt_id: 'one', last_assistant_message: 'Seen.' })
  expect(await treeOf(scene.stops('m3'))).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Agent OK [hermes.tool.outcome=async_launched]
            subagent.scout OK
              agent OK [hermes.turn.final_status=completed]
                llm.claude OK
                  api.claude OK [gen_ai.usage.input_tokens=120]
                    tool.Bash OK [hermes.tool.outcome=completed]
          tool.Agent OK [hermes.tool.outcome=async_launched]
        api.claude OK [gen_ai.usage.input_tokens=120]

    agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

test('ignores an agent of which only the end is reported', async () => {
  const scene = new Scene().prompted('one').hook('SubagentStop', { agent_id: 'x', agent_type: '' })
  scene.answered('c1', { agent_id: 'x' }).found('read').stops()
  expect(await treeOf(scene)).not.toContain('subagent')
})

test('ends a child whose model fails, and its tool', async () => {
  const scene = delegating()
    .hook('SubagentStart', { ...scout, agent_id: 'a1' })
    .found('read')
  scene.hook('StopFailure', { ...scout, agent_id: 'a1', error: 'server_error' })
  const failure = { agent_id: 'a1', line_id: 'l1', started_at: scene.at - 5, at: scene.at - 2, status: 500 }
  scene.found('failure', { ...failure, error: 'server_error' }).found('read')
  scene.hook('PostToolUseFailure', tool('t1', 'Agent', { error: 'it failed' })).ends('t2', 'Agent')
  expect(await treeOf(scene.batch('t1', 't2').stops())).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Agent ERROR tool_error [hermes.tool.outcome=error]
            subagent.scout ERROR failed (inferred)
              agent ERROR server_error [hermes.turn.final_status=failed]
                llm.claude OK
                  api.claude ERROR server_error
          tool.Agent OK [hermes.tool.outcome=completed]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

test('starts a second run of an agent that is resumed', async () => {
  const scene = delegating()
    .hook('SubagentStart', { ...scout, agent_id: 'a1' })
    .found('read')
  scene.hook('SubagentStop', { ...scout, agent_id: 'a1', last_assistant_message: 'Seen.' }).found('read')
  scene.hook('SubagentStart', { ...scout, agent_id: 'a1' }).found('read')
  scene.hook('SubagentStop', { ...scout, agent_id: 'a1', last_assistant_message: 'Again.' }).found('read')
  scene.ends('t1', 'Agent').ends('t2', 'Agent').batch('t1', 't2').stops()
  expect((await treeOf(scene)).match(/subagent/g)).toHaveLength(2)
})

test('adds a tool to the run that starts it, even if its answer was read in the run before', async () => {
  const scene = delegating()
    .hook('SubagentStart', { ...scout, agent_id: 'a1' })
    .found('read')
  scene.hook('SubagentStop', { ...scout, agent_id: 'a1', last_assistant_message: 'Seen.' }).found('read')
  scene.answered('m7', { agent_id: 'a1', calls: ['t7'] })
  scene.hook('SubagentStart', { ...scout, agent_id: 'a1' }).found('read')
  scene.starts('t7', 'Bash', { agent_id: 'a1' }).ends('t7', 'Bash', { agent_id: 'a1' })
  const machine = new ClaudeCodeMachine()
  const records = scene.events.flatMap(event => machine.accept(event) ?? [])
  const turns = records.flatMap(({ hook, payload }) => (hook.endsWith('_tool_call') ? [payload] : []))
  expect(turns.slice(-2)).toMatchObject([
    { tool_call_id: 't7', turn_id: 'a1:2' },
    { tool_call_id: 't7', turn_id: 'a1:2' },
  ])
})

test('starts a child with its first request if its start hook is lost', async () => {
  const scene = new Scene().prompted('one').answered('m1', { calls: ['t1'] })
  scene.starts('t1', 'Agent', { tool_input: { prompt: 'look', subagent_type: 'scout' } })
  scene.found('agent', { agent_id: 'a1', tool_use_id: 't1' }).answered('m2', { agent_id: 'a1' })
  scene.hook('SubagentStop', { agent_id: 'a1', last_assistant_message: 'Seen.' }).found('read')
  scene.found('result', { tool_use_id: 't1', at: scene.at + 1, response: { status: 'completed', agentId: 'a1' } })
  expect(await treeOf(scene.batch('t1').stops())).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.scout OK
              agent OK [hermes.turn.final_status=completed]
                llm.claude OK
                  api.claude OK [gen_ai.usage.input_tokens=120]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

test('keeps a background child open if the hook that launched it is lost', async () => {
  const scene = new Scene().prompted('one').answered('m1', { calls: ['t1'] })
  scene.starts('t1', 'Agent').found('agent', { agent_id: 'a1', tool_use_id: 't1' })
  scene.hook('SubagentStart', { agent_id: 'a1', agent_type: 'scout' }).found('read')
  const tool_response = [{ type: 'text', text: 'Async agent launched successfully.' }]
  scene.hook('PostToolBatch', { tool_calls: [{ ...tool('t1', 'Agent'), tool_response }] }).found('read')
  scene.stops('m2').answered('m3', { agent_id: 'a1' })
  expect(await treeOf(scene.hook('SubagentStop', { agent_id: 'a1' }).found('read'))).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Agent OK [hermes.tool.outcome=async_launched]
            subagent.scout OK
              agent OK [hermes.turn.final_status=completed]
                llm.claude OK
                  api.claude OK [gen_ai.usage.input_tokens=120]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

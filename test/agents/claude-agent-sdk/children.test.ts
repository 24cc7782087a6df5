import { expect, test } from 'vitest'
import { play } from './play.ts'
import { Scene } from './scene.ts'

const SHOWN = [
  'gen_ai.usage.output_tokens',
  'hermes.tool.outcome',
  'hermes.turn.final_status',
  'hermes.subagent.status',
]
const CHILD = { agent_id: 'a1', agent_type: 'scout' }

async function treeOf(scene: Scene): Promise<string> {
  const { tree, leftOpen } = await play(scene.events, SHOWN)
  expect(leftOpen).toBe(0)
  return tree
}

/** A turn that has delegated to a child. */
function delegated(scene = new Scene()): Scene {
  scene
    .prompted('go')
    .answer('m1', { calls: { t1: 'Agent' } })
    .toolStarts('t1', 'Agent')
  scene.message('system.task_started', { task_id: 'a1', tool_use_id: 't1', subagent_type: 'scout', prompt: 'look' })
  return scene.hook('SubagentStart', CHILD)
}

const LAUNCHED = { tool_response: { isAsync: true, status: 'async_launched' } }
const child = { call: 't1', agent: 'a1' }

function notified(scene: Scene, status = 'completed', usage: object = {}): Scene {
  return scene.message('system.task_notification', { task_id: 'a1', tool_use_id: 't1', status, summary: 'seen', usage })
}

test('keeps a background child open after the turn, below its call', async () => {
  const scene = delegated()
    .toolEnds('t1', 'Agent', LAUNCHED)
    .batch('t1')
    .answer('m2', { text: 'waiting' })
    .stop()
    .result()
  scene
    .answer('m3', { child, calls: { t3: 'Bash' } })
    .toolStarts('t3', 'Bash', CHILD)
    .toolEnds('t3', 'Bash', CHILD)
  scene.hook('PostToolBatch', { ...CHILD, tool_calls: [{ tool_use_id: 't3' }] }).answer('m4', { child, text: 'seen' })
  scene.hook('SubagentStop', { ...CHILD, last_assistant_message: 'seen' })
  notified(scene, 'completed', { total_tokens: 27 }).prompted('<task-notification>', 'p2')
  scene.answer('m5', { text: 'it was seen' }).stop().result()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
          tool.Agent OK [hermes.tool.outcome=async_launched]
            subagent.scout OK [hermes.subagent.status=completed]
              agent OK [hermes.turn.final_status=completed]
                llm.claude OK
                  api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
                    tool.Bash OK [hermes.tool.outcome=completed]
                  api.claude OK (inferred) [gen_ai.usage.output_tokens=17]
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]

    agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]"
  `)
})

test('adds the last answer of a foreground child', async () => {
  const scene = delegated().answer('m3', { child, calls: { t3: 'Bash' } })
  scene.toolStarts('t3', 'Bash', CHILD).toolEnds('t3', 'Bash', CHILD)
  scene.hook('PostToolBatch', { ...CHILD, tool_calls: [{ tool_use_id: 't3' }] })
  scene.hook('SubagentStop', { ...CHILD, last_assistant_message: 'seen' })
  notified(scene)
  const usage = { input_tokens: 10, output_tokens: 22 }
  scene.toolEnds('t1', 'Agent', { tool_response: { status: 'completed', usage } }).batch('t1')
  expect(await treeOf(scene.answer('m2', { text: 'done' }).stop().result())).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.scout OK [hermes.subagent.status=completed]
              agent OK [hermes.turn.final_status=completed]
                llm.claude OK
                  api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
                    tool.Bash OK [hermes.tool.outcome=completed]
                  api.claude OK (inferred) [gen_ai.usage.output_tokens=22]
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]"
  `)
})

test('waits for messages of a child whose tool has returned', async () => {
  const scene = new Scene()
    .prompted('go')
    .toolStarts('t1', 'Agent', { tool_input: { prompt: 'look', subagent_type: 'scout' } })
  scene.hook('SubagentStart', CHILD).hook('SubagentStop', { ...CHILD, last_assistant_message: 'seen' })
  scene
    .toolEnds('t1', 'Agent', { tool_response: { status: 'completed' } })
    .batch('t1')
    .stop()
  scene.answer('m1', { calls: { t1: 'Agent' } })
  scene.message('system.task_started', { task_id: 'a1', tool_use_id: 't1', subagent_type: 'scout', prompt: 'look' })
  scene.answer('m3', { child, text: 'seen' })
  notified(scene).answer('m2', { text: 'done' }).result()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.scout OK (inferred) [hermes.subagent.status=completed]
              agent OK [hermes.turn.final_status=completed]
                llm.claude OK
                  api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]"
  `)
})

test('distinguishes failed from stopped children', async () => {
  const failed = delegated().toolEnds('t1', 'Agent', LAUNCHED).batch('t1')
  failed.message('assistant', {
    message: { model: '<synthetic>', content: [{ type: 'text', text: 'API Error' }] },
    error: 'server_error',
    agent_id: 'a1',
  })
  failed.hook('StopFailure', { ...CHILD, error: 'server_error' })
  expect(await treeOf(notified(failed, 'failed').stop().result())).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
          tool.Agent OK [hermes.tool.outcome=async_launched]
            subagent.scout ERROR failed [hermes.subagent.status=failed]
              agent ERROR server_error [hermes.turn.final_status=failed]
                llm.claude OK
                  api.claude ERROR server_error (inferred)"
  `)
  const stopped = delegated()
    .toolEnds('t1', 'Agent', LAUNCHED)
    .batch('t1')
    .answer('m3', { child, calls: { t3: 'Bash' } })
  stopped.toolStarts('t3', 'Bash', CHILD)
  expect(await treeOf(notified(stopped, 'stopped').stop().result())).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
          tool.Agent OK [hermes.tool.outcome=async_launched]
            subagent.scout OK [hermes.subagent.status=interrupted]
              agent OK [hermes.turn.final_status=interrupted]
                llm.claude OK
                  api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
                    tool.Bash OK [hermes.tool.outcome=cancelled]"
  `)
})

test('interrupts running children at the end of the query', async () => {
  const scene = delegated(new Scene({ query: 'q' }))
    .toolEnds('t1', 'Agent', LAUNCHED)
    .batch('t1')
  scene.answer('m2', { text: 'waiting' }).stop().result().event('iterator.return')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
          tool.Agent OK [hermes.tool.outcome=async_launched]
            subagent.scout OK [hermes.subagent.status=interrupted]
              agent OK [hermes.turn.final_status=interrupted]
                llm.claude OK
                  api.claude OK (inferred)
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]"
  `)
})

test('nests a child of a child', async () => {
  const scene = delegated()
    .answer('m3', { child, calls: { t3: 'Agent' } })
    .toolStarts('t3', 'Agent', CHILD)
  scene.message('system.task_started', {
    task_id: 'a2',
    tool_use_id: 't3',
    parent_task_id: 'a1',
    subagent_type: 'mole',
  })
  scene.answer('m4', { child: { call: 't3', agent: 'a2' }, text: 'dug' })
  scene.hook('SubagentStop', { agent_id: 'a2', last_assistant_message: 'dug' })
  scene.message('system.task_notification', { task_id: 'a2', status: 'completed' })
  scene.toolEnds('t3', 'Agent', { ...CHILD, tool_response: { status: 'completed' } })
  scene.hook('SubagentStop', { ...CHILD, last_assistant_message: 'seen' })
  notified(scene)
    .toolEnds('t1', 'Agent', { tool_response: { status: 'completed' } })
    .batch('t1')
  expect(await treeOf(scene.answer('m2', { text: 'done' }).stop().result())).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.scout OK [hermes.subagent.status=completed]
              agent OK [hermes.turn.final_status=completed]
                llm.claude OK
                  api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
                    tool.Agent OK [hermes.tool.outcome=completed]
                      subagent.mole OK [hermes.subagent.status=completed]
                        agent OK [hermes.turn.final_status=completed]
                          llm.claude OK
                            api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]"
  `)
})

test('starts a second run of a resumed child, and none for late events', async () => {
  const scene = delegated().toolEnds('t1', 'Agent', LAUNCHED).batch('t1').answer('m3', { child, text: 'seen' })
  notified(scene).answer('m3', { child, text: 'seen' }).toolStarts('t9', 'Bash', CHILD)
  scene.answer('m2', { calls: { t2: 'SendMessage' } }).toolStarts('t2', 'SendMessage')
  scene.message('system.task_started', { task_id: 'a1', tool_use_id: 't2', subagent_type: 'scout', prompt: 'again' })
  scene.toolEnds('t2', 'SendMessage').answer('m4', { child: { agent: 'a1' }, text: 'seen again' })
  expect(await treeOf(notified(scene).stop().result())).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
          tool.Agent OK [hermes.tool.outcome=async_launched]
            subagent.scout OK [hermes.subagent.status=completed]
              agent OK [hermes.turn.final_status=completed]
                llm.claude OK
                  api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
        api.claude OK (inferred) [gen_ai.usage.output_tokens=1]
          tool.SendMessage OK [hermes.tool.outcome=completed]
            subagent.scout OK [hermes.subagent.status=completed]
              agent OK [hermes.turn.final_status=completed]
                llm.claude OK
                  api.claude OK (inferred) [gen_ai.usage.output_tokens=1]"
  `)
})

test('ignores tasks that are not agents', async () => {
  const scene = new Scene().prompted('go').message('system.task_started', { task_id: 'b1', task_type: 'local_bash' })
  scene.message('system.task_notification', { task_id: 'b1', status: 'completed' }).stop().result()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK"
  `)
})

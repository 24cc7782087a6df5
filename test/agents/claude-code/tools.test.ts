import { expect, test } from 'vitest'
import { play } from './play.ts'
import { Scene, tool } from './scene.ts'

async function treeOf(scene: Scene): Promise<string> {
  const { tree, leftOpen, plugin } = await play(scene.events)
  expect(leftOpen).toBe(0)
  expect(plugin.stats().hooks).toMatchObject({ ignored: 0, error: 0 })
  return tree
}

/** A turn in which the model has asked for these tools. */
function asking(...calls: readonly string[]): Scene {
  return new Scene().prompted('one').answered('m1', { calls })
}

const REFUSALS = [
  'Permission to use Bash with command rm x has been denied.',
  "Claude requested permissions to write to /x.txt, but you haven't granted it yet.",
  "The user doesn't want to proceed with this tool use. The tool use was rejected.",
]

test.each(REFUSALS)('draws a tool as blocked if its batch has a refusal: %s', async tool_response => {
  const scene = asking('t1', 't2').starts('t1').starts('t2').ends('t2')
  scene.hook('PostToolBatch', { tool_calls: [tool('t1', 'Bash', { tool_response }), tool('t2', 'Bash')] })
  expect(await treeOf(scene.found('read').stops())).toBe(REFUSED_TREE)
})

const REFUSED_TREE = `agent OK [hermes.turn.final_status=completed]
  llm.claude OK
    api.claude OK [gen_ai.usage.input_tokens=120]
      tool.Bash OK [hermes.tool.outcome=blocked]
      tool.Bash OK [hermes.tool.outcome=completed]
    api.claude OK [gen_ai.usage.input_tokens=120]`

test('draws a tool as completed if the hook of its end is lost and its batch has no refusal', async () => {
  const scene = asking('t1').starts('t1').batch('t1')
  const { at } = scene
  const { tree, plugin } = await play(scene.stops().events)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
  expect(plugin.spans().find(({ name }) => name === 'tool.Bash')?.endAt).toBe(at)
})

test('ends a tool without any report when the model was sent its result', async () => {
  const scene = asking('t1').starts('t1').answered('m2').hook('SessionEnd', { reason: 'other' })
  expect(await treeOf(scene.found('read'))).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=interrupted]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

test('reads the end of a tool from its result, if no hook has reported it', async () => {
  const scene = asking('t1', 't2', 't3', 't4', 't5').starts('t1').starts('t2').starts('t3')
  const at = scene.at + 5
  const found = (tool_use_id: string, more: object): unknown => scene.found('result', { tool_use_id, at, ...more })
  found('t1', { response: { stdout: 'one' } })
  found('t2', { is_error: true, response: 'Exit code 3' })
  found('t3', { is_error: true, response: 'Not that.', denial: 'user-rejected' })
  found('t4', { response: '{"status":"error"}', started_at: at - 3 })
  found('t5', { is_error: true, response: 'stopped', denial: 'interrupted' })
  found('unknown', { response: 'of a turn before' })
  scene.ends('t1').batch('t1', 't2', 't3', 't4', 't5').stops()
  const { tree, plugin } = await play(scene.events)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Bash OK (inferred) [hermes.tool.outcome=cancelled]
          tool.Bash OK [hermes.tool.outcome=completed]
          tool.Bash ERROR tool_error [hermes.tool.outcome=error]
          tool.Bash OK [hermes.tool.outcome=blocked]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
  const [lost] = plugin.spans().filter(({ attributes }) => attributes['gen_ai.tool.call.id'] === 't4')
  expect([lost?.startAt, lost?.endAt]).toEqual([at - 3, at])
})

test('records an unknown tool as failed', async () => {
  const scene = asking('t1').hook('PostToolBatch', {
    tool_calls: [tool('t1', 'Nothing', { tool_response: '<tool_use_error>Error: No such tool' })],
  })
  expect(await treeOf(scene.stops())).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Nothing ERROR tool_error [hermes.tool.outcome=error]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

test('distinguishes failures from cancellations', async () => {
  const scene = asking('t1', 't2').starts('t1').starts('t2')
  scene.hook('PostToolUseFailure', tool('t1', 'Bash', { error: 'Exit code 3', is_interrupt: false, duration_ms: 3 }))
  scene.hook('PostToolUseFailure', tool('t2', 'Bash', { error: 'stopped', is_interrupt: true, duration_ms: 3 }))
  expect(await treeOf(scene.batch('t1', 't2').stops())).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Bash ERROR tool_error [hermes.tool.outcome=error]
          tool.Bash OK [hermes.tool.outcome=cancelled]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

test('computes the start of a tool from its duration', async () => {
  const { plugin } = await play(asking('t1').ends('t1', 'Bash', { duration_ms: 4 }).batch('t1').stops().events)
  const [call] = plugin.spans().filter(({ name }) => name === 'tool.Bash')
  expect(call!.endAt - call!.startAt).toBe(4)
})

test('attaches an approval to the newest tool of that name and input', async () => {
  const scene = asking('t1', 't2', 't3').starts('t1').starts('t2').starts('t3')
  scene.hook('PermissionRequest', { tool_name: 'Bash', tool_input: { command: 't2' } })
  scene.hook('PermissionRequest', { tool_name: 'Bash', tool_input: { command: 't1' } })
  scene.hook('PermissionRequest', { tool_name: 'Bash', tool_input: { command: 't1' } })
  scene.ends('t3').ends('t2').batch('t1', 't2', 't3').stops()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Bash OK [hermes.tool.outcome=blocked]
            approval.Bash OK (inferred) [hermes.approval.choice=deny]
          tool.Bash OK [hermes.tool.outcome=completed]
            approval.Bash OK (inferred) [hermes.approval.choice=once]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

test('answers an approval when the tool has run', async () => {
  const scene = asking('t1').starts('t1').hook('PermissionRequest', tool('t1', 'Bash'))
  const { plugin } = await play(scene.ends('t1', 'Bash', { duration_ms: 4 }).batch('t1').stops().events)
  const [approval] = plugin.spans().filter(({ name }) => name.startsWith('approval.'))
  const [call] = plugin.spans().filter(({ name }) => name === 'tool.Bash')
  expect(call!.endAt - approval!.endAt).toBe(4)
})

test('records a denial by auto mode', async () => {
  const scene = asking('t1')
    .starts('t1')
    .hook('PermissionDenied', tool('t1', 'Bash', { reason: 'too risky' }))
  expect(await treeOf(scene.batch('t1').stops())).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Bash OK [hermes.tool.outcome=blocked]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

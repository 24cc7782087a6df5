import { expect, test } from 'vitest'
import { play } from './play.ts'
import { Scene } from './scene.ts'

const TURNS = ['hermes.turn.number', 'hermes.turn.final_status', 'hermes.turn.exit_reason']

async function treeOf(scene: Scene): Promise<string> {
  const { tree, leftOpen } = await play(scene.events, TURNS)
  expect(leftOpen).toBe(0)
  return tree
}

test('a result whose subtype is success may have failed', async () => {
  const scene = new Scene().prompted('go').result({}, { is_error: true, terminal_reason: 'api_error' })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent ERROR failed [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=api_error]
      llm.claude OK"
  `)
})

test('an interruption is no failure', async () => {
  const scene = new Scene({ query: 'q' }).prompted('go')
  scene.message('result.error_during_execution', {
    subtype: 'error_during_execution',
    is_error: true,
    terminal_reason: 'aborted_streaming',
  })
  scene.event('iterator.error', { name: 'Error' })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=aborted_streaming]
      llm.claude OK
        api.claude OK (inferred)"
  `)
})

test('the loop over the messages is left: what runs is cancelled', async () => {
  const scene = new Scene({ query: 'q' })
    .prompted('go')
    .answer('m1', { calls: { t1: 'Bash' } })
    .toolStarts('t1')
  scene.event('iterator.return').toolEnds('t1')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=closed]
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK"
  `)
})

test('the process of the agent dies: the turn has failed', async () => {
  const scene = new Scene({ query: 'q' })
    .prompted('go')
    .answer('m1', { text: 'well' })
    .event('iterator.error', { name: 'Error' })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent ERROR failed [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=error]
      llm.claude OK
        api.claude OK (inferred)"
  `)
})

test('a query that the application aborts is interrupted', async () => {
  const scene = new Scene({ query: 'q' }).prompted('go').event('iterator.error', { name: 'Error', aborted: true })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=aborted]
      llm.claude OK
        api.claude OK (inferred)"
  `)
})

test('without a result the agent has stopped by itself when it said so', async () => {
  const scene = new Scene({ query: 'q' }).prompted('go').answer('m1', { text: 'done' }).stop().event('iterator.end')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=stop]
      llm.claude OK
        api.claude OK (inferred)"
  `)
})

test('a message that is taken up on the way has the id of the turn that runs', async () => {
  const scene = new Scene()
    .prompted('one')
    .answer('m1', { calls: { t1: 'Bash' } })
    .tool('t1')
    .batch('t1')
  scene.hook('UserPromptSubmit', { prompt: 'two' }).answer('m2', { text: 'both' }).stop().result()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK
        api.claude OK (inferred)"
  `)
})

test('hooks of the next turn wait for the result of this one', async () => {
  const first = new Scene().prompted('one').answer('m1', { text: 'one' }).stop()
  first.hook('UserPromptSubmit', { prompt: 'two', prompt_id: 'p2' })
  first.toolStarts('t2', 'Bash', { prompt_id: 'p2' }).toolEnds('t2', 'Bash', { prompt_id: 'p2' })
  first
    .result()
    .message('system.init', { model: 'claude' })
    .answer('m2', { calls: { t2: 'Bash' } })
  first.hook('Stop', { prompt_id: 'p2' }).result()
  expect(await treeOf(first)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.claude OK
        api.claude OK (inferred)

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK"
  `)
})

test('a result that never comes is waited for no longer than five minutes', async () => {
  const scene = new Scene().prompted('one').answer('m1', { text: 'one' }).stop()
  scene.hook('UserPromptSubmit', { prompt: 'two', prompt_id: 'p2' }).after(300_001)
  scene.toolStarts('t2', 'Bash', { prompt_id: 'p2' }).toolEnds('t2', 'Bash', { prompt_id: 'p2' })
  scene.hook('Stop', { prompt_id: 'p2' })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=stop]
      llm.claude OK
        api.claude OK (inferred)

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.exit_reason=stop]
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK"
  `)
})

test('the first event that is seen of a turn may be a tool', async () => {
  const scene = new Scene().toolStarts('t1').toolEnds('t1').stop().result()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm OK
        api.error OK (inferred)
          tool.Bash OK"
  `)
})

test('what comes late for a turn begins no other', async () => {
  const scene = new Scene().prompted('go').answer('m1', { text: 'done' }).stop().result()
  scene.toolStarts('t9').batch('t9').hook('UserPromptSubmit', { prompt: 'go' })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.claude OK
        api.claude OK (inferred)"
  `)
})

test('a session that is resumed goes on', async () => {
  const scene = new Scene({ query: 'q' })
    .prompted('one')
    .answer('m1', { text: 'done' })
    .stop()
    .result()
    .event('iterator.end')
  scene.prompted('two', 'p2').answer('m2', { text: 'done' }).stop().result()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.claude OK
        api.claude OK (inferred)

    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.claude OK
        api.claude OK (inferred)"
  `)
})

test('a compaction is a side call', async () => {
  const scene = new Scene()
    .prompted('go')
    .answer('m1', { calls: { t1: 'Bash' } })
    .tool('t1')
    .batch('t1')
  scene.hook('PreCompact', { trigger: 'auto' }).after(900).message('system.compact_boundary').hook('PostCompact')
  scene.answer('m2', { text: 'done' }).stop().result()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK
        api.claude OK (inferred)
      aux.compression OK"
  `)
})

test('a compaction between turns used what the next result counts; agents of the SDK itself are no children', async () => {
  const scene = new Scene().prompted('go').answer('m1', { text: 'done' }).stop()
  const counted = (inputTokens: number, outputTokens: number): object => ({
    model_usage_since_last_result: { claude: { inputTokens, outputTokens } },
  })
  scene.result({ input_tokens: 10, output_tokens: 5 }, counted(10, 5))
  const command = { prompt_id: 'p2' }
  scene.hook('PreCompact', command).hook('PreCompact', command)
  scene.hook('SubagentStop', { ...command, agent_id: 'a1', agent_type: '' }).hook('PostCompact', command)
  scene.message('system.compact_boundary').result({}, counted(200, 20))
  const { plugin, leftOpen } = await play(scene.events)
  expect(leftOpen).toBe(0)
  const aux = plugin.spans().filter(span => span.name.startsWith('aux'))
  expect(aux.map(span => [span.name, span.attributes['gen_ai.usage.input_tokens']])).toEqual([['aux.compression', 200]])
  expect(plugin.spans()).toHaveLength(4)
})

test('names that are not known are told to be unknown; known ones that say nothing are not', async () => {
  const scene = new Scene()
    .prompted('go')
    .hook('Notification')
    .message('system.thinking_tokens')
    .message('rate_limit_event')
  const known = await play(scene.events)
  expect(known.plugin.stats().hooks.ignored).toBe(0)
  scene.hook('Foretold').message('system.oracle').event('canUseFork')
  const unknown = await play(scene.events)
  expect(unknown.plugin.stats().hooks.ignored).toBe(3)
})

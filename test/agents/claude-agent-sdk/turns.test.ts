import { expect, test } from 'vitest'
import { play } from './play.ts'
import { Scene } from './scene.ts'

const TURNS = ['hermes.turn.number', 'hermes.turn.final_status', 'hermes.turn.exit_reason']

async function treeOf(scene: Scene): Promise<string> {
  const { tree, leftOpen } = await play(scene.events, TURNS)
  expect(leftOpen).toBe(0)
  return tree
}

test('records a failure with the subtype success', async () => {
  const scene = new Scene().prompted('go').result({}, { is_error: true, terminal_reason: 'api_error' })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent ERROR failed [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=api_error]
      llm.claude OK"
  `)
})

test('distinguishes an interruption from a failure', async () => {
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

test('cancels running tools if the application leaves the loop', async () => {
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

test('fails the turn if the agent’s process dies', async () => {
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

test('interrupts the turn of an aborted query', async () => {
  const scene = new Scene({ query: 'q' }).prompted('go').event('iterator.error', { name: 'Error', aborted: true })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=aborted]
      llm.claude OK
        api.claude OK (inferred)"
  `)
})

test('completes a turn that stopped without a result', async () => {
  const scene = new Scene({ query: 'q' }).prompted('go').answer('m1', { text: 'done' }).stop().event('iterator.end')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=stop]
      llm.claude OK
        api.claude OK (inferred)"
  `)
})

test('adds a message with the id of the running turn to it', async () => {
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

test('buffers hooks of the next turn until the result', async () => {
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

test('waits for a result at most five minutes', async () => {
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

test('starts a turn with a tool', async () => {
  const scene = new Scene().toolStarts('t1').toolEnds('t1').stop().result()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm OK
        api.error OK (inferred)
          tool.Bash OK"
  `)
})

test('starts no turn for late events', async () => {
  const scene = new Scene().prompted('go').answer('m1', { text: 'done' }).stop().result()
  scene.toolStarts('t9').batch('t9').hook('UserPromptSubmit', { prompt: 'go' })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.exit_reason=completed]
      llm.claude OK
        api.claude OK (inferred)"
  `)
})

test('continues a resumed session', async () => {
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

test('records a compaction as an auxiliary call', async () => {
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

test('assigns pending tokens to a compaction between turns, and ignores internal agents', async () => {
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

test('reports unknown names and ignores quiet ones', async () => {
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

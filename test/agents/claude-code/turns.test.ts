import { expect, test } from 'vitest'
import { play } from './play.ts'
import { Scene } from './scene.ts'

async function treeOf(scene: Scene, leftOpen = 0): Promise<string> {
  const played = await play(scene.events)
  expect(played.leftOpen).toBe(leftOpen)
  expect(played.plugin.stats().hooks).toMatchObject({ ignored: 0, error: 0 })
  return played.tree
}

test('emits a request before the tool that it asked for', async () => {
  const scene = new Scene().prompted('one').hook('PreToolUse', { tool_use_id: 't1', tool_name: 'Bash' })
  scene.found('request', { started_at: scene.at - 5, model: 'claude' }).found('read')
  scene
    .ends('t1')
    .answered('m1', { calls: ['t1'], started_at: scene.at - 15 })
    .batch('t1')
    .stops()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

test('emits no requests without a transcript', async () => {
  const scene = new Scene().prompted('one').starts('t1').ends('t1').batch('t1')
  scene.hook('Stop', { last_assistant_message: 'Done.' })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm OK
        tool.Bash OK [hermes.tool.outcome=completed]"
  `)
})

test('attaches a tool to its request if its start was not received', async () => {
  const scene = new Scene()
    .prompted('one')
    .hook('PostToolUse', { tool_use_id: 't1', tool_name: 'Bash', duration_ms: 3 })
  scene.answered('m1', { calls: ['t1'], started_at: scene.at - 8, ended_at: scene.at - 5 }).found('read')
  expect(await treeOf(scene.batch('t1').stops())).toContain(
    'api.claude OK [gen_ai.usage.input_tokens=120]\n      tool.Bash OK',
  )
})

test('emits an answer once if the file is read again', async () => {
  const scene = new Scene()
    .prompted('one')
    .answered('m1', { calls: ['t1'] })
    .starts('t1')
  scene
    .answered('m1', { calls: ['t1'] })
    .ends('t1')
    .batch('t1')
    .answered('m1')
    .stops()
    .answered('last')
    .found('read')
  const { plugin } = await play(scene.events)
  expect(plugin.spans().filter(({ name }) => name.startsWith('api.'))).toHaveLength(2)
})

test('does not assign an earlier turn’s answer to the next turn', async () => {
  const scene = new Scene().prompted('one').stops('m1').prompted('two')
  scene.answered('old', { started_at: scene.at - 100, ended_at: scene.at - 90 }).stops('m2')
  const { plugin } = await play(scene.events)
  expect(plugin.spans().filter(({ name }) => name.startsWith('api.'))).toHaveLength(2)
})

test('keeps one turn if another hook makes the agent continue', async () => {
  const scene = new Scene().prompted('one').answered('m1').hook('Stop', { last_assistant_message: 'Done.' })
  scene
    .found('read', { goes_on: true })
    .answered('m2', { calls: ['t1'] })
    .starts('t1')
    .ends('t1')
    .batch('t1')
    .stops()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

test('assigns work after a stop to the same turn', async () => {
  const scene = new Scene()
    .prompted('one')
    .stops('m1')
    .answered('m2', { calls: ['t1'] })
    .starts('t1')
  scene.ends('t1').batch('t1').stops('m3')
  const { plugin } = await play(scene.events)
  expect(plugin.spans().filter(({ name }) => name === 'agent')).toHaveLength(1)
  expect(new Set(plugin.spans().map(({ traceId }) => traceId)).size).toBe(1)
})

test('ends an interrupted turn and its pending request at the interruption', async () => {
  const scene = new Scene()
    .prompted('one')
    .answered('m1', { calls: ['t1'] })
    .starts('t1')
    .ends('t1')
    .batch('t1')
  const at = scene.at + 5
  scene.hook('UserPromptSubmit', { prompt: 'two', prompt_id: 'two' })
  scene.found('interrupted', { line_id: 'l1', at, started_at: at - 4, model: 'claude' }).found('read')
  scene.hook('Stop', { prompt_id: 'two', last_assistant_message: 'Two.' })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=interrupted]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude OK

    agent OK [hermes.turn.final_status=completed]
      llm.claude OK"
  `)
})

test('ends the turn of a withdrawn prompt with its request', async () => {
  const scene = new Scene().prompted('one')
  const started_at = scene.at + 5
  scene.hook('UserPromptSubmit', { prompt: 'two', prompt_id: 'two' })
  scene.found('request', { prompt_id: 'one', started_at, model: 'claude' }).found('read')
  scene.hook('Stop', { prompt_id: 'two', last_assistant_message: 'Two.' })
  const { plugin, tree } = await play(scene.events)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=interrupted]
      llm.claude OK
        api.claude OK

    agent OK [hermes.turn.final_status=completed]
      llm OK"
  `)
  expect(plugin.spans().find(({ name }) => name === 'agent')).toMatchObject({ endAt: started_at })
})

test('adds a prompt typed during a turn to that turn', async () => {
  const scene = new Scene().prompted('one').hook('UserPromptSubmit', { prompt: 'and this' }).stops()
  expect((await treeOf(scene)).match(/^agent/gm)).toHaveLength(1)
})

test('ends the turn of a killed process when the session continues', async () => {
  const killed = new Scene()
    .prompted('one')
    .answered('m1', { calls: ['t1'] })
    .starts('t1')
  expect((await play(killed.events)).leftOpen).toBeGreaterThan(0)
  killed.hook('SessionStart', { source: 'resume', prompt_id: undefined }).found('read').prompted('two').stops()
  expect(await treeOf(killed)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=interrupted]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Bash OK [hermes.tool.outcome=cancelled]

    agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]"
  `)
})

test('does not end a turn at a compaction', async () => {
  const scene = new Scene()
    .prompted('one')
    .answered('m1', { calls: ['t1'] })
    .starts('t1')
    .ends('t1')
    .batch('t1')
  scene.hook('PreCompact').hook('SessionStart', { source: 'compact' }).found('read').hook('PostCompact').stops()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude OK [gen_ai.usage.input_tokens=120]
      aux.compression OK"
  `)
})

test('interrupts the turn if the session ends', async () => {
  const scene = new Scene()
    .prompted('one')
    .answered('m1', { calls: ['t1'] })
    .starts('t1')
  scene.hook('SessionEnd', { reason: 'prompt_input_exit' }).found('read')
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=interrupted]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]
          tool.Bash OK [hermes.tool.outcome=cancelled]"
  `)
})

test('records a failed turn without a transcript', async () => {
  const scene = new Scene().prompted('one').hook('StopFailure', { error: 'rate_limit' })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent ERROR failed [hermes.turn.final_status=failed]
      llm OK"
  `)
})

test('starts a turn with its first event if its prompt was not received', async () => {
  const scene = new Scene().starts('t1').ends('t1').batch('t1').hook('Stop', { last_assistant_message: 'Done.' })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm OK
        tool.Bash OK [hermes.tool.outcome=completed]"
  `)
})

test('reads a missing prompt from the transcript', async () => {
  const scene = new Scene().hook('PreToolUse', { tool_use_id: 't1', tool_name: 'Bash', prompt_id: 'p1' })
  scene.found('prompt', { prompt_id: 'p1', at: scene.at - 8, prompt: 'look around' }).found('read')
  scene.ends('t1').hook('Stop', { prompt_id: 'p1', last_assistant_message: 'Done.' })
  const { plugin } = await play(scene.events)
  const [root] = plugin.spans().filter(({ name }) => name === 'agent')
  expect(root).toMatchObject({ startAt: scene.events[0]!.at! - 8, attributes: { 'input.value': 'look around' } })
})

test('ends a turn whose stop hook was not received', async () => {
  const scene = new Scene().prompted('one').answered('m1')
  const at = scene.at + 8
  scene
    .hook('SessionStart', { source: 'resume' })
    .found('stopped', { at, last_assistant_message: 'Done.' })
    .found('read')
  const { plugin, leftOpen } = await play(scene.events)
  expect(leftOpen).toBe(0)
  const [root] = plugin.spans().filter(({ name }) => name === 'agent')
  expect(root).toMatchObject({ endAt: at, attributes: { 'hermes.turn.final_status': 'completed' } })
})

test('links turns to the span in which the process was started', async () => {
  const [trace, span] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
  const scene = new Scene().hook('SessionStart', { source: 'startup' })
  Object.assign(scene.events[0] as object, { context: { traceparent: `00-${trace}-${span}-01` } })
  scene.found('read').prompted('one').stops('m1').prompted('two').stops('m2')
  const { plugin } = await play(scene.events)
  const roots = plugin.spans().filter(({ name }) => name === 'agent')
  expect(roots).toHaveLength(2)
  for (const { links } of roots) expect(links).toContainEqual(expect.objectContaining({ traceId: trace, spanId: span }))
})

test('starts no turn for a command such as /compact', async () => {
  const scene = new Scene().hook('PreCompact', { prompt_id: 'p1' }).hook('PostCompact', { prompt_id: 'p1' })
  scene.hook('SessionEnd', { prompt_id: 'p1', reason: 'other' })
  scene.found('prompt', { prompt_id: 'p1', at: scene.at - 8, prompt: '<command-name>/compact' }).found('read')
  expect(await treeOf(scene)).toBe('aux.compression OK')
})

test('starts a turn with its first tool if nothing earlier was received', async () => {
  const scene = new Scene().hook('PreToolUse', { tool_use_id: 't1', tool_name: 'Bash', prompt_id: 'p1' })
  scene.found('request', { prompt_id: 'p1', start_is_guessed: true }).found('read').ends('t1')
  scene.hook('Stop', { prompt_id: 'p1', last_assistant_message: 'Done.' })
  const { plugin, tree } = await play(scene.events)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm OK
        api.error OK (inferred)
          tool.Bash OK [hermes.tool.outcome=completed]"
  `)
  for (const { startAt } of plugin.spans()) expect(startAt).toBeGreaterThanOrEqual(scene.events[0]!.at!)
})

test('ignores a late session start', async () => {
  const scene = new Scene().prompted('one')
  const late = { event: 'SessionStart', at: scene.at - 5, data: { session_id: 's1', source: 'startup' } }
  scene.events.push(late)
  expect(await treeOf(scene.stops())).toContain('agent OK [hermes.turn.final_status=completed]')
})

test('reports unknown events and ignores quiet ones', async () => {
  const scene = new Scene().hook('Notification', { message: 'hi' }).hook('SomethingNew')
  const { plugin } = await play(scene.events)
  expect(plugin.stats().hooks).toMatchObject({ ignored: 1, error: 0 })
})

test('draws one turn for the ends of two background agents that the model is asked about together', async () => {
  const scene = new Scene().prompted('start').stops('m1')
  for (const id of ['n1', 'n2']) {
    const prompt = `<task-notification>\n<task-id>${id}</task-id>`
    scene.hook('UserPromptSubmit', { prompt_id: id, prompt }).found('read')
  }
  scene.found('response', { ...ANSWER, prompt_id: 'n2', started_at: scene.at + 1, ended_at: scene.at + 5 })
  scene.hook('Stop', { prompt_id: 'n2', last_assistant_message: 'Done.' }).found('read')
  const { tree, leftOpen } = await play(scene.events)
  expect(leftOpen).toBe(0)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=120]

    agent OK [hermes.turn.final_status=completed]
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=100]"
  `)
})

const ANSWER = { message_id: 'm2', model: 'claude', usage: { input_tokens: 100, output_tokens: 17 }, content: [] }

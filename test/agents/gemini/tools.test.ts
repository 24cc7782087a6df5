import { expect, test } from 'vitest'
import { replayEvents } from '../replay-fixture.ts'
import { lines, read, Scene } from './scene.ts'

const OUTCOME = ['hermes.tool.outcome', 'gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens']

test('emits a request before its tool, and counts thoughts and input from tools', async () => {
  const scene = new Scene()
  await scene.hook('BeforeAgent', 0, { prompt: 'go' })
  scene.writes(lines.sent(10, 'go'))
  scene.writes(lines.answer(50))
  await scene.hook('BeforeTool', 60, read())
  await scene.hook('AfterTool', 80, { ...read(), tool_response: { llmContent: 'text' } })
  scene.writes(lines.answer(50, '', [lines.call(90, 'c1')]))
  scene.writes(lines.sent(95))
  scene.writes(lines.answer(120, 'Done.'))
  await scene.hook('AfterAgent', 130, { prompt_response: 'Done. Done.' })
  expect(await scene.tree(OUTCOME)).toMatchInlineSnapshot(`
    "agent OK
      llm.gemini-3 OK
        api.gemini-3 OK [gen_ai.usage.input_tokens=102, gen_ai.usage.output_tokens=15]
          tool.read_file OK (inferred) [hermes.tool.outcome=completed]
        api.gemini-3 OK [gen_ai.usage.input_tokens=102, gen_ai.usage.output_tokens=15]"
  `)
})

test('ends the first of identical concurrent tools first, in whatever order their input is written', async () => {
  const scene = new Scene()
  await scene.hook('BeforeAgent', 0, { prompt: 'go' })
  const one = { tool_name: 'grep', tool_input: { a: 1, b: [2, { c: 3, d: 4 }] } }
  const same = { tool_name: 'grep', tool_input: { b: [2, { d: 4, c: 3 }], a: 1 } }
  await scene.hook('BeforeTool', 10, one)
  await scene.hook('BeforeTool', 20, same)
  await scene.hook('BeforeTool', 30, { ...one, tool_name: 'glob' })
  await scene.hook('AfterTool', 40, { ...same, tool_response: { llmContent: 'first' } })
  await scene.hook('AfterTool', 50, {
    ...one,
    tool_response: { llmContent: 'x', error: { message: 'no', type: 'gone' } },
  })
  await scene.hook('AfterAgent', 60)
  expect(await scene.tree(OUTCOME)).toMatchInlineSnapshot(`
    "agent OK
      llm OK
        tool.grep OK (inferred) [hermes.tool.outcome=completed]
        tool.grep ERROR gone (inferred) [hermes.tool.outcome=error]
        tool.glob OK (inferred) [hermes.tool.outcome=completed]"
  `)
})

test('ends denied tools and tools that could not start from the file alone', async () => {
  const scene = new Scene()
  await scene.hook('BeforeAgent', 0, { prompt: 'go' })
  scene.writes(lines.sent(10, 'go'))
  scene.writes(lines.answer(50))
  const shell = { tool_name: 'run_shell_command', tool_input: { command: 'rm x' } }
  await scene.hook('BeforeTool', 60, shell)
  const details = { type: 'exec', command: 'rm x' }
  await scene.hook('Notification', 70, { notification_type: 'ToolPermission', details })
  const said = (error: string): object => ({ result: [{ functionResponse: { response: { error } } }] })
  const denied = { name: shell.tool_name, args: shell.tool_input, status: 'cancelled', ...said('User denied it.') }
  const unknown = { name: 'no_such_tool', args: {}, status: 'error', ...said('Not found.') }
  scene.writes(lines.answer(50, '', [lines.call(90, 'c1', denied), lines.call(91, 'c2', unknown)]))
  scene.writes(lines.sent(95))
  scene.writes(lines.answer(120, 'Then not.'))
  await scene.hook('AfterAgent', 130)
  expect(await scene.tree([...OUTCOME, 'hermes.approval.choice'])).toMatchInlineSnapshot(`
    "agent OK
      llm.gemini-3 OK
        api.gemini-3 OK [gen_ai.usage.input_tokens=102, gen_ai.usage.output_tokens=15]
          tool.no_such_tool ERROR tool_error [hermes.tool.outcome=error]
          tool.run_shell_command OK (inferred) [hermes.tool.outcome=blocked]
            approval.run_shell_command OK (inferred) [hermes.approval.choice=deny]
        api.gemini-3 OK [gen_ai.usage.input_tokens=102, gen_ai.usage.output_tokens=15]"
  `)
})

test('ends an abandoned turn, and one that continues in another process', async () => {
  const scene = new Scene()
  await scene.hook('BeforeAgent', 0, { prompt: 'go' })
  scene.writes(lines.sent(10, 'go'))
  scene.writes(lines.answer(50))
  await scene.hook('BeforeTool', 60, read())
  await scene.hook('SessionStart', 900, { source: 'resume' })
  await scene.hook('BeforeAgent', 1000, { prompt: 'go on' })
  scene.writes(lines.sent(1010, 'go on'))
  scene.writes(lines.answer(1050, 'Done.'))
  await scene.hook('AfterAgent', 1060)
  for (const at of [1100, 1110, 1120]) await scene.hook('SessionEnd', at, { reason: 'exit' })
  expect(await scene.tree([...OUTCOME, 'hermes.turn.final_status'])).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.final_status=interrupted]
      llm.gemini-3 OK
        api.gemini-3 OK [gen_ai.usage.input_tokens=102, gen_ai.usage.output_tokens=15]
          tool.read_file OK (inferred) [hermes.tool.outcome=cancelled]

    agent OK [hermes.turn.final_status=completed]
      llm.gemini-3 OK
        api.gemini-3 OK [gen_ai.usage.input_tokens=102, gen_ai.usage.output_tokens=15]"
  `)
})

test('emits nothing twice when a new receiver reads the file again', async () => {
  const scene = new Scene()
  await scene.hook('BeforeAgent', 0, { prompt: 'go' })
  scene.writes(lines.sent(10, 'go'))
  scene.writes(lines.answer(50, 'Look.'))
  await scene.hook('BeforeTool', 60, read())
  scene.adapter = scene.newAdapter()
  await scene.hook('AfterTool', 80, read())
  await scene.hook('AfterAgent', 130)
  expect((await scene.tree()).match(/api\./g)).toHaveLength(1)
})

test('assigns input that was sent before a late prompt hook to that prompt', async () => {
  const scene = new Scene()
  await scene.hook('BeforeAgent', 0, { prompt: 'one' })
  scene.writes(lines.sent(10, 'one'))
  scene.writes(lines.answer(50, 'One.'))
  await scene.hook('AfterAgent', 60)
  scene.writes(lines.sent(110, 'two'))
  await scene.hook('BeforeAgent', 100, { prompt: 'two' })
  scene.writes(lines.answer(150, 'Two.'))
  await scene.hook('AfterAgent', 160)
  expect(await scene.tree([])).toBe(
    'agent OK\n  llm.gemini-3 OK\n    api.gemini-3 OK\n\nagent OK\n  llm.gemini-3 OK\n    api.gemini-3 OK',
  )
})

test('records one call for a tool whose input a hook has rewritten', async () => {
  const scene = new Scene()
  await scene.hook('BeforeAgent', 0, { prompt: 'go' })
  scene.writes(lines.sent(10, 'go'))
  scene.writes(lines.answer(50))
  const shell = (command: string): object => ({ tool_name: 'run_shell_command', tool_input: { command } })
  await scene.hook('BeforeTool', 60, shell('rm x'))
  await scene.hook('BeforeTool', 60, shell('ls y'))
  await scene.hook('AfterTool', 80, { ...shell('ls y'), tool_response: { llmContent: 'y' } })
  await scene.hook('AfterTool', 90, { ...shell('ls x'), tool_response: { llmContent: 'x' } })
  const found = { name: 'run_shell_command', args: { command: 'ls x' } }
  scene.writes(lines.answer(50, '', [lines.call(95, 'c1', found)]))
  await scene.hook('AfterAgent', 130, { prompt_response: 'Done.' })
  expect(await scene.tree(OUTCOME)).toMatchInlineSnapshot(`
    "agent OK
      llm.gemini-3 OK
        api.gemini-3 OK [gen_ai.usage.input_tokens=102, gen_ai.usage.output_tokens=15]
          tool.run_shell_command OK (inferred) [hermes.tool.outcome=completed]
          tool.run_shell_command OK (inferred) [hermes.tool.outcome=completed]"
  `)
})

test('leaves late findings to the hooks that they follow', async () => {
  const scene = new Scene()
  scene.writes(lines.sent(10, 'go'))
  scene.writes(lines.answer(50))
  scene.writes(lines.answer(50, '', [lines.call(90, 'c1')]))
  scene.writes(lines.sent(95))
  scene.writes(lines.answer(120, 'Done.'))
  await scene.hook('SessionStart', 0, { source: 'startup' })
  await scene.hook('BeforeAgent', 5, { prompt: 'go' })
  await scene.hook('BeforeTool', 60, read())
  await scene.hook('AfterTool', 80, { ...read(), tool_response: { llmContent: 'text' } })
  await scene.hook('AfterAgent', 130, { prompt_response: 'Done.' })
  const { plugin, tree } = await replayEvents('gemini', scene.events)
  expect(tree.match(/api\.gemini-3|tool\.read_file/g)).toEqual(['api.gemini-3', 'tool.read_file', 'api.gemini-3'])
  const requests = plugin.spans().filter(({ name }) => name === 'api.gemini-3')
  const times = requests.toSorted((a, b) => a.startAt - b.startAt).map(({ startAt, endAt }) => endAt - startAt)
  expect(times).toEqual([40, 25])
})

test('continues the turn numbers of a session that another process resumes', async () => {
  const scene = new Scene()
  for (const at of [0, 1000]) {
    await scene.hook('SessionStart', at, { source: at === 0 ? 'startup' : 'resume' })
    await scene.hook('BeforeAgent', at + 10, { prompt: 'go' })
    await scene.hook('AfterAgent', at + 60)
    await scene.hook('SessionEnd', at + 70, { reason: 'exit' })
  }
  expect((await scene.tree(['hermes.turn.number'])).match(/number=\d/g)).toEqual(['number=1', 'number=2'])
})

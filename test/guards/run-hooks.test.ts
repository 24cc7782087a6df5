import { expect, test, vi } from 'vitest'
import { ask, block, createHooks, defineHook, rewrite, runHooks, toolCallOf } from '../../src/guards/index.ts'
import { createPlugin } from '../../src/index.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'

const noRm = defineHook({
  name: 'no-rm',
  priority: 10,
  onFailure: 'block',
  beforeTool: ({ tool }) => (tool.command?.startsWith('rm ') ? block('Nothing is deleted here.') : undefined),
})
const trash = defineHook({
  name: 'trash',
  decisions: ['rewrite'],
  beforeTool: ({ tool }) =>
    tool.command === 'rm -i x' ? rewrite({ ...tool.arguments, command: 'mv x /trash' }) : undefined,
})
const careful = defineHook({
  name: 'careful',
  decisions: ['ask'],
  beforeTool: ({ tool }) => (tool.command === 'git push' ? ask('Push to origin?') : undefined),
})

/** Stands for an agent of one's own, which runs one tool and notes what was run. */
async function runMyAgent(plugin: TestPlugin, command: string): Promise<string> {
  const hooks = runHooks(createHooks([noRm, trash, careful]), { host: 'my-agent', plugin: () => plugin })
  const ids = { sessionId: 's1', turnId: 't1', toolCallId: 'c1' }
  const told = { session_id: 's1', turn_id: 't1' }
  const call = { ...told, tool_call_id: 'c1', tool_name: 'bash' }
  plugin.emit('pre_llm_call', { ...told, user_message: 'Tidy up.' })
  const tool = toolCallOf({ name: 'bash', arguments: { command }, id: 'c1' })
  plugin.emit('pre_tool_call', { ...call, args: tool.arguments })
  const said = await hooks.run('beforeTool', ids, { tool })
  const result = said.decision === 'pass' ? `ran ${said.value['command']}` : `${said.decision}: ${said.reason}`
  plugin.emit('post_tool_call', { ...call, result })
  hooks.endTurn(ids)
  plugin.emit('post_llm_call', { ...told, assistant_response: 'Done.' })
  plugin.emit('on_session_end', { ...told, completed: true })
  return result
}

const RUNS: readonly (readonly [command: string, result: string, hook: readonly string[]])[] = [
  ['rm -rf build', 'block: Nothing is deleted here.', ['hook.no-rm']],
  ['rm -i x', 'ran mv x /trash', ['hook.trash']],
  ['git push', 'ask: Push to origin?', ['hook.careful']],
  ['ls', 'ran ls', []],
]

test.each(RUNS)('applies %s: %s, and names the deciding hook in the trace', async (command, result, expected) => {
  const plugin = createTestPlugin({ host: 'my-agent' })
  expect(await runMyAgent(plugin, command)).toBe(result)
  // A hook that took more than a millisecond to pass, on a busy machine, is there too.
  const decided = plugin.spans().filter(({ attributes }) => {
    const verdict = Object.entries(attributes).find(([key]) => /hook\.verdict$/.test(key))?.[1]
    return verdict !== undefined && verdict !== 'pass'
  })
  expect(decided.map(({ name }) => name)).toEqual(expected)
  const tool = plugin.spans().find(({ name }) => name === 'tool.bash')
  expect(decided.every(({ parentSpanId }) => parentSpanId === tool?.spanId)).toBe(true)
  expect(plugin.reported).toEqual([])
})

test('passes the traceparent of the trace that shows the hook', async () => {
  const plugin = createTestPlugin({ host: 'my-agent' })
  const seen: (string | undefined)[] = []
  const look = defineHook({ name: 'look', decisions: [], beforeTool: (_, ctx) => void seen.push(ctx.traceparent) })
  const hooks = runHooks(createHooks([look]), { host: 'my-agent', plugin: () => plugin })
  const told = { session_id: 's1', turn_id: 't1' }
  plugin.emit('pre_llm_call', { ...told, user_message: 'Tidy up.' })
  plugin.emit('pre_tool_call', { ...told, tool_call_id: 'c1', tool_name: 'bash', args: {} })
  const ids = { sessionId: 's1', turnId: 't1', toolCallId: 'c1' }
  await hooks.run('beforeTool', ids, { tool: toolCallOf({ name: 'bash', arguments: {} }) })
  plugin.emit('post_tool_call', { ...told, tool_call_id: 'c1', tool_name: 'bash' })
  plugin.emit('on_session_end', { ...told, completed: true })
  const tool = plugin.spans().find(({ name }) => name === 'tool.bash')
  expect(seen).toEqual([`00-${tool?.traceId}-${tool?.spanId}-01`])
})

/** Asks the guard about a command of an agent; gives the lines that a user reads. */
async function askIn(host: string, plugin?: TestPlugin | (() => undefined)): Promise<string[]> {
  const lines: string[] = []
  const hooks = runHooks(createHooks([noRm]), { host, plugin, report: line => lines.push(line) })
  for (const toolCallId of ['c1', 'c2']) {
    const ids = { sessionId: 's1', turnId: 't1', toolCallId }
    await hooks.run('beforeTool', ids, { tool: toolCallOf({ name: 'bash', arguments: { command: 'rm x' } }) })
  }
  return lines
}

test('traces hooks by the running plugin of their host, until it shuts down', async () => {
  const options = { local_log: false, handle_signals: false }
  const [other, plugin] = [createPlugin({ host: 'other', ...options }), createPlugin({ host: 'own', ...options })]
  const emitted = vi.spyOn(plugin, 'emitUntyped')
  expect(await askIn('own')).toEqual([])
  expect(emitted.mock.calls.map(([hook]) => hook)).toEqual([
    'pre_control_hook',
    'post_control_hook',
    'pre_control_hook',
    'post_control_hook',
  ])
  await Promise.all([other.shutdown(), plugin.shutdown()])
  expect(await askIn('own')).toHaveLength(1)
})

test('reports in one line that nothing is traced without a plugin, unless this is intended', async () => {
  expect(await askIn('alone')).toEqual([
    'hookspan: alone: decisions of hooks are not traced: no plugin of this host runs in this process; ' +
      "create one first, by createPlugin({ host: 'alone' })",
  ])
  expect(await askIn('alone', () => undefined)).toEqual([])
})

test('accepts a plugin itself', async () => {
  const plugin = createTestPlugin({ host: 'my-agent' })
  plugin.emit('pre_llm_call', { session_id: 's1', turn_id: 't1' })
  expect(await askIn('my-agent', plugin)).toEqual([])
  expect(plugin.stats().hooks.ok).toBe(5)
})

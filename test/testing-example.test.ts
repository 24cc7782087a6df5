import { expect, test } from 'vitest'
import { createTestPlugin, type TestPlugin } from '../src/testing.ts'

/** Stands for an agent of yours: it asks a model, runs a tool that fails, and answers all the same. */
function runMyAgent(hooks: TestPlugin): void {
  const ids = { session_id: 's1', turn_id: 't1' }
  const request = { ...ids, api_request_id: 'r1', model: 'qwen3' }
  const call = { ...ids, api_request_id: 'r1', tool_call_id: 'c1', tool_name: 'read_file' }
  hooks.emit('pre_llm_call', { ...ids, model: 'qwen3', user_message: 'What is in TODO?' })
  hooks.emit('pre_api_request', request)
  hooks.emit('post_api_request', { ...request, usage: { prompt_tokens: 120, output_tokens: 9 } })
  hooks.emit('pre_tool_call', { ...call, args: { path: 'TODO' } })
  hooks.emit('post_tool_call', { ...call, status: 'error', error_type: 'ENOENT' })
  hooks.emit('post_llm_call', { ...ids, assistant_response: 'There is no such file.' })
  hooks.emit('on_session_end', { ...ids, completed: true })
}

test('does not fail the turn if a tool fails', () => {
  const hooks = createTestPlugin({ host: 'my-agent' })
  runMyAgent(hooks)
  expect(hooks.tree({ attributes: ['hermes.tool.target'] })).toBe(
    [
      'agent OK',
      '  llm.qwen3 OK',
      '    api.qwen3 OK',
      '      tool.read_file ERROR ENOENT [hermes.tool.target=TODO]',
    ].join('\n'),
  )
})

test('counts the tokens of each turn once', async () => {
  const hooks = createTestPlugin({ host: 'my-agent' })
  runMyAgent(hooks)
  const root = hooks.spans().find(span => span.parentSpanId === undefined)
  expect(root?.attributes['hermes.turn.tokens.total']).toBe(129)
  expect(await hooks.metrics()).toContainEqual({
    name: 'hermes.tool.calls',
    labels: { tool_name: 'read_file', outcome: 'error' },
    value: 1,
  })
  expect(hooks.reported).toEqual([])
})

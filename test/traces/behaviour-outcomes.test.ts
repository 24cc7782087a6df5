/** How a tool ended, and what a person said. */
import { describe, expect, test } from 'vitest'
import { START_AT, type Step, told } from '../support/feed.ts'
import { answered, asked, attributes, began, only, parentOf, series, seriesText, TURN, text, used } from './scenes.ts'

const LONG = 'x'.repeat(100_000)

describe('the outcome of a tool', () => {
  test.each<[status: unknown, result: unknown, outcome: string]>([
    // The hook's own word, when it is specific.
    ['timeout', 'plain', 'timeout'],
    ['blocked', { error: 'boom' }, 'blocked'],
    ['cancelled', { status: 'ok' }, 'cancelled'],
    ['BLOCKED', 'plain', 'blocked'],
    // A bare error yields to what is more specific, and to nothing else.
    ['error', { status: 'blocked' }, 'blocked'],
    ['error', { status: 'timeout' }, 'timeout'],
    ['error', { status: 'cancelled' }, 'cancelled'],
    ['error', '{"status":"blocked"}', 'blocked'],
    ['error', { status: 'ok' }, 'error'],
    ['error', { timeout: true }, 'error'],
    ['error', { blocked: true }, 'error'],
    ['error', { status: 'strange' }, 'error'],
    ['error', 'plain', 'error'],
    ['error', undefined, 'error'],
    // Else the result: its status, its error, its flags.
    ['ok', { status: 'success' }, 'completed'],
    ['ok', { status: 'OK' }, 'completed'],
    ['ok', { status: 'done' }, 'completed'],
    ['ok', { status: 'Partial' }, 'partial'],
    ['ok', { error: 'boom' }, 'error'],
    ['ok', { error: { message: 'boom' } }, 'error'],
    ['ok', { error: 'boom', timeout: true }, 'error'],
    ['ok', { status: 'success', error: 'boom' }, 'completed'],
    ['ok', { timeout: true, blocked: true }, 'timeout'],
    ['ok', { timeout: true }, 'timeout'],
    ['ok', { blocked: 1 }, 'blocked'],
    ['ok', { error: null, timeout: false, blocked: 0 }, 'completed'],
    ['ok', { error: ' \n ' }, 'completed'],
    ['ok', { exit_code: 1 }, 'completed'],
    // A result may be JSON text of an object; other text says nothing.
    [undefined, '{"error":"boom"}', 'error'],
    [undefined, '  {"timeout": true}', 'timeout'],
    [undefined, '["error"]', 'completed'],
    [undefined, '{"error": broken', 'completed'],
    [undefined, 'error: boom', 'completed'],
    [undefined, undefined, 'completed'],
    [undefined, null, 'completed'],
    [undefined, 42, 'completed'],
  ])('follows from status %o and result %o: %s', (status, result, outcome) => {
    const plugin = told([...began(), ...used(100, {}, { status, result })])
    expect(attributes(plugin, 'tool.terminal')['hermes.tool.outcome']).toBe(outcome)
    expect(only(plugin, 'tool.terminal').status).toBe(outcome === 'error' ? 'error' : 'ok')
  })

  test.each([
    ['blocked', `{"status":"blocked","output":"${LONG}"}`],
    ['error', `{"error":"boom","output":"${LONG}"}`],
    ['completed', `{"output":"${LONG}","status":"blocked"}`],
  ])('reads only the head of a result of 100 KB: %s', (outcome, result) => {
    const plugin = told([...began(), ...used(100, {}, { status: undefined, result })])
    expect(attributes(plugin, 'tool.terminal')['hermes.tool.outcome']).toBe(outcome)
  })

  test.each(['timeout', 'blocked', 'cancelled'])('treats %s as no error: no type, no message, no count', status => {
    const plugin = told([
      ...began(),
      ...used(100, {}, { status, error_type: 'plugin_block', error_message: 'no' }),
      ...answered(300),
    ])
    expect(attributes(plugin, 'tool.terminal')).not.toHaveProperty('error.type')
    expect(attributes(plugin, 'agent')).not.toHaveProperty('hermes.turn.tool_error_count')
    expect(attributes(plugin, 'agent')['hermes.turn.tool_outcomes']).toBe(status)
  })

  test("prefers the hook's error to the result's", () => {
    const end = { status: 'error', error_type: 'tool_error', error_message: 'exit 1', result: { error: 'boom' } }
    const plugin = told([...began(), ...used(100, {}, end)])
    expect(attributes(plugin, 'tool.terminal')).toMatchObject({ 'error.type': 'tool_error', 'error.message': 'exit 1' })
    expect(only(plugin, 'tool.terminal').statusMessage).toBe('exit 1')
  })
})

describe('the attributes of a tool', () => {
  test('has all names of a call', () => {
    const plugin = told([...began(), ...used(100, { args: { command: 'ls -l' } })])
    const span = attributes(plugin, 'tool.terminal')
    expect(span).toMatchObject({
      'tool.name': 'terminal',
      'gen_ai.tool.name': 'terminal',
      'tool.id': 'c1',
      'gen_ai.tool.call.id': 'c1',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.type': 'function',
      'input.mime_type': 'application/json',
      'output.value': 'done',
      'output.mime_type': 'text/plain',
      'gen_ai.tool.call.result': 'done',
    })
    for (const name of ['input.value', 'gen_ai.tool.call.arguments', 'tool.parameters']) {
      expect(JSON.parse(String(span[name]))).toEqual({ command: 'ls -l' })
    }
  })

  test('is marked as an extension for a tool of an MCP server', () => {
    const plugin = told([...began(), ...used(100, { tool_name: 'mcp_github_search' })])
    expect(attributes(plugin, 'tool.mcp_github_search')['gen_ai.tool.type']).toBe('extension')
  })

  test('has the first target with content; a command before a cmd', () => {
    const args = { path: '  ', url: 'http://x/', uri: 'late', cmd: 'second', command: 'first' }
    const plugin = told([...began(), ...used(100, { args })])
    expect(attributes(plugin, 'tool.terminal')).toMatchObject({
      'hermes.tool.target': 'http://x/',
      'hermes.tool.command': 'first',
    })
  })

  test("has the host's duration only if it differs from the span's", () => {
    expect(attributes(told([...began(), ...used(100, {}, { duration_ms: 50 })]), 'tool.terminal')).not.toHaveProperty(
      'hermes.tool.duration_ms',
    )
    expect(
      attributes(told([...began(), ...used(100, {}, { duration_ms: 47 })]), 'tool.terminal')['hermes.tool.duration_ms'],
    ).toBe(47)
  })

  test('pairs tools without an id first in, first out, per name', () => {
    const call = (tool_name: string) => ({ tool_name, tool_call_id: undefined })
    const [preA, postA] = used(100, call('a')) as [Step, Step]
    const [preB, postB] = used(110, call('b')) as [Step, Step]
    const [preA2] = used(120, call('a')) as [Step, Step]
    const [, postA2] = used(130, call('a')) as [Step, Step]
    const plugin = told([...began(), preA, preB, preA2, postA, postB, postA2])
    expect(plugin.spans().map(span => `${span.name} ${span.startAt - START_AT}–${span.endAt - START_AT}`)).toEqual([
      'tool.a 100–150',
      'tool.b 110–160',
      'tool.a 120–180',
    ])
  })
})

describe('an approval', () => {
  const ASK = { ...TURN, tool_call_id: 'c1', pattern_key: 'rm' }
  const prompt: Step[] = [
    [110, 'pre_approval_request', ASK],
    [140, 'post_approval_response', { ...ASK, choice: 'deny' }],
  ]

  test.each<[string, Step[], string]>([
    ['the tool that it gates', used(100).slice(0, 1), 'tool.terminal'],
    ['the open request', asked(100).slice(0, 1), 'api.qwen3'],
    ['the loop', [], 'llm.qwen3'],
    ['the root', [[100, 'post_llm_call', TURN]], 'agent'],
  ])('is below %s', (_what, before, parent) => {
    const plugin = told([...began(), ...before, ...prompt])
    plugin.on('on_session_end', { ...TURN, completed: true }, { at: START_AT + 300 })
    expect(parentOf(plugin, only(plugin, 'approval.rm'))?.name).toBe(parent)
  })

  test('shows a denied tool that never ran', () => {
    const [pre, post] = used(100, {}, { status: 'blocked', error_type: 'guardrail_block' }) as [Step, Step]
    const plugin = told([...began(), pre, ...prompt, post, ...answered(300)])
    expect(
      plugin.tree({ attributes: ['hermes.tool.outcome', 'hermes.approval.choice', 'hermes.approval.granted'] }),
    ).toBe(text`
      agent OK
        llm.qwen3 OK
          tool.terminal OK [hermes.tool.outcome=blocked]
            approval.rm OK [hermes.approval.choice=deny, hermes.approval.granted=false]
    `)
    expect(attributes(plugin, 'agent')).toMatchObject({
      'hermes.turn.approval_count': 1,
      'hermes.turn.approval_wait_ms': 30,
    })
  })

  test('counts an answer without a prompt, and creates no span', async () => {
    const plugin = told([...began(), prompt[1] as Step, ...answered(300)])
    expect(plugin.tree()).toBe('agent OK\n  llm.qwen3 OK')
    expect(await seriesText(plugin, 'hermes.approval.count')).toEqual(['choice=deny pattern_key=rm → 1'])
    expect(await series(plugin, 'hermes.approval.duration')).toEqual([])
  })

  test('pairs two prompts of one turn without a call by their patterns', () => {
    const ask = (pattern_key: string) => ({ ...TURN, pattern_key })
    const plugin = told([
      ...began(),
      [100, 'pre_approval_request', ask('rm')],
      [110, 'pre_approval_request', ask('sudo')],
      [120, 'post_approval_response', { ...ask('rm'), choice: 'ONCE' }],
      [150, 'post_approval_response', { ...ask('sudo'), choice: 'timeout' }],
      ...answered(300),
    ])
    expect(attributes(plugin, 'approval.rm')).toMatchObject({
      'hermes.approval.choice': 'once',
      'hermes.approval.duration_ms': 20,
    })
    expect(attributes(plugin, 'approval.sudo')).toMatchObject({
      'hermes.approval.timed_out': true,
      'hermes.approval.duration_ms': 40,
    })
    expect(attributes(plugin, 'agent')['hermes.turn.approval_wait_ms']).toBe(60)
  })

  test('is named approval alone without a pattern', () => {
    const ask = { ...TURN, tool_call_id: 'c1', pattern_keys: ['a', 'b'] }
    const plugin = told([
      ...began(),
      [100, 'pre_approval_request', ask],
      [110, 'post_approval_response', { ...ask, choice: 'once' }],
    ])
    expect(attributes(plugin, 'approval')).toMatchObject({ 'hermes.approval.pattern_keys': ['a', 'b'] })
  })
})

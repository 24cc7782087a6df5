import { describe, expect, test } from 'vitest'
import { told } from '../support/feed.ts'
import { answered, asked, attributes, began, TURN, used } from './scenes.ts'

const USER = [{ role: 'user', parts: [{ type: 'text', content: 'hello' }] }]
const ASSISTANT = [{ role: 'assistant', parts: [{ type: 'text', content: 'hi there' }], finish_reason: 'stop' }]

function json(value: unknown): unknown {
  return JSON.parse(String(value))
}

describe('messages', () => {
  test.each(['llm.qwen3', 'agent'])('case 53: sets question and answer on %s', name => {
    const span = attributes(told([...began(), ...answered(100)]), name)
    expect(span).toMatchObject({ 'input.value': 'hello', 'output.value': 'hi there' })
    expect(json(span['gen_ai.input.messages'])).toEqual(USER)
    expect(json(span['gen_ai.output.messages'])).toEqual(ASSISTANT)
    expect(span['gen_ai.content.completion']).toBe(name === 'agent' ? undefined : 'hi there')
  })

  test('case 54: sets the first question and the last answer of two loops on the root', () => {
    const plugin = told([
      ...began(),
      [100, 'post_llm_call', { ...TURN, assistant_response: 'wait' }],
      [110, 'pre_llm_call', { ...TURN, user_message: 'go on', model: 'qwen3' }],
      ...answered(200),
    ])
    expect(attributes(plugin, 'agent')).toMatchObject({ 'input.value': 'hello', 'output.value': 'hi there' })
  })
})

describe('capture', () => {
  test('case 55: leaves no content anywhere with off, and all names, ids and outcomes', () => {
    const call = { tool_name: 'bash', args: { command: 'cat secret.txt', path: 'secret.txt' } }
    const plugin = told(
      [
        ...began(),
        ...asked(30),
        ...used(150, call, { result: 'secret text', status: 'error', error_message: 'secret cause' }),
        [210, 'pre_approval_request', { ...TURN, pattern_key: 'rm', command: 'rm secret', description: 'secret' }],
        [220, 'post_approval_response', { ...TURN, pattern_key: 'rm', choice: 'once' }],
        ...answered(300, { assistant_response: 'secret answer' }),
      ],
      { content_capture: 'off' },
    )
    expect(JSON.stringify(plugin.spans())).not.toContain('secret')
    expect(JSON.stringify(plugin.spans())).not.toContain('hello')
    expect(attributes(plugin, 'tool.bash')).toMatchObject({ 'tool.name': 'bash', 'hermes.tool.outcome': 'error' })
    expect(attributes(plugin, 'approval.rm')['hermes.approval.choice']).toBe('once')
  })

  test('case 57: includes the ellipsis in a cap', () => {
    const plugin = told([...began(), ...used(100, { args: { command: 'x'.repeat(100) } })], {
      preview_max_chars: 10,
    })
    const span = attributes(plugin, 'tool.terminal')
    expect(String(span['input.value']).length).toBeLessThanOrEqual(10)
    expect(span['hermes.content.truncated']).toBe(true)
  })

  test('case 57: makes a preview one line without colours', () => {
    const plugin = told([...began({ user_message: ' \u001b[31mred\u001b[0m\n\n  and\tblue ' })])
    expect(told([...began({ user_message: '  \n\t ' }), ...answered(100)]).spans()[0]?.attributes).not.toHaveProperty(
      'input.value',
    )
    plugin.on('post_llm_call', TURN)
    expect(attributes(plugin, 'llm.qwen3')['input.value']).toBe('red and blue')
  })

  const HISTORY = ['one', 'two', 'three', 'four'].map(content => ({ role: 'user', content }))

  test('case 58: sets the history of the conversation as JSON', () => {
    const plugin = told([...began({ conversation_history: HISTORY }), ...answered(100)], {
      capture_conversation_history: true,
    })
    const span = attributes(plugin, 'llm.qwen3')
    expect(json(span['input.value'])).toEqual(HISTORY)
    expect(span).toMatchObject({ 'input.mime_type': 'application/json', 'hermes.conversation.message_count': 4 })
  })

  test('case 58: keeps valid JSON in a history under its cap', () => {
    const long = HISTORY.map(message => ({ ...message, content: message.content.repeat(2000) }))
    const plugin = told([...began({ conversation_history: long }), ...answered(100)], {
      capture_conversation_history: true,
    })
    const span = attributes(plugin, 'llm.qwen3')
    expect(String(span['input.value']).length).toBeLessThanOrEqual(20_000)
    expect(json(span['input.value'])).toBeInstanceOf(Array)
    expect(span['hermes.conversation.message_count']).toBe(4)
  })

  test('case 58: replaces an empty history by the message', () => {
    const plugin = told([...began({ conversation_history: [] }), ...answered(100)], {
      capture_conversation_history: true,
    })
    const span = attributes(plugin, 'llm.qwen3')
    expect(span).toMatchObject({ 'input.value': 'hello', 'input.mime_type': 'text/plain' })
    expect(span).not.toHaveProperty('hermes.conversation.message_count')
  })

  test('case 59: captures a request in full', () => {
    const long = 'm'.repeat(5000)
    const messages = [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: long },
    ]
    const plugin = told([...began(), ...asked(100, { request_messages: messages })], { content_capture: 'full' })
    const span = attributes(plugin, 'api.qwen3')
    expect(span['llm.input_messages.1.message.content']).toBe(long)
    expect(span['llm.input_messages.1.message.role']).toBe('user')
    expect(json(span['gen_ai.input.messages'])).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'be brief' }] },
      { role: 'user', parts: [{ type: 'text', content: long }] },
    ])
    expect(json(span['gen_ai.system_instructions'])).toEqual([{ type: 'text', content: 'be brief' }])
    expect(json(span['input.value'])).toEqual(messages)
  })

  test.each([{ system_prompt: 'be brief' }, { request: { body: { system: [{ type: 'text', text: 'be brief' }] } } }])(
    "case 59: puts a separate system prompt first among OpenInference's messages: %j",
    given => {
      const request_messages = [{ role: 'user', content: 'hello' }]
      const plugin = told([...began(), ...asked(100, { request_messages, ...given })], { content_capture: 'full' })
      const span = attributes(plugin, 'api.qwen3')
      expect(span).toMatchObject({
        'llm.input_messages.0.message.role': 'system',
        'llm.input_messages.0.message.content': 'be brief',
        'llm.input_messages.1.message.role': 'user',
        'llm.input_messages.1.message.content': 'hello',
      })
      expect(json(span['gen_ai.input.messages'])).toEqual([
        { role: 'user', parts: [{ type: 'text', content: 'hello' }] },
      ])
    },
  )

  test('case 59: sets a repeated system prompt once', () => {
    const request_messages = [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'hello' },
    ]
    const given = { request_messages, system_prompt: 'be brief' }
    const plugin = told([...began(), ...asked(100, given)], { content_capture: 'full' })
    const span = attributes(plugin, 'api.qwen3')
    expect(span['llm.input_messages.1.message.role']).toBe('user')
    expect(span).not.toHaveProperty('llm.input_messages.2.message.role')
  })

  test("case 59: converts Anthropic's content parts of calls and results to calls and messages of tools", () => {
    const request_messages = [
      { role: 'user', content: 'hello' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look' },
          { type: 'tool_use', id: 'c1', name: 'read_file', input: { path: 'TODO' } },
          { type: 'tool_use', id: 'c2', name: 'ls', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'buy milk' }] },
          { type: 'tool_result', tool_use_id: 'c2', content: 'TODO' },
          { type: 'text', text: 'and now?' },
        ],
      },
    ]
    const plugin = told([...began(), ...asked(100, { request_messages })], { content_capture: 'full' })
    const span = attributes(plugin, 'api.qwen3')
    expect(json(span['gen_ai.input.messages'])).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'hello' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'text', content: 'I look' },
          { type: 'tool_call', id: 'c1', name: 'read_file', arguments: '{"path":"TODO"}' },
          { type: 'tool_call', id: 'c2', name: 'ls', arguments: '{}' },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'buy milk' }] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c2', response: 'TODO' }] },
      { role: 'user', parts: [{ type: 'text', content: 'and now?' }] },
    ])
    expect(span).toMatchObject({
      'llm.input_messages.1.message.content': 'I look',
      'llm.input_messages.1.message.tool_calls.1.tool_call.function.name': 'ls',
      'llm.input_messages.2.message.role': 'tool',
      'llm.input_messages.2.message.tool_call_id': 'c1',
      'llm.input_messages.4.message.content': 'and now?',
    })
    expect(json(span['input.value'])).toEqual(request_messages)
  })

  test('case 59: sets nothing for a request without messages', () => {
    const plugin = told([...began(), ...asked(100, { request_messages: [] })], { content_capture: 'full' })
    for (const name of Object.keys(attributes(plugin, 'api.qwen3'))) {
      expect(name).not.toMatch(/input[._](messages|value)|system_instructions/)
    }
  })

  test('case 60: captures a text answer in full', () => {
    const response = { assistant_message: { role: 'assistant', content: 'done' } }
    const plugin = told([...began(), ...asked(100, {}, { response, finish_reason: 'stop' })], {
      content_capture: 'full',
    })
    const span = attributes(plugin, 'api.qwen3')
    expect(span).toMatchObject({
      'output.value': 'done',
      'output.mime_type': 'text/plain',
      'llm.output_messages.0.message.content': 'done',
    })
    expect(json(span['gen_ai.output.messages'])).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'done' }], finish_reason: 'stop' },
    ])
  })

  test('case 60: captures an answer with only tool calls in full', () => {
    const call = { id: 'c1', type: 'function', function: { name: 'ls', arguments: '{"path":"."}' } }
    const response = { assistant_message: { role: 'assistant', content: '', tool_calls: [call] } }
    const plugin = told([...began(), ...asked(100, {}, { response })], { content_capture: 'full' })
    const span = attributes(plugin, 'api.qwen3')
    expect(span['output.mime_type']).toBe('application/json')
    expect(json(span['output.value'])).toEqual([call])
    expect(span).toMatchObject({
      'llm.output_messages.0.message.tool_calls.0.tool_call.id': 'c1',
      'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'ls',
      'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments': '{"path":"."}',
    })
  })

  test('writes no request and no answer without full capture', () => {
    const content = {
      request_messages: [{ role: 'user', content: 'whole prompt' }],
      response: { assistant_message: { role: 'assistant', content: 'whole answer' } },
    }
    const plugin = told([...began(), ...asked(100, content, content), ...answered(300)])
    expect(JSON.stringify(plugin.spans())).not.toContain('whole')
  })
})

describe('the sender', () => {
  const SENDER = { sender_id: '123456', platform: 'discord' }
  const NAMES = ['agent', 'llm.qwen3', 'api.qwen3', 'tool.terminal']

  test('case 61: records no sender by default', () => {
    const plugin = told([...began(SENDER), ...asked(100), ...used(210), ...answered(300)])
    expect(JSON.stringify(plugin.spans())).not.toContain('123456')
  })

  test.each(NAMES)('case 61: sets a configured sender on %s', name => {
    const steps = [...began(SENDER), ...asked(100), ...used(210), ...answered(300)]
    expect(attributes(told(steps, { capture_sender_id: true }), name)).toMatchObject({
      'hermes.sender.id': '123456',
      'user.id': 'discord:123456',
    })
  })

  test('case 61: ignores an empty sender', () => {
    const plugin = told([...began({ sender_id: '' }), ...answered(100)], { capture_sender_id: true })
    expect(attributes(plugin, 'agent')).not.toHaveProperty('user.id')
  })

  test.each(NAMES)('case 62: sets the correlation id of the session on %s', name => {
    const [start, turnStart] = began()
    const plugin = told([
      [0, 'on_session_start', { ...start?.[2], correlation_id: 'corr-123' }],
      ...(turnStart === undefined ? [] : [turnStart]),
      ...asked(100),
      ...used(210),
      ...answered(300),
    ])
    expect(attributes(plugin, name)['correlation.id']).toBe('corr-123')
  })

  test('case 62: invents no correlation id', () => {
    const plugin = told([...began(), ...asked(100), ...answered(300)])
    for (const span of plugin.spans()) expect(span.attributes).not.toHaveProperty('correlation.id')
  })
})

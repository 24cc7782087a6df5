import { expect, test } from 'vitest'
import { createTestPlugin } from '../../../src/testing.ts'

const CALL = { id: 'c1', name: 'read_file' }
const ARGUMENTS = '{"path":"TODO"}'
const PATH = { path: 'TODO' }

/** The same answer, as each of the APIs gives it: two texts or one, a call, 30 tokens in and 7 out. */
const ANSWERS: Record<string, object> = {
  'OpenAI chat': {
    id: 'a1',
    model: 'm-1',
    choices: [
      {
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: 'Let me look.',
          tool_calls: [{ id: CALL.id, type: 'function', function: { name: CALL.name, arguments: ARGUMENTS } }],
        },
      },
    ],
    usage: { prompt_tokens: 30, completion_tokens: 7, total_tokens: 37 },
  },
  'OpenAI responses': {
    id: 'a1',
    model: 'm-1',
    status: 'completed',
    finish_reason: 'tool_calls',
    output: [
      { type: 'reasoning', summary: [] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me look.' }] },
      { type: 'function_call', id: 'fc_1', call_id: CALL.id, name: CALL.name, arguments: ARGUMENTS },
    ],
    usage: { input_tokens: 30, output_tokens: 7, total_tokens: 37 },
  },
  Anthropic: {
    id: 'a1',
    model: 'm-1',
    role: 'assistant',
    content: [
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_use', ...CALL, input: PATH },
    ],
    stop_reason: 'tool_calls',
    usage: { input_tokens: 20, cache_read_input_tokens: 10, output_tokens: 7 },
  },
  Gemini: {
    responseId: 'a1',
    modelVersion: 'm-1',
    candidates: [
      {
        content: { role: 'model', parts: [{ text: 'Let me look.' }, { functionCall: { ...CALL, args: PATH } }] },
        finishReason: 'tool_calls',
      },
    ],
    usageMetadata: { promptTokenCount: 30, candidatesTokenCount: 7 },
  },
  'the AI SDK': {
    text: 'Let me look.',
    toolCalls: [{ toolCallId: CALL.id, toolName: CALL.name, input: PATH }],
    finishReason: 'tool_calls',
    usage: { inputTokens: 1, outputTokens: 1 },
    totalUsage: { inputTokens: 30, outputTokens: 7 },
    response: { id: 'a1', modelId: 'm-1' },
  },
  LangChain: {
    id: 'a1',
    model: 'm-1',
    content: 'Let me look.',
    tool_calls: [{ ...CALL, args: PATH }],
    response_metadata: { finish_reason: 'tool_calls' },
    usage_metadata: { input_tokens: 30, output_tokens: 7, total_tokens: 37 },
  },
  'one of your own': {
    id: 'a1',
    model: 'm-1',
    text: 'Let me look.',
    tool_calls: [{ ...CALL, arguments: PATH }],
    finish_reason: 'tool_calls',
    usage: { input: 30, output: 7 },
  },
}

function attributesOf(answer: unknown, mode: 'full' | 'preview'): Record<string, unknown> {
  const hooks = createTestPlugin({ content_capture: mode })
  hooks.turn({}, turn => turn.request({ model: 'm' }, () => answer))
  return hooks.spans()[0]?.attributes ?? {}
}

test.each(Object.entries(ANSWERS))('reads an answer of %s', (_, answer) => {
  const attributes = attributesOf(answer, 'full')
  expect(attributes).toMatchObject({
    'gen_ai.response.id': 'a1',
    'gen_ai.response.model': 'm-1',
    'gen_ai.response.finish_reason': 'tool_calls',
    'gen_ai.usage.input_tokens': 30,
    'gen_ai.usage.output_tokens': 7,
    'hermes.response.tool_calls': 1,
    'output.value': 'Let me look.',
    'llm.output_messages.0.message.role': 'assistant',
    'llm.output_messages.0.message.tool_calls.0.tool_call.id': CALL.id,
    'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': CALL.name,
  })
  expect(
    JSON.parse(String(attributes['llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments'])),
  ).toEqual(PATH)
  expect(JSON.stringify(attributesOf(answer, 'preview'))).not.toContain('Let me look')
})

test('reads the message, finish reason and counts of Ollama', () => {
  const answer = {
    model: 'm-1',
    message: { role: 'assistant', content: 'Hi.' },
    done_reason: 'stop',
    prompt_eval_count: 30,
    eval_count: 7,
  }
  expect(attributesOf(answer, 'full')).toMatchObject({
    'gen_ai.response.model': 'm-1',
    'gen_ai.response.finish_reason': 'stop',
    'gen_ai.usage.input_tokens': 30,
    'gen_ai.usage.output_tokens': 7,
    'output.value': 'Hi.',
  })
})

test('reads a text as the message', () => {
  expect(attributesOf('Hi.', 'full')).toMatchObject({ 'output.value': 'Hi.' })
})

test.each([undefined, null, 7, [], {}, { choices: [] }, { usage: 'much', choices: 3, id: 4 }, new Response('unread')])(
  'reads nothing from a value that is no answer, such as %j',
  answer => {
    const names = Object.keys(attributesOf(answer, 'full'))
    const read = names.filter(name => /response|usage|output/.test(name))
    // The duration is measured, not read from the answer.
    expect(read.filter(name => name !== 'llm.response.duration_ms')).toEqual([])
  },
)

test('masks a secret in an answer like everywhere', () => {
  const key = `sk-proj-${'a1B2'.repeat(10)}`
  expect(JSON.stringify(attributesOf(`the key is ${key}`, 'full'))).not.toContain(key)
})

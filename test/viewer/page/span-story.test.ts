import { describe, expect, test } from 'vitest'
import { jsonIn, messagesIn } from '../../../src/viewer/page/messages.ts'
import { spanStory } from '../../../src/viewer/page/span-story.ts'
import type { SpanDetail } from '../../../src/viewer/server/api.ts'

function detail(attributes: Readonly<Record<string, unknown>>, more: Partial<SpanDetail> = {}): SpanDetail {
  return {
    id: '01',
    traceId: 'x',
    kind: 'tool',
    otelKind: 'internal',
    name: 'tool.terminal',
    startAt: 0,
    endAt: 1,
    state: 'ended',
    status: 'ok',
    hint: '',
    namespace: 'hermes',
    attributes: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, { value }])),
    events: [],
    links: [],
    resource: {},
    scope: '',
    ...more,
  }
}

/** What the panel says, as lines. */
function told(span: SpanDetail): string[] {
  const { contents, groups, notices } = spanStory(span)
  return [
    ...notices,
    ...contents.map(({ label, attribute }) => `${label} (${attribute})`),
    ...groups.flatMap(({ title, facts }) => [`# ${title}`, ...facts.map(({ label, text }) => `${label}: ${text}`)]),
  ]
}

describe('the description of a span', () => {
  test('explains a guard, and a tool that it has blocked', () => {
    const hook = detail({
      'hermes.hook.name': 'no-rm',
      'hermes.hook.phase': 'before_tool',
      'hermes.hook.verdict': 'block',
      'hermes.hook.action': 'blocked',
      'hermes.hook.reason': 'Do not delete.',
      'hermes.hook.rewritten_fields': ['command', 'cwd'],
      'hermes.hook.duration_ms': 12,
    })
    expect(told(hook)).toEqual([
      '# Guard',
      'Guard: no-rm',
      'Phase: before_tool',
      'Decision: block',
      'Action: blocked',
      'Message to the model: Do not delete.',
      'Rewritten fields: command, cwd',
      'Duration: 12 ms',
    ])
    const tool = detail({ 'hermes.tool.outcome': 'blocked', 'hermes.tool.blocked_by': 'no-rm' })
    expect(told(tool)).toEqual(['# Tool', 'Outcome: blocked', 'Blocked by: no-rm'])
  })

  test('explains a request', () => {
    const span = detail({
      'gen_ai.request.model': 'qwen3',
      'llm.model_name': 'qwen3',
      'gen_ai.usage.input_tokens': 13_244,
      'gen_ai.usage.cache_read.input_tokens': 5_800,
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'hermes.api.attempt': 1,
      'gen_ai.response.time_to_first_chunk': 0.64,
      'hermes.context.used_ratio': 0.0237,
      'input.value': 'short form',
      'gen_ai.input.messages': '[{"role":"user","content":"hi"}]',
    })
    expect(told(span)).toEqual([
      'Input (gen_ai.input.messages)',
      '# Model',
      'Model: qwen3',
      'Finish reason: tool_calls',
      'Time to first token: 640 ms',
      'Previous attempts: 1',
      '# Tokens',
      'Input: 13 244',
      'Cached input: 5 800',
      'Context used: 2.4 %',
    ])
  })

  test('explains a tool in another namespace, with repeated content shown once', () => {
    const span = detail(
      {
        'acme.tool.command': 'cat .env',
        'gen_ai.tool.call.arguments': '{"command":"cat .env"}',
        'input.value': '{"command":"cat .env"}',
        'gen_ai.tool.call.result': 'KEY=[REDACTED]',
        'output.value': 'KEY=[REDACTED]',
        'acme.tool.outcome': 'error',
        'error.type': 'tool_error',
        'acme.content.truncated': true,
      },
      { namespace: 'acme', statusMessage: 'exit 1' },
    )
    expect(told(span)).toEqual([
      'Secrets were masked before storage and appear as [REDACTED].',
      'Values over the content_capture limit were truncated before storage. The rest was not stored.',
      'Command (acme.tool.command)',
      'Arguments (gen_ai.tool.call.arguments)',
      'Result (gen_ai.tool.call.result)',
      '# Error',
      'Type: tool_error',
      'Description: exit 1',
      '# Tool',
      'Outcome: error',
    ])
  })

  test('does not treat names of properties as attributes', () => {
    expect(told(detail({}))).toEqual([])
  })
})

describe('the list of messages', () => {
  test('reads parts, as we write them', () => {
    const text = JSON.stringify([
      { role: 'user', parts: [{ type: 'text', content: 'Why?' }] },
      { role: 'assistant', parts: [{ type: 'tool_call', id: '1', name: 'terminal', arguments: { command: 'ls' } }] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: '1', response: 'a b' }] },
    ])
    expect(messagesIn(text)).toEqual([
      { role: 'user', parts: [{ type: 'text', text: 'Why?' }] },
      { role: 'assistant', parts: [{ type: 'call', name: 'terminal', value: { command: 'ls' } }] },
      { role: 'tool', parts: [{ type: 'result', value: 'a b' }] },
    ])
  })

  test('reads content and calls, as others do', () => {
    const text = JSON.stringify([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'Yes.' }, { type: 'image' }],
        tool_calls: [{ function: { name: 'x', arguments: '{}' } }],
      },
      { role: 'tool', content: 'done' },
    ])
    expect(messagesIn(text)).toEqual([
      { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'text', text: 'Yes.' },
          { type: 'other', name: 'image', value: { type: 'image' } },
          { type: 'call', name: 'x', value: '{}' },
        ],
      },
      { role: 'tool', parts: [{ type: 'result', value: 'done' }] },
    ])
  })

  test.each(['', 'hello', '[]', '[1]', '{"role":"user"}', '[{"role":1}]', '[{"role":"user"'])(
    'is empty for %j',
    text => {
      expect(messagesIn(text)).toBeUndefined()
    },
  )
})

test.each([
  ['{"a":1}', { a: 1 }],
  [' [1]', [1]],
  ['12', undefined],
  ['"x"', undefined],
  ['null', undefined],
  ['{"a":', undefined],
])('shows %j as JSON', (text, expected) => {
  expect(jsonIn(text)).toEqual(expected)
})

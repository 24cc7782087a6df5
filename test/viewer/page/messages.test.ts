import { describe, expect, test } from 'vitest'
import { jsonIn, messagesIn } from '../../../src/viewer/page/messages.ts'

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

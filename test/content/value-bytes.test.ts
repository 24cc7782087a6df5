/** With full capture a value has no more bytes than a backend takes: what is longer, Honeycomb cuts, JSON or not. */

import { expect, test } from 'vitest'
import fc from '../support/fast-check.ts'
import { told } from '../support/feed.ts'
import { answered, asked, began, used } from '../traces/scenes.ts'
import { fullOf, previewOf } from './captures.ts'

const LIMIT = 65_535
const bytesOf = (text: string | undefined): number => Buffer.byteLength(text ?? '')

test.each([
  ['ASCII', 'a'],
  ['Greek', 'λ'],
  ['Japanese', '日本'],
  ['beyond the first plane', '😀'],
])('cuts a text by its bytes, close to the limit: %s', (_what, letters) => {
  const content = fullOf(letters.repeat(LIMIT + 1), LIMIT)
  expect(bytesOf(content?.text)).toBeLessThanOrEqual(LIMIT)
  expect(bytesOf(content?.text)).toBeGreaterThan(LIMIT - 10)
  expect(content).toMatchObject({ truncated: true })
})

test('leaves a text of exactly the limit unchanged', () => {
  const text = 'é'.repeat((LIMIT - 1) / 2)
  expect(fullOf(text, LIMIT)).toEqual({ text, mimeType: 'text/plain', truncated: false })
})

test('previews count characters, as a reader does', () => {
  expect(previewOf('日'.repeat(100), 100)).toMatchObject({ truncated: false })
})

test('keeps JSON valid when it is cut by its bytes', () => {
  const value = fc.jsonValue({ stringUnit: 'grapheme', maxDepth: 4 })
  fc.assert(
    fc.property(fc.oneof(value, value.map(JSON.stringify)), fc.integer({ min: 2, max: 400 }), (given, cap) => {
      const content = fullOf(given, cap)
      expect(bytesOf(content?.text)).toBeLessThanOrEqual(cap)
      if (content?.mimeType === 'application/json') JSON.parse(content.text)
    }),
  )
})

test.each([
  ['new lines', 'a\n'],
  ['a character that JSON writes in six', '\u0001a'],
  ['Japanese', '日本語"'],
])('limits every attribute of a turn, also texts converted to JSON: %s', (_what, letters) => {
  const text = letters.repeat(LIMIT)
  const messages = [
    { role: 'system', content: text },
    { role: 'user', content: text },
  ]
  const plugin = told(
    [
      ...began({ user_message: text }),
      ...asked(
        100,
        { request_messages: messages, system_prompt: text },
        { response: { assistant_message: { role: 'assistant', content: text } } },
      ),
      ...used(300, { args: { text } }, { result: text }),
      ...answered(500, { assistant_response: text }),
    ],
    { content_capture: 'full' },
  )
  for (const { name, attributes } of plugin.spans()) {
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value !== 'string') continue
      expect(bytesOf(value), `${name} ${key}`).toBeLessThanOrEqual(LIMIT)
      if (key.startsWith('gen_ai.') && key.endsWith('.messages')) JSON.parse(value)
    }
  }
})

import { expect, test } from 'vitest'
import { parseEventJson } from '../../src/agents/event-json.ts'

test.each([
  ['{"n": NaN, "m": [-Infinity, Infinity]}', { n: null, m: [null, null] }],
  ['{"n": NaN, "text": "NaN \\" Infinity \\\\"}', { n: null, text: 'NaN " Infinity \\' }],
  ['{"NaN": 1}', { NaN: 1 }],
])('reads numbers that JSON has no word for as null: %s', (text, expected) => {
  expect(parseEventJson(text)).toEqual(expected)
})

test.each([
  ['behind a backslash', '\\'],
  ['behind an escaped quote', '\\"'],
  ['behind a backslash and a line end', '\\\n'],
  ['behind a quote', '"'],
])('refuses a text of many quotes at once that is cut off %s', (_, end) => {
  // Scanned anew from each quote, this takes minutes.
  const text = `["${'\\"'.repeat(500_000)}${end}`
  expect(() => parseEventJson(text)).toThrow(SyntaxError)
})

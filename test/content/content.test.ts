import { describe, expect, it } from 'vitest'
import type { CapturedContent } from '../../src/content/safe-text.ts'
import fc, { ANY_CHARACTER } from '../support/fast-check.ts'
import { times } from '../support/sample.ts'
import { captureWith, fullOf, previewOf } from './captures.ts'
import { HOSTILE_VALUES } from './hostile-values.ts'

const preview = captureWith()
const full = captureWith({ mode: 'full' })
const off = captureWith({ mode: 'off', conversationHistory: true })

function expectSound(content: CapturedContent | undefined, cap: number): void {
  if (content === undefined) return
  expect(content.text.length).toBeLessThanOrEqual(cap)
  expect(content.text).not.toBe('')
  if (content.mimeType === 'application/json') JSON.parse(content.text)
  expect(content.text).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/)
}

describe('previews of text', () => {
  it.each([
    ['white space is collapsed', '  a\n\t b\r\n\r\nc  ', 'a b c'],
    ['CSI sequences go', '\u001b[1;31mred\u001b[0m \u001b[2K\u009b32mgreen', 'red green'],
    [
      'titles and links go',
      '\u001b]0;title\u0007x \u001b]8;;https://a.b\u001b\\link\u001b]8;;\u001b\\ \u009dt\u009cy',
      'x link y',
    ],
    ['other escapes go', '\u001b(Ba\u001b=b\u001bPq#1\u001b\\c', 'abc'],
    ['an unterminated title loses its introducer only', 'a\u001b]0;title', 'a0;title'],
    ['control characters go', 'a\u0000b\u0008c\u007fd\u0085e\u0090f', 'abcd ef'],
    ['other scripts stay', 'naïve 日本語 😀', 'naïve 日本語 😀'],
  ])('has its rule: %s', (_, text, expected) => {
    expect(preview.content(text, 'llm_input')).toEqual({ text: expected, mimeType: 'text/plain', truncated: false })
  })

  it.each([[''], [' \n\t'], ['\u001b[31m\u001b[0m'], [undefined], [null], [Number.NaN], [() => 1], [Symbol('s')]])(
    'treats %j as no content',
    value => {
      expect(preview.content(value, 'llm_input')).toBeUndefined()
      expect(full.content(value === '\u001b[31m\u001b[0m' ? '' : value, 'llm_input')).toBeUndefined()
    },
  )

  it.each([
    [12.5, '12.5'],
    [0, '0'],
    [false, 'false'],
    [7n, '7'],
  ])('shows %s as its text', (value, text) => {
    expect(preview.content(value, 'llm_input')?.text).toBe(text)
  })

  it('counts the ellipsis and never splits a pair', () => {
    expect(previewOf('abcdefghij', 10)).toEqual({ text: 'abcdefghij', mimeType: 'text/plain', truncated: false })
    expect(previewOf('abcdefghijk', 10)).toEqual({ text: 'abcdefg...', mimeType: 'text/plain', truncated: true })
    expect(previewOf('abcdef😀hijk', 10)?.text).toBe('abcdef...')
    expect(previewOf('abcdefghijk', 3)?.text).toBe('...')
    expect(previewOf('abcdefghijk', 2)?.text).toBe('..')
    expect(previewOf('abcdefghijk', 0)).toBeUndefined()
    expect(previewOf('abcdefghijk', -5)).toBeUndefined()
  })

  it('fills the cap after collapsing', () => {
    expect(previewOf('word    \n    '.repeat(500), 1200)?.text.length).toBeGreaterThan(600)
    expect(previewOf('word '.repeat(5000), 1200)?.text.length).toBeGreaterThan(1190)
  })

  it('is sound for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER, maxLength: 400 }), fc.integer({ min: 1, max: 450 }), (text, cap) => {
        expectSound(previewOf(text, cap), cap)
        expectSound(fullOf(text, cap), cap)
      }),
      { numRuns: times(60, 1000) },
    )
  })
})

describe('JSON text', () => {
  it('stays JSON, without the white space around it', () => {
    expect(preview.content(' {\n  "a": [1, 2],\n  "b": "x  y"\n}\n', 'tool_output')).toEqual({
      text: '{"a":[1,2],"b":"x  y"}',
      mimeType: 'application/json',
      truncated: false,
    })
  })

  it('stays JSON when it is cut', () => {
    const text = JSON.stringify({ stdout: 'line\n'.repeat(1000), exit: 0 }, undefined, 2)
    const content = preview.content(text, 'tool_output')
    expect(content?.mimeType).toBe('application/json')
    expect(content?.truncated).toBe(true)
    expect((JSON.parse(content?.text ?? '') as { stdout: string }).stdout).toMatch(/^line\nline[\s\S]*\.\.\.$/)
    expect(content?.text.length).toBeGreaterThan(1100)
  })

  it('is text if malformed', () => {
    expect(preview.content('[INFO]  started {ok}', 'tool_output')).toEqual({
      text: '[INFO] started {ok}',
      mimeType: 'text/plain',
      truncated: false,
    })
  })

  it('is masked under secret keys and in strings', () => {
    const text =
      '{"password": 12345, "headers": {"Cookie": {"a": ["}"]}}, "cmd": "a\\npassword=hunter2", "token": null}'
    expect(preview.content(text, 'tool_output')?.text).toBe(
      '{"password":"[REDACTED]","headers":{"Cookie":"[REDACTED]"},"cmd":"a\\npassword=[REDACTED]","token":null}',
    )
  })

  it('is sound at any cap', () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 4 }),
      fc.dictionary(fc.constantFrom('password', 'a', 'token'), fc.jsonValue()),
    )
    fc.assert(
      fc.property(value, fc.integer({ min: 2, max: 300 }), fc.constantFrom(undefined, 2), (each, cap, indentation) => {
        const text = JSON.stringify(each, undefined, indentation)
        for (const content of [previewOf(text, cap), fullOf(text, cap), previewOf(each, cap), fullOf(each, cap)]) {
          expectSound(content, cap)
          if (typeof each === 'object' && each !== null) expect(content?.mimeType).toBe('application/json')
        }
      }),
      { numRuns: times(60, 1000) },
    )
  })
})

describe('a value', () => {
  it.each(HOSTILE_VALUES)('survives: $what', ({ make }) => {
    for (const capture of [preview, full, off]) {
      for (const category of ['tool_input', 'llm_output'] as const)
        expectSound(capture.content(make(), category), 65_536)
      expect(() => [
        capture.id(make()),
        capture.snippet(make()),
        capture.errorText(make()),
        capture.history(make()),
      ]).not.toThrow()
      expect((capture.json(make(), 50) ?? '').length).toBeLessThanOrEqual(50)
    }
    expect(captureWith({ conversationHistory: true }).history(make())?.text.length).toBeLessThanOrEqual(20_000)
    expect((preview.snippet(make()) ?? '').length).toBeLessThanOrEqual(500)
    expect((preview.errorText(make()) ?? '').length).toBeLessThanOrEqual(500)
  })

  it('loses its terminal sequences in a preview and keeps its line breaks', () => {
    expect(preview.content({ out: '\u001b[31mred\u001b[0m\n ok' }, 'tool_output')?.text).toBe('{"out":"red\\n ok"}')
  })

  it('is read again each time, because an object can change', () => {
    const value = { a: 1 }
    expect(preview.content(value, 'tool_input')?.text).toBe('{"a":1}')
    value.a = 2
    expect(preview.content(value, 'tool_input')?.text).toBe('{"a":2}')
  })
})

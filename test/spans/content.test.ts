import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Capture, CapturedContent } from '../../src/spans/capture.ts'
import { keepAll } from '../../src/spans/clip.ts'
import { type CaptureSettings, createCapture } from '../../src/spans/content.ts'
import { createRedactor } from '../../src/spans/redaction.ts'
import { HOSTILE_VALUES } from './hostile-values.ts'
import { SECRETS } from './redaction-corpus.ts'

const redact = createRedactor({ enabled: true, patterns: [] })

function captureWith(settings: Partial<CaptureSettings> = {}): Capture {
  return createCapture({
    mode: 'preview',
    previewMaxChars: 1200,
    categoryMaxChars: {},
    contentMaxChars: 65_536,
    conversationHistory: false,
    conversationHistoryMaxChars: 20_000,
    senderId: false,
    redact,
    ...settings,
  })
}

const preview = captureWith()
const full = captureWith({ mode: 'full' })
const off = captureWith({ mode: 'off', conversationHistory: true })

function previewOf(value: unknown, cap: number): CapturedContent | undefined {
  return captureWith({ previewMaxChars: cap }).content(value, 'tool_input')
}

function fullOf(value: unknown, cap: number): CapturedContent | undefined {
  return captureWith({ mode: 'full', contentMaxChars: cap }).content(value, 'tool_input')
}

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
  ])('%s', (_, text, expected) => {
    expect(preview.content(text, 'llm_input')).toEqual({ text: expected, mimeType: 'text/plain', truncated: false })
  })

  it.each([[''], [' \n\t'], ['\u001b[31m\u001b[0m'], [undefined], [null], [Number.NaN], [() => 1], [Symbol('s')]])(
    '%j is no content',
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
  ])('%s is its text', (value, text) => {
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

  it('fills the cap with what is left after collapsing', () => {
    expect(previewOf('word    \n    '.repeat(500), 1200)?.text.length).toBeGreaterThan(600)
    expect(previewOf('word '.repeat(5000), 1200)?.text.length).toBeGreaterThan(1190)
  })

  it('is sound for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), fc.integer({ min: 1, max: 450 }), (text, cap) => {
        expectSound(previewOf(text, cap), cap)
        expectSound(fullOf(text, cap), cap)
      }),
      { numRuns: 1000 },
    )
  })

  it('has its own cap for each category', () => {
    const capture = captureWith({ previewMaxChars: 20, categoryMaxChars: { llm_input: 10, tool_output: undefined } })
    const text = 'a'.repeat(100)
    expect(capture.content(text, 'llm_input')?.text).toHaveLength(10)
    expect(capture.content(text, 'tool_output')?.text).toHaveLength(20)
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

  it('that is none is text', () => {
    expect(preview.content('[INFO]  started {ok}', 'tool_output')).toEqual({
      text: '[INFO] started {ok}',
      mimeType: 'text/plain',
      truncated: false,
    })
  })

  it('is masked where its keys say so, and in its strings', () => {
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
      { numRuns: 1000 },
    )
  })
})

describe('values', () => {
  it.each(HOSTILE_VALUES)('survive: $what', ({ make }) => {
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

  it('lose their terminal sequences in a preview and keep their line breaks', () => {
    expect(preview.content({ out: '\u001b[31mred\u001b[0m\n ok' }, 'tool_output')?.text).toBe('{"out":"red\\n ok"}')
  })

  it('are looked at again each time, because an object can change', () => {
    const value = { a: 1 }
    expect(preview.content(value, 'tool_input')?.text).toBe('{"a":1}')
    value.a = 2
    expect(preview.content(value, 'tool_input')?.text).toBe('{"a":2}')
  })
})

describe('full', () => {
  it('keeps white space and terminal sequences', () => {
    const text = '  a\n\n  b \u001b[31m'
    expect(full.content(text, 'llm_output')).toEqual({ text, mimeType: 'text/plain', truncated: false })
  })

  it('keeps the white space of JSON text', () => {
    const text = '\n{\n  "a": [1, 2 ],\n  "e": { },\n  "b": "x"\n }'
    expect(full.content(text, 'llm_output')).toEqual({ text, mimeType: 'application/json', truncated: false })
  })

  it('masks, and cuts at its own cap', () => {
    expect(full.content('password=hunter2\n', 'llm_output')?.text).toBe('password=[REDACTED]\n')
    expect(fullOf('line\n'.repeat(100), 50)?.text).toBe(`${'line\n'.repeat(100).slice(0, 47)}...`)
  })

  it('does not use the caps of previews', () => {
    const capture = captureWith({ mode: 'full', previewMaxChars: 5, categoryMaxChars: { tool_input: 5 } })
    expect(capture.content('a'.repeat(100), 'tool_input')?.text).toHaveLength(100)
  })
})

describe('off', () => {
  it('has no content of any kind, but ids', () => {
    expect(off.content('x', 'llm_input')).toBeUndefined()
    expect(off.snippet('x')).toBeUndefined()
    expect(off.errorText('x')).toBeUndefined()
    expect(off.history([{ role: 'user' }])).toBeUndefined()
    expect(off.conversationHistory).toBe(false)
    expect(off.id('s1')).toBe('s1')
    expect(off.json({ max_tokens: 5 })).toBe('{"max_tokens":5}')
  })
})

describe('ids', () => {
  it.each([
    ['s1:t1', 's1:t1'],
    [' a\n b ', 'a b'],
    ['\u001b[31mred', 'red'],
    [42, '42'],
    [7n, '7'],
    ['x'.repeat(300), `${'x'.repeat(197)}...`],
    ['x'.repeat(200), 'x'.repeat(200)],
    [`key ghp_${'a1B2'.repeat(9)}`, 'key [REDACTED]'],
    ['a\ud800', 'a\ufffd'],
  ])('%s', (value, id) => {
    expect(preview.id(value)).toBe(id)
    expect(preview.id(value)).toBe(id)
  })

  it.each([
    [''],
    ['  '],
    [undefined],
    [null],
    [true],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [{}],
    [['a']],
    [() => 1],
  ])('%j is none', value => {
    expect(preview.id(value)).toBeUndefined()
  })

  it('are computed once while they keep coming', () => {
    let redactions = 0
    const capture = captureWith({
      redact: text => {
        redactions++
        return text
      },
    })
    for (let round = 0; round < 100; round++) capture.id('session-1')
    expect(redactions).toBe(1)
  })

  it('are the same however many there were', () => {
    for (let at = 0; at < 5000; at++) expect(preview.id(`id ${at}`)).toBe(`id ${at}`)
    expect(preview.id('id 1')).toBe('id 1')
  })
})

describe('snippets and errors', () => {
  it('are one line of at most 500 characters', () => {
    expect(preview.snippet('ls\n  -la')).toBe('ls -la')
    expect(preview.snippet('x'.repeat(600))).toHaveLength(500)
    expect(full.snippet(`a\nb${'x'.repeat(600)}`)).toMatch(/^a bx{494}\.\.\.$/)
    expect(preview.snippet(['bash', '-lc', 'ls\n'])).toBe('["bash","-lc","ls\\n"]')
    expect(preview.snippet('{"a": 1}')).toBe('{"a": 1}')
    expect(preview.snippet(' ')).toBeUndefined()
  })

  it('reads errors in the forms in which they come', () => {
    expect(preview.errorText('failed\n  badly')).toBe('failed badly')
    expect(preview.errorText(new Error('no route: password=hunter2'))).toBe('no route: password=[REDACTED]')
    expect(preview.errorText({ type: 'x', message: 'overloaded' })).toBe('overloaded')
    expect(preview.errorText(new RangeError(''))).toBe('RangeError')
    expect(preview.errorText({ code: 5 })).toBe('{"code":5}')
    expect(preview.errorText(503)).toBe('503')
    expect(preview.errorText(undefined)).toBeUndefined()
    expect(preview.errorText('x'.repeat(600))).toHaveLength(500)
  })
})

describe('history and own structures', () => {
  it('is written only when asked for, under its own cap', () => {
    const messages = [{ role: 'user', content: 'password=hunter2' }]
    expect(preview.history(messages)).toBeUndefined()
    const capture = captureWith({ conversationHistory: true, conversationHistoryMaxChars: 40 })
    expect(capture.history(messages)).toEqual({
      text: '[{"role":"user","content":"passwor..."}]',
      mimeType: 'application/json',
      truncated: true,
    })
    expect(capture.history([])).toBeUndefined()
    expect(capture.history(undefined)).toBeUndefined()
  })

  it('writes structures of captured texts as they are', () => {
    expect(preview.json([{ role: 'user', content: 'password=[REDACTED]' }])).toBe(
      '[{"role":"user","content":"password=[REDACTED]"}]',
    )
    expect(preview.json({ content: 'x'.repeat(100) }, 30)).toBe('{"content":"xxxxxxxxxxxxx..."}')
    expect(preview.json(undefined)).toBeUndefined()
  })
})

describe('without redaction', () => {
  it('leaves everything as it is, keys included', () => {
    const capture = captureWith({ redact: keepAll })
    expect(capture.content({ password: 'hunter2' }, 'tool_input')?.text).toBe('{"password":"hunter2"}')
    expect(capture.content('{"password":"hunter2"}', 'tool_input')?.text).toBe('{"password":"hunter2"}')
    expect(capture.id('password=hunter2')).toBe('password=hunter2')
  })
})

/** What must not be left of a secret: any 12 characters of it, or all of a shorter one. A key's head line is none. */
function leak(text: string, whole: string): string | undefined {
  const secret = whole.replace(/^-----BEGIN [A-Z ]+-----(?:\n|\\n)/, '')
  if (secret.length < 20) return secret.length > 5 && text.includes(secret) ? secret : undefined
  for (let at = 0; at + 12 <= secret.length; at++) {
    const piece = secret.slice(at, at + 12)
    if (text.includes(piece)) return piece
  }
  return undefined
}

describe('a secret that a cut runs through', () => {
  it.each(SECRETS)('$what, at every cap', ({ before, secret, after }) => {
    const text = `some words in front ${before}${secret}${after} and words behind${' word'.repeat(400)}`
    const error = { type: 'x', message: text }
    for (let cap = 4; cap < Math.min(before.length + secret.length + 60, 400); cap++) {
      const capture = captureWith({ previewMaxChars: cap })
      for (const shown of [
        capture.content(text, 'tool_input')?.text,
        capture.content({ command: text, timeout: 5 }, 'tool_input')?.text,
        capture.content(JSON.stringify({ command: text, timeout: 5 }), 'tool_input')?.text,
        fullOf(text, cap)?.text,
      ]) {
        expect(leak(shown ?? '', secret)).toBeUndefined()
      }
    }
    expect(leak(preview.errorText(error) ?? '', secret)).toBeUndefined()
    expect(leak(preview.id(text) ?? '', secret)).toBeUndefined()
  })

  it('anywhere in a long text that shrinks when it is captured', () => {
    const filler = fc.constantFrom(
      '   \n\t  ',
      'word ',
      '\u001b[31mred\u001b[0m ',
      'password=x ',
      'x',
      '", "a": "',
      '\\n',
      '/path/to',
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...SECRETS),
        fc.array(fc.tuple(filler, fc.integer({ min: 1, max: 60 })), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 4, max: 600 }),
        ({ before, secret, after }, parts, cap) => {
          const text = `${parts.map(([part, times]) => part.repeat(times)).join('')} ${before}${secret}${after} ${'tail '.repeat(500)}`
          for (const value of [text, JSON.stringify({ text }), { text }, [text], { text: { text } }]) {
            expect(leak(previewOf(value, cap)?.text ?? '', secret)).toBeUndefined()
            expect(leak(fullOf(value, cap)?.text ?? '', secret)).toBeUndefined()
          }
          expect(leak(preview.snippet(text) ?? '', secret)).toBeUndefined()
        },
      ),
      { numRuns: 1500 },
    )
  })
})

describe('work', () => {
  it('is that of the cap, not of the value', () => {
    const seen: number[] = []
    const capture = captureWith({
      redact: text => {
        seen.push(text.length)
        return text
      },
    })
    const huge = 'word '.repeat(10_000_000)
    capture.content(huge, 'tool_output')
    capture.content(`{"a":"${huge}`, 'tool_output')
    capture.content({ a: huge, b: [huge] }, 'tool_output')
    capture.snippet(huge)
    capture.errorText(new Error(huge))
    capture.id(huge)
    expect(Math.max(...seen)).toBeLessThan(2000 + 2 * 1200)
    expect(seen.length).toBeLessThan(12)
  })

  it('is done once for a text that several spans ask for', () => {
    let redactions = 0
    const capture = captureWith({
      redact: text => {
        redactions++
        return text
      },
    })
    const message = 'hello there'
    expect(capture.content(message, 'llm_input')).toBe(capture.content(message, 'llm_input'))
    expect(redactions).toBe(1)
    capture.content('another', 'llm_input')
    capture.content(message, 'tool_input')
    expect(redactions).toBe(3)
  })
})

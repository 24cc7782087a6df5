import { describe, expect, it } from 'vitest'
import { keepAll } from '../../src/content/clip.ts'
import { captureWith, fullOf } from './captures.ts'

const preview = captureWith()
const full = captureWith({ mode: 'full' })
const off = captureWith({ mode: 'off', conversationHistory: true })

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
    const capture = captureWith({ mode: 'full', previewMaxChars: 5 })
    expect(capture.content('a'.repeat(100), 'tool_input')?.text).toHaveLength(100)
  })
})

describe('off', () => {
  it('has ids but no content of any kind', () => {
    expect(off.content('x', 'llm_input')).toBeUndefined()
    expect(off.snippet('x')).toBeUndefined()
    expect(off.errorText('x')).toBeUndefined()
    expect(off.history([{ role: 'user' }])).toBeUndefined()
    expect(off.conversationHistory).toBe(false)
    expect(off.id('s1')).toBe('s1')
    expect(off.json({ max_tokens: 5 })).toBe('{"max_tokens":5}')
  })
})

describe('an id', () => {
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
  ])('has the form %s', (value, id) => {
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
  ])('is absent for %j', value => {
    expect(preview.id(value)).toBeUndefined()
  })

  it('is cached while it recurs', () => {
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

  it('is the same however many there were', () => {
    for (let at = 0; at < 5000; at++) expect(preview.id(`id ${at}`)).toBe(`id ${at}`)
    expect(preview.id('id 1')).toBe('id 1')
  })
})

describe('a snippet or an error', () => {
  it('is one line of at most 500 characters', () => {
    expect(preview.snippet('ls\n  -la')).toBe('ls -la')
    expect(preview.snippet('x'.repeat(600))).toHaveLength(500)
    expect(full.snippet(`a\nb${'x'.repeat(600)}`)).toMatch(/^a bx{494}\.\.\.$/)
    expect(preview.snippet(['bash', '-lc', 'ls\n'])).toBe('["bash","-lc","ls\\n"]')
    expect(preview.snippet('{"a": 1}')).toBe('{"a": 1}')
    expect(preview.snippet(' ')).toBeUndefined()
  })

  it('reads errors of every form', () => {
    expect(preview.errorText('failed\n  badly')).toBe('failed badly')
    expect(preview.errorText(new Error('no route: password=hunter2'))).toBe('no route: password=[REDACTED]')
    expect(preview.errorText({ type: 'x', message: 'overloaded' })).toBe('overloaded')
    expect(preview.errorText(new RangeError(''))).toBe('RangeError')
    expect(preview.errorText({ name: 'x', code: 5 })).toBe('{"name":"x","code":5}')
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
    const capture = captureWith({ conversationHistory: true, contentMaxChars: 40 })
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

describe('work', () => {
  it('is linear in the cap, not in the value', () => {
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

  it('is done once for a text of several spans', () => {
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

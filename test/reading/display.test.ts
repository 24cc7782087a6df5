import { describe, expect, test, vi } from 'vitest'
import { displayLines, displayText, visibleText } from '../../src/reading/display-text.ts'
import { clipToWidth, displayWidth, padEndToWidth, padStartToWidth } from '../../src/reading/display-width.ts'
import { escapeHtml } from '../../src/reading/export-html.ts'
import { humanCount, humanDuration, humanInstant } from '../../src/reading/human-figures.ts'
import { clipSegments, paintLine, segment, segmentsWidth } from '../../src/reading/segments.ts'
import fc, { ANY_CHARACTER } from '../support/fast-check.ts'

describe('displayText', () => {
  test.each([
    ['colours', '\x1b[31mred\x1b[0m', 'red'],
    ['a window title', 'a\x1b]0;owned\x07b', 'ab'],
    ['a hyperlink', '\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\', 'link'],
    ['an unfinished sequence, without hiding what follows', 'a\x1b]0;rest', 'a0;rest'],
    ['the 8-bit introducer', 'a\x9b31mb', 'ab'],
    ['line ends and tabs', 'a\r\n\tb\u2028c', 'a b c'],
    ['bells, nulls, backspaces', 'a\x07\x00\x08\x7fb', 'ab'],
    ['bidi overrides', 'abc\u202egnp.exe\u2066', 'abcgnp.exe'],
    ['zero-width characters and tags', 'a\u200bb\u{e0041}c', 'abc'],
    ['surrogates without a partner', 'a\ud800b\udc00', 'ab'],
    ['code points that XML forbids', 'a\uffff\ufffeb', 'ab'],
    ['piled marks', `e${'\u0301'.repeat(50)}`, `e${'\u0301'.repeat(4)}`],
  ])('removes %s', (_, text, expected) => {
    expect(displayText(text)).toBe(expected)
  })

  test.each([
    'grün 日本語 👍 العربية ไทย',
    'می\u200cخواهم',
    'ක්\u200dෂ',
    '👩\u200d👩\u200d👧\u200d👦 👍🏽 ❤\ufe0f 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 葛\u{e0100}',
  ])('leaves text of any script as it is: %s', text => {
    expect(displayText(text)).toBe(text)
    expect(displayLines(text)).toEqual([text])
    expect(visibleText(text)).toBe(text)
    expect(escapeHtml(text)).toBe(text)
  })

  test.each([
    ['joiners between Latin letters', 'pass\u200cwo\u200drd', 'password'],
    ['joiners at an end', '\u200cمی\u200c 👩\u200d', 'می 👩'],
    ['several joiners', 'می\u200c\u200cخ', 'میخ'],
    ['variation selectors that carry a text', 'a\ufe01\ufe02 👍\ufe0f\u{e0142}\u{e0143}', 'a 👍\ufe0f'],
    ['fillers and other characters that are drawn as nothing', 'a\u3164b\u034fc\u115f', 'abc'],
  ])('removes %s', (_, text, expected) => {
    expect(displayText(text)).toBe(expected)
    expect(visibleText(text)).not.toMatch(/\p{Default_Ignorable_Code_Point}{2}|\u200c|\u200d|\u3164|\u034f|\u115f/u)
  })

  test('keeps the columns of a terminal: an emoji there consists of its parts', () => {
    const line = paintLine([segment('plain', displayText('👩\u200d👧 ❤\ufe0f می\u200cخ'))], false)
    expect(line).toBe('👩👧 ❤ می\u200cخ')
    expect(displayWidth(line)).toBe(displayWidth('👩\u200d👧 ❤\ufe0f می\u200cخ'))
  })

  test('leaves nothing that acts on a terminal, for any input', () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER }), text => {
        expect(displayText(text)).not.toMatch(/(?!\u200c|\u200d)[\p{Cc}\p{Cf}\p{Cs}]/u)
      }),
    )
  })
})

describe('displayWidth', () => {
  test.each([
    ['', 0],
    ['plain', 5],
    ['grün', 4],
    ['e\u0301', 1],
    ['日本語', 6],
    ['한국', 4],
    ['ｆｕｌｌ', 8],
    ['👍', 2],
    ['👍🏽', 2],
    ['🇩🇪', 2],
    ['└─ ━ → …', 8],
  ])('measures %j as %i', (text, width) => {
    expect(displayWidth(text)).toBe(width)
  })

  test('clips to cells, not to characters', () => {
    expect(clipToWidth('日本語', 6)).toBe('日本語')
    expect(clipToWidth('日本語', 5)).toBe('日本…')
    expect(clipToWidth('日本語', 4)).toBe('日…')
    expect(clipToWidth('abc', 0)).toBe('')
  })

  test('pads on both sides', () => {
    expect([padStartToWidth('日', 4), padEndToWidth('日', 4), padEndToWidth('long', 2)]).toEqual([
      '  日',
      '日  ',
      'long',
    ])
  })

  test('clips segments to at most the given width', () => {
    const text = fc.string({ unit: 'grapheme' }).map(displayText)
    fc.assert(
      fc.property(fc.array(text), fc.integer({ min: 0, max: 40 }), (texts, width) => {
        const clipped = clipSegments(
          texts.map(each => segment('plain', each)),
          width,
        )
        expect(segmentsWidth(clipped)).toBeLessThanOrEqual(width)
      }),
    )
  })
})

describe('figures', () => {
  test.each([
    [0, '0 ms'],
    [0.04, '0 ms'],
    [3.25, '3.3 ms'],
    [9.96, '10 ms'],
    [412, '412 ms'],
    [999.6, '1.0 s'],
    [2_300, '2.3 s'],
    [2_450, '2.5 s'],
    [2_449.999755859375, '2.5 s'],
    [59_960, '1 m 00 s'],
    [245_000, '4 m 05 s'],
    [3_599_600, '1 h 00 m'],
    [3_720_000, '1 h 02 m'],
    [86_400_000, '1 d 00 h'],
    [273_600_000, '3 d 04 h'],
    [-5, '-5 ms'],
    [Number.NaN, '?'],
  ])('formats %d ms as %s', (millis, text) => {
    expect(humanDuration(millis)).toBe(text)
  })

  test.each([
    [0, '0'],
    [148, '148'],
    [1840, '1 840'],
    [1234567, '1 234 567'],
  ])('writes %d as %s', (count, text) => {
    expect(humanCount(count)).toBe(text)
  })

  test.each([
    ['UTC', '2026-11-21 10:15:00 UTC'],
    ['Europe/Berlin', '2026-11-21 11:15:00 +01:00'],
    ['America/St_Johns', '2026-11-21 06:45:00 -03:30'],
  ])('shows an instant in the zone of the machine: %s', (zone, text) => {
    vi.stubEnv('TZ', zone)
    expect(humanInstant(1795256100000)).toBe(text)
    vi.unstubAllEnvs()
  })

  test('shows an invalid instant as an empty text', () => {
    expect(humanInstant(Number.POSITIVE_INFINITY)).toBe('')
  })
})

import { describe, expect, it } from 'vitest'
import { checkPattern } from '../../src/content/redact-patterns.ts'

describe('accepted patterns', () => {
  it.each(
    [
      ...[
        'EMP-\\d{6}',
        '\\b\\d{3}-\\d{2}-\\d{4}\\b',
        '[\\w.+-]+@example\\.com',
        '[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,}',
      ],
      ...[
        '(?:[A-Z]{4}-){3}[A-Z]{4}',
        '(?:\\d{1,3}\\.){3}\\d{1,3}',
        '(?:\\d[ -]*?){13,16}',
        '\\+?\\d{1,3}[ -]?\\(?\\d{3}\\)?[ -]?\\d{3}[ -]?\\d{4}',
      ],
      ...[
        'Patient: \\w+ \\w+',
        'name="[^"]*"',
        'id=.*',
        '".*?"',
        '(?<=account )\\d+',
        '\\d+(?= EUR)',
        '(foo|fob|bar)+',
        '(?:a?b)+x',
      ],
      ...[
        '\\p{Lu}\\p{Ll}+ GmbH',
        '[一-龥]{2,4}先生',
        '\\u00df+',
        '\\x41{3}',
        '\\cA',
        'a{',
        '\\-x',
        '(?<name>x)y',
        '[\\w-]+\\.internal',
        'x{2,}y',
        '.{0,100}secret',
        'name=.*; id=\\d+;',
        '(?:\\w+\\.)+com',
        '.{0,80}.{0,80}x',
      ],
      ...['^key .*$', '(?:https?|ftp)://intranet[^\\s]*', '[^\\]]+\\]', '\\[[^[]+', '😀+'],
    ].map(source => [source]),
  )('includes %s', source => {
    const checked = checkPattern(source)
    expect(checked).toEqual({ ok: true, pattern: expect.any(RegExp) })
    if (checked.ok) expect(checked.pattern.global).toBe(true)
  })
})

describe('patterns that can take very long', () => {
  it.each(
    [
      ...[
        '(a+)+b',
        '(a*)*b',
        '(.*)*x',
        '(?:a|aa)+b',
        '(?:a|a)*b',
        'x(\\w+\\s?)*$',
        '([a-zA-Z]+)*1',
        '(x+x+)+y',
        '^x(\\d+)*$',
        '(?:.*,){12}P',
      ],
      ...[
        '\\w+\\w+\\w+$',
        '.*.*=x',
        '\\s*\\s*\\s*x',
        '.*foo.*bar.*baz',
        '(a|b|ab)*c',
        '(?:\\d|\\w)+!',
        '(\\w+)\\1+\\1+x',
        '((a{1,900}){1,900})x',
      ],
      ...[
        '(?:a?){60}b',
        '[ab]+(?:[ab]+)z$',
        '\\w+?\\d+x',
        '\\w*?x(?:x{2})+?c',
        '.{0,200}.{0,200}x',
        '(?=(a+)+b)a',
        '(?:x{0,500}){0,500}y',
        '[^"]*[^\']*[^`]*!',
      ],
    ].map(source => [source]),
  )('rejects %s', source => {
    expect(checkPattern(source)).toEqual({ ok: false, reason: expect.stringContaining('very long') })
  })
})

describe('patterns that cannot be used', () => {
  it.each([['('], ['[a'], ['*a'], ['a{2,1}'], ['(?<x>a)(?<x>b)']])('rejects %s, which does not compile', source => {
    expect(checkPattern(source)).toEqual({ ok: false, reason: expect.stringContaining('regular expression') })
  })

  it.each([
    ['ACME-7731(', 'unterminated group'],
    ['ACME-7731: Very secret(', 'unterminated group'],
    ['[ACME7731', 'unterminated character class'],
    ['ACME-7731{2,1}', 'numbers out of order'],
    ['(?<ACME7731>a)(?<ACME7731>b)', 'duplicate capture group name'],
    ['ACME-7731\\', 'at end of pattern'],
  ])('does not quote %s in the reason', (source, reason) => {
    const checked = checkPattern(source)
    expect(checked).toEqual({ ok: false, reason: expect.stringContaining(reason) })
    expect(JSON.stringify(checked)).not.toMatch(/ACME|7731|secret/)
  })

  it.each([[''], ['a*'], ['(?:)'], ['\\b'], ['^'], ['$'], ['(?=x)'], ['x?|y'], ['(a|b*)'], ['a{0,3}'], ['\\1(a)?']])(
    'rejects %s, which matches the empty string',
    source => {
      expect(checkPattern(source)).toEqual({ ok: false, reason: 'it matches the empty string' })
    },
  )

  it('refuses a pattern that is too long', () => {
    expect(checkPattern('a'.repeat(3000))).toEqual({ ok: false, reason: expect.stringContaining('2000') })
  })
})

it('uses Unicode rules if the pattern allows them, else the older ones', () => {
  const unicode = checkPattern('\\p{Lu}')
  const older = checkPattern('\\-\\_x')
  expect(unicode.ok && unicode.pattern.flags).toBe('gu')
  expect(older.ok && older.pattern.flags).toBe('g')
})

import { describe, expect, it, test } from 'vitest'
import { compilePattern, type PatternConfig } from '../../../src/guards/builtin/pattern.ts'
import fc from '../../support/fast-check.ts'

function matches(config: PatternConfig, text: string): boolean {
  const compiled = compilePattern(config)
  if (!compiled.ok) throw new Error(compiled.reason)
  return compiled.matches(text)
}

function reason(config: unknown): string {
  const compiled = compilePattern(config as PatternConfig)
  return compiled.ok ? '' : compiled.reason
}

describe('a fixed text', () => {
  it.each([
    ['a.b', 'xa.by', true],
    ['a.b', 'acb', false],
    ['*', 'a*b', true],
    ['*', 'ab', false],
  ])('matches literally: %j in %j: %j', (pattern, text, expected) => {
    expect(matches(pattern, text)).toBe(expected)
  })
})

describe('a glob', () => {
  it.each([
    ['a', 'a', true],
    ['a', 'ab', false],
    ['*', 'abc', true],
    ['*', '', true],
    ['*', 'a/b', false],
    ['**', 'a/b', true],
    ['mcp__*__delete_*', 'mcp__files__delete_one', true],
    ['mcp__*__delete_*', 'mcp__files__read', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/a/b.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/a/b/c.ts', true],
    ['src/**/*.ts', 'src2/a.ts', false],
    ['**/.env', '.env', true],
    ['**/.env', 'a/b/.env', true],
    ['**/.env', 'a/b.env', false],
    ['**/b**', 'a/b/c', true],
    ['a**/b', 'ab', false],
    ['a**/b', 'ac/d/b', true],
    ['a?c', 'abc', true],
    ['a?c', 'a/c', false],
    ['?', '\u{1f4b3}', true],
    ['a\\*', 'a*', true],
    ['a\\*', 'ab', false],
    ['[a]', '[a]', true],
    ['***', 'a/b', true],
  ])('matches the whole text: %j, %j: %j', (glob, text, expected) => {
    expect(matches({ glob }, text)).toBe(expected)
  })

  it('agrees with an equivalent regular expression', () => {
    const parts = fc.array(fc.constantFrom('a', 'b', '/', '*', '?', '**'), { maxLength: 8 })
    const texts = fc.array(fc.constantFrom('a', 'b', '/'), { maxLength: 8 })
    fc.assert(
      fc.property(parts, texts, (glob, text) => {
        const written = glob.join('').replace(/\*{3,}/g, '**') || 'a'
        const source = written.replace(/(^|\/)\*\*\/|\*\*|\*|\?/g, (found, edge: string | undefined) =>
          edge !== undefined ? `${edge}(?:.*/)?` : found === '**' ? '.*' : found === '*' ? '[^/]*' : '[^/]',
        )
        // One segment of `**/` takes the slash that the next would begin with.
        fc.pre(!/\*\*\/\*\*\//.test(written))
        expect(matches({ glob: written }, text.join(''))).toBe(new RegExp(`^${source}$`).test(text.join('')))
      }),
    )
  })
})

describe('a regular expression', () => {
  it.each([
    ['rm\\s+-rf', 'x rm   -rf y', true],
    ['^rm\\b', 'xrm', false],
    ['sk-\\w+', 'a sk-b', true],
    ['password\\s*[:=]\\s*\\w+', 'password = x', true],
    ['EMP-\\d{6}', 'EMP-12345', false],
    ['foo.{0,100}bar', 'foo bar', true],
    ['"[^"]*"', '"a"', true],
    ['(?:curl|wget) ', 'curl x', true],
    ['(?<=a )\\d+', 'a 1', true],
    ['[A-Za-z]{1,64}@example\\.com', 'a@example.com', true],
    ['x(?:,\\d+)*;', 'x,1,2;', true],
  ])('matches in linear time: %j, %j: %j', (regex, text, expected) => {
    expect(matches({ regex }, text)).toBe(expected)
    expect(matches({ regex }, text), 'and again').toBe(expected)
  })
})

describe('an unusable pattern', () => {
  it.each([
    ['', 'it is empty'],
    [{ glob: '' }, 'it is empty'],
    [{ glob: 'a'.repeat(501) }, 'it is longer than 500 characters'],
    [{ regex: '(' }, 'not a valid regular expression'],
    [{ regex: 'a*' }, 'it matches the empty string'],
    [{ regex: '(a+)+b' }, 'it can take very long'],
    [{ regex: 'a+b' }, 'it can take very long on a long text'],
    [{ regex: '.*foo' }, 'it can take very long on a long text'],
    [{ regex: '\\[[^\\]]*\\]' }, 'it can take very long on a long text'],
    [{ regex: 'foo.*bar' }, 'it can take very long on a long text'],
    [{ regex: '\\s+x' }, 'it can take very long on a long text'],
    [{ regex: 'x(?=.*y)z' }, 'it can take very long on a long text'],
    [{ regex: '(?:,\\d+)+x' }, 'it can take very long on a long text'],
    [{ regex: 'x(?:y\\w*)+z' }, 'it can take very long'],
    [{ regex: 'a(?:b|[ac]*)d' }, 'it can take very long on a long text'],
    [{ regex: 'a\\s*\\s*b' }, 'it can take very long'],
    [{ regex: 'x(?:a|a)*b' }, 'it can take very long'],
    [{ regex: '.{0,80}.{0,80}x' }, 'it can take very long on a long text'],
    [{ regex: '(a)\\1x' }, 'it can take very long on a long text'],
    [{ other: 'x' }, 'it is neither a text, nor { glob }, nor { regex }'],
    [{ glob: 1 }, 'it is neither'],
  ])('is rejected in a line: %j: %s', (config, why) => {
    expect(reason(config)).toContain(why)
    expect(reason(config)).not.toContain('\n')
  })
})

test.each([
  [{ regex: 'rm\\s+-rf' }, 'rm '],
  [{ regex: 'rm\\s+-rf' }, ' '],
  [{ regex: '"[^"]*"x' }, '"'],
  [{ regex: '"[^"]*"x' }, '"a'],
  [{ regex: 'foo.{0,100}bar' }, 'foo'],
  [{ regex: 'x(?:,\\d+)*;' }, 'x,1'],
  [{ regex: 'sk-\\w+' }, 'sk-'],
  [{ glob: '*a*a*a*a*a*b' }, 'a'],
  [{ glob: '**/a/**/a/**/b' }, 'a/'],
  ['aaaaaaab', 'a'],
] as const)('is tried on a long text: %j on %j', (config, seed) => {
  const text = seed.repeat(Math.floor(400_000 / seed.length))
  expect(matches(config, text)).toBe(seed === 'sk-')
})

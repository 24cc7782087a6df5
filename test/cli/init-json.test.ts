import { describe, expect, test } from 'vitest'
import { editJson, whyNotEditable } from '../../src/cli/init/json-change.ts'
import { readJson5 } from '../../src/cli/init/json5.ts'
import { lineDiff } from '../../src/cli/init/line-diff.ts'
import fc from '../support/fast-check.ts'

const indent = fc.constantFrom(undefined, 1, 2, 4, '\t')
// As JSON has it, where -0 is 0; and `__proto__` is no name of an own property in a literal.
const value = fc
  .jsonValue({ maxDepth: 4 })
  .map((each): unknown => JSON.parse(JSON.stringify(each)))
  .filter(each => !JSON.stringify(each).includes('__proto__'))
const object = fc.dictionary(
  fc.string().filter(key => key !== '__proto__'),
  value,
)

describe('JSON and JSON5', () => {
  test('all JSON is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(value, indent, (original, space) => {
        const text = JSON.stringify(original, null, space)
        expect(readJson5(text).value).toEqual(JSON.parse(text))
      }),
    )
  })

  test.each([
    ["// c\n{ a: 'x', }", { a: 'x' }],
    ['{ $b_1: +1, "c": .5, d: 0xFF, e: Infinity, f: -2e3 }', { $b_1: 1, c: 0.5, d: 255, e: Infinity, f: -2000 }],
    ['[/* [ */ 1, /* ] */]', [1]],
    ['"http://x" // "', 'http://x'],
    ['"a\\\nb\\x41\\u0042\\\'"', "abAB'"],
    ['{ "a": 1, "a": 2 }', { a: 2 }],
  ])('%j', (text, expected) => {
    expect(readJson5(text).value).toEqual(expected)
  })

  test.each(['[1,,2]', '{,}', '{ a }', '{ a: }', '"a', "'a\nb'", '/* ', '{ a: b }', '[}', '1 /'])(
    '%j is neither',
    text => {
      expect(() => readJson5(text)).toThrow(/^line \d+, column \d+: expected /)
    },
  )
})

test('the place of a value is its line', () => {
  const { lineOf } = readJson5('// c\n{ a: 1,\n  b: [\n    2,\n    3] }')
  expect([[], ['a'], ['b'], ['b', 1], ['nowhere']].map(lineOf)).toEqual([2, 2, 3, 5, 1])
})

describe('an edit', () => {
  test('changes the value, and nothing else', () => {
    fc.assert(
      fc.property(object, indent, fc.constantFrom('\n', '\r\n'), (original, space, newline) => {
        const text = JSON.stringify(original, null, space).replaceAll('\n', newline)
        const isEmpty = Object.keys(original).length === 0
        const edited = editJson(text, [{ path: ['our plugin', 'paths'], value: ['x', { y: 1 }] }])
        const value = { ...original, 'our plugin': { paths: ['x', { y: 1 }] } }
        const whole = JSON.stringify(value, null, isEmpty ? 2 : space)
        expect(edited).toBe(isEmpty ? whole : whole.replaceAll('\n', newline))
        const removed = editJson(edited, [{ path: ['our plugin', 'paths'] }])
        expect(removed).toBe(isEmpty ? '{}' : text)
      }),
    )
  })

  test('of lists, one after another', () => {
    const edited = editJson('\uFEFF{\n "a": [1, 2],\n "b": []\n}\n\n', [
      { path: ['a', 2], value: 3 },
      { path: ['b', 0], value: { c: 1 } },
      { path: ['a', 0] },
      { path: ['a', 0], value: [] },
    ])
    expect(edited).toBe('\uFEFF{\n "a": [\n  [],\n  3\n ],\n "b": [\n  {\n   "c": 1\n  }\n ]\n}\n\n')
  })

  test.each([
    ['{ "a": 1, "a": 2 }', 'a name that is there twice'],
    ['{ "id": 12345678901234567890 }', 'a number that JavaScript does not have'],
    ['{ "a": 1.0 }', 'a number that is written otherwise'],
    ['{ "a": 1, }', 'JSON5'],
    ['{ "a": 1 } // b', 'a comment'],
  ])('of %s would lose something: %s', text => {
    expect(whyNotEditable(text)).toBeDefined()
  })

  test('loses nothing of other JSON', () => {
    const text = fc.tuple(object, indent).map(([value, space]) => JSON.stringify(value, null, space))
    fc.assert(fc.property(text, each => whyNotEditable(`\uFEFF ${each}\r\n`) === undefined))
    expect(whyNotEditable('{"a\\/b": "\\u0041 \\"  {"}')).toBeUndefined()
  })
})

describe('a difference', () => {
  test('rebuilds both sides', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', '{', '}'), { maxLength: 12 })
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const text = (each: string[]) => each.map(line => `${line}\n`).join('')
        const shown = lineDiff(text(before), text(after), false).split('\n').slice(0, -1)
        const side = (sign: string) => shown.filter(line => line.startsWith(sign)).length
        expect(side('+') - side('-')).toBe(after.length - before.length)
        expect(shown.length === 0).toBe(text(before) === text(after))
      }),
    )
  })

  test('shows what is near, and hides secrets', () => {
    const before = [
      '1',
      '2',
      '3',
      '  "apiKey": "se\\"cret",',
      '  "x": { "Authorization": "Bearer y" }',
      '6',
      '7',
      '8',
      '',
    ]
    const after = before.toSpliced(5, 1, 'six')
    expect(lineDiff(before.join('\n'), after.join('\n'), false)).toBe(
      '    "apiKey": "***",\n    "x": { "Authorization": "***" }\n- 6\n+ six\n  7\n  8\n',
    )
    expect(lineDiff('a\n', 'b\n', true)).toBe('\u001b[31m- a\u001b[39m\n\u001b[32m+ b\u001b[39m\n')
  })
})

import { describe, expect, test } from 'vitest'
import { editJson, readJson } from '../../src/cli/init/json-config.ts'
import { lineDiff, NotEditable } from '../../src/cli/init/plan.ts'
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
  test('reads all JSON like JSON.parse', () => {
    fc.assert(
      fc.property(value, indent, (original, space) => {
        const text = JSON.stringify(original, null, space)
        expect(readJson(text)).toEqual(JSON.parse(text))
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
  ])('reads %j', (text, expected) => {
    expect(readJson(text)).toEqual(expected)
  })

  test.each(['[1,,2]', '{,}', '{ a }', '{ a: }', '"a', "'a\nb'", '/* ', '{ a: b }', '[}', '1 /'])(
    'rejects %j',
    text => {
      expect(() => readJson(text)).toThrow(/^line \d+, column \d+: invalid /)
    },
  )
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

  test('changes lists one after another', () => {
    const edited = editJson('\uFEFF{\n "a": [1, 2],\n "b": []\n}\n\n', [
      { path: ['a', 2], value: 3 },
      { path: ['b', 0], value: { c: 1 } },
      { path: ['a', 0] },
      { path: ['a', 0], value: [] },
    ])
    expect(edited).toBe('\uFEFF{\n "a": [[], 3],\n "b": [\n  {\n   "c": 1\n  }\n ]\n}\n\n')
  })

  test.each([
    ['{ "id": 12345678901234567890, "b": 1.0 }', '{ "id": 12345678901234567890, "b": 1.0,"x":{"y":[1]} }'],
    ['// c\n{\n  "a": 1, // of a\n}\n', '// c\n{\n  "a": 1, // of a\n  "x": {\n    "y": [\n      1\n    ]\n  },\n}\n'],
    ['{\n  "a": 1 // of a\n}', '{\n  "a": 1, // of a\n  "x": {\n    "y": [\n      1\n    ]\n  }\n}'],
    ['{/* none */ }', '{"x":{"y":[1]}/* none */ }'],
    ['{\n  "a\\/b": [1,  2]\n}', '{\n  "a\\/b": [1,  2],\n  "x": {\n    "y": [\n      1\n    ]\n  }\n}'],
  ])('keeps numbers, spaces and comments of %j, and so does taking it out', (text, expected) => {
    const edited = editJson(text, [{ path: ['x', 'y'], value: [1] }])
    expect(edited).toBe(expected)
    expect(editJson(edited, [{ path: ['x', 'y'] }])).toBe(text)
  })

  test('removes a member, and leaves foreign comments', () => {
    const text = '{\n  // of a\n  "a": [1, 2, 3], // end\n  // of b\n  "b": 2\n}\n'
    expect(editJson(text, [{ path: ['b'] }])).toBe('{\n  // of a\n  "a": [1, 2, 3] // end\n  // of b\n}\n')
    expect(editJson(text, [{ path: ['a', 1] }])).toBe(text.replace('2, 3', '3'))
    expect(editJson(text, [{ path: ['a', 2] }])).toBe(text.replace(', 3', ''))
    expect(editJson(text, [{ path: ['a'] }])).toBe('{\n  // of a\n  // end\n  // of b\n  "b": 2\n}\n')
  })

  test.each([
    ['{ "x": 1, "x": { "y": 0 } }', 'a name that is there twice'],
    ["{ 'a': 1 }", 'JSON5'],
    ['{ a: 1 }', 'JSON5'],
  ])('rejects %s: %s', text => {
    expect(() => editJson(text, [{ path: ['x', 'y'], value: 2 }])).toThrow(NotEditable)
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

  test('names lists that equal an earlier one', () => {
    const hooks = (...names: string[]) => Object.fromEntries(names.map(name => [name, [{ a: name === 'X' ? 2 : 1 }]]))
    const text = (value: object) => `${JSON.stringify({ hooks: value }, null, 2)}\n`
    const all = text(hooks('A', 'B', 'X', 'C', 'D'))
    expect(lineDiff(text({}), all, false)).toBe(
      [
        '  {',
        '-   "hooks": {}',
        '+   "hooks": {',
        ...['+     "A": [', '+       {', '+         "a": 1', '+       }', '+     ],', '+     … the same as A: B'],
        ...['+     "X": [', '+       {', '+         "a": 2', '+       }', '+     ],', '+     … the same as A: C, D'],
        ...['+   }', '  }', ''],
      ].join('\n'),
    )
    expect(lineDiff(text(hooks('A')), text(hooks('A', 'B', 'C')), false)).toContain('+     … the same as B: C\n')
    expect(lineDiff(all, text({}), false)).toContain('-     … the same as A: C, D\n')
  })

  test('is readable if the file is JSON on one line', () => {
    expect(lineDiff('{"a":1,"b":[1]}', '{"a":1,"b":[1,2]}\n', false)).toBe(
      '    "a": 1,\n    "b": [\n-     1\n+     1,\n+     2\n    ]\n  }\n',
    )
  })

  test('shows the neighbourhood, and hides secrets', () => {
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

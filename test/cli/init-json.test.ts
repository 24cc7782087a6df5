import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { editJson } from '../../src/cli/init/json-edit.ts'
import { type JsonNode, parseJson5 } from '../../src/cli/init/json5-document.ts'
import { lineDiff } from '../../src/cli/init/line-diff.ts'

function plain(node: JsonNode): unknown {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'array') return node.items.map(plain)
  return Object.fromEntries(node.items.map(({ key, value }) => [key, plain(value)]))
}

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
        expect(plain(parseJson5(text))).toEqual(JSON.parse(text))
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
    expect(plain(parseJson5(text))).toEqual(expected)
  })

  test.each(['[1,,2]', '{,}', '{ a }', '{ a: }', '"a', "'a\nb'", '/* ', '{ a: b }', '[}', '1 /'])(
    '%j is neither',
    text => {
      expect(() => parseJson5(text)).toThrow(/^line \d+, column \d+: expected /)
    },
  )
})

describe('an edit', () => {
  test('changes the value, and nothing else', () => {
    fc.assert(
      fc.property(object, indent, fc.constantFrom('\n', '\r\n'), (original, space, newline) => {
        const text = JSON.stringify(original, null, space).replaceAll('\n', newline)
        const edited = editJson(text, [{ kind: 'set', path: ['our plugin', 'paths'], value: ['x', { y: 1 }] }])
        expect(JSON.parse(edited)).toEqual({ ...original, 'our plugin': { paths: ['x', { y: 1 }] } })
        const isEmpty = Object.keys(original).length === 0
        if (typeof space === 'number' && !isEmpty) {
          expect(edited).toBe(JSON.stringify(JSON.parse(edited), null, space).replaceAll('\n', newline))
        }
        const removed = editJson(edited, [{ kind: 'remove', path: ['our plugin', 'paths'] }])
        expect(removed).toBe(isEmpty ? '{}' : text)
      }),
    )
  })

  test('of a list', () => {
    const text = '{\n  "a": [1, 2],\n  "b": []\n}'
    const edited = editJson(text, [
      { kind: 'add', path: ['a'], value: 3 },
      { kind: 'add', path: ['b'], value: { c: 1 } },
      { kind: 'remove', path: ['a', 0] },
      { kind: 'set', path: ['a', 0], value: [] },
    ])
    expect(edited).toBe('{\n  "a": [[], 3],\n  "b": [\n    {\n      "c": 1\n    }\n  ]\n}')
  })

  test('in one line stays in one line', () => {
    const add = { kind: 'set', path: ['b', 'c'], value: [1, 2] } as const
    expect(editJson('{"a":1}', [add])).toBe('{"a":1,"b":{"c":[1,2]}}')
    expect(editJson('{"a": 1, "d": 2}\n', [add])).toBe('{"a": 1, "d": 2, "b": { "c": [ 1, 2 ] }}\n')
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

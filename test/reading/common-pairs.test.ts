import { describe, expect, test } from 'vitest'
import { argumentLines, argumentTexts, diffLines } from '../../src/reading/argument-lines.ts'
import { commonPairs } from '../../src/reading/common-pairs.ts'
import fc from '../support/fast-check.ts'

/** The plain table, as a judge. */
function longest(a: readonly string[], b: readonly string[]): number {
  let row = new Array<number>(b.length + 1).fill(0)
  for (const entry of a) {
    const next = [0]
    for (const [index, other] of b.entries()) {
      next.push(entry === other ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

const list = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 14 })

describe('the common elements of two lists', () => {
  test('is as long as it can be', () => {
    fc.assert(
      fc.property(list, list, (a, b) => {
        expect(commonPairs(a, b)).toHaveLength(longest(a, b))
      }),
    )
  })

  test('is equal, and in order, however little is looked at', () => {
    fc.assert(
      fc.property(list, list, fc.integer({ min: 1, max: 6 }), (a, b, mostEdits) => {
        let [lastA, lastB] = [-1, -1]
        for (const [inA, inB] of commonPairs(a, b, mostEdits)) {
          expect(a[inA]).toBe(b[inB])
          expect(inA).toBeGreaterThan(lastA)
          expect(inB).toBeGreaterThan(lastB)
          lastA = inA
          lastB = inB
        }
        expect(lastA).toBeLessThan(a.length)
        expect(lastB).toBeLessThan(b.length)
      }),
    )
  })

  test('needs no table of all pairs for lists that share nothing', () => {
    const numbered = (word: string): string[] => Array.from({ length: 100_000 }, (_, index) => word + index)
    expect(commonPairs(numbered('a'), numbered('b'), 50)).toEqual([])
    expect(commonPairs([...numbered('a'), 'end'], [...numbered('a'), 'other'], 50)).toHaveLength(100_000)
  })
})

describe('the lines of arguments', () => {
  test('has one for each value, whatever the order of keys', () => {
    expect(argumentLines('{"path":"a.ts","edit":{"old":"x\\ny","new":""},"list":[1,{"k":true}],"none":{}}')).toEqual([
      'edit:',
      '  new: ""',
      '  old:',
      '    x',
      '    y',
      'list:',
      '  - 1',
      '  -',
      '    k: true',
      'none: {}',
      'path: "a.ts"',
    ])
    expect(argumentLines('{"b":1,"a":2}')).toEqual(argumentLines('{"a":2,"b":1}'))
  })

  test("has the text's lines for arguments that are no JSON", () => {
    expect(argumentLines('npm test\n-- login')).toEqual(['npm test', '-- login'])
    expect(argumentLines('')).toEqual([])
  })

  test('terminates at any depth and length', () => {
    expect(argumentLines(`${'['.repeat(50_000)}${']'.repeat(50_000)}`).length).toBeLessThan(100)
    expect(argumentLines(JSON.stringify(Array.from({ length: 30_000 }, (_, index) => index)))).toHaveLength(2_001)
    expect(argumentTexts(`${'['.repeat(50_000)}"a"${']'.repeat(50_000)}`)).toBe('a')
  })

  test('shows the same texts under other names', () => {
    expect(argumentTexts('{"cmd":"npm test"}')).toBe(argumentTexts('{"command":"npm test","timeout":10}'))
  })

  test('shows differences by lines, each beside its replacement', () => {
    const lines = diffLines(argumentLines('{"path":"a.ts","n":1}'), argumentLines('{"path":"b.ts","n":1,"z":0}'))
    expect(lines.map(({ sign, text }) => sign + text)).toEqual([' n: 1', '-path: "a.ts"', '+path: "b.ts"', '+z: 0'])
  })
})

import { describe, expect, it } from 'vitest'
import { closeJson } from '../../src/content/json-text.ts'
import fc from '../support/fast-check.ts'
import { times } from '../support/sample.ts'

const caps = fc.integer({ min: 2, max: 5000 })

describe('the head of a JSON text', () => {
  it('becomes valid JSON at any cut', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5 }),
        fc.nat(),
        caps,
        fc.constantFrom(undefined, 2),
        (value, cut, cap, indentation) => {
          const text = JSON.stringify(value, undefined, indentation)
          const prefix = text.slice(0, 1 + (cut % text.length))
          const closed = closeJson(prefix, cap)
          expect(closed?.length).toBeLessThanOrEqual(cap)
          JSON.parse(closed ?? '')
        },
      ),
      { numRuns: times(300, 2000) },
    )
  })

  it('is the same JSON when it is whole', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), value => {
        expect(closeJson(JSON.stringify(value, undefined, 2), 100_000)).toBe(JSON.stringify(value))
      }),
    )
  })

  it.each([
    ['{"a":"hello wor', '{"a":"hello wor..."}'],
    ['{"a":1,"b":[1,2,{"c":tr', '{"a":1,"b":[1,2,{}]}'],
    ['{"a":12', '{}'],
    ['{"a":"x\\', '{"a":"x..."}'],
    ['{"a":"x\\u00', '{"a":"x..."}'],
    ['{"status":"ok","out', '{"status":"ok"}'],
    ['{"status":"ok",', '{"status":"ok"}'],
    ['  [1 , 2', '[1]'],
    ['[', '[]'],
    ['{"n":12345678901234567890,"e":1.50e+10,"x":0}', '{"n":12345678901234567890,"e":1.50e+10,"x":0}'],
  ])('closes %j to %j', (prefix, closed) => {
    expect(closeJson(prefix, 100)).toBe(closed)
  })

  it.each([
    ...[
      '',
      '  ',
      'hello',
      '[INFO] started',
      '{foo: 1}',
      "{'a': 1}",
      '[1] footnote',
      '{"a":1} {"b":2}',
      '{"a" 1}',
      '[1 2]',
    ],
    ...['{"a":01}', '[truth]', '{"a":"line\nbreak"}', '{"a":"\\x"}', '{,}', '[,1]', '}', '{"a":1]', '<html>'],
  ])('rejects %j', text => {
    expect(closeJson(text, 100)).toBeUndefined()
  })

  it('survives deep nesting', () => {
    const closed = closeJson('['.repeat(100_000), 50_000) ?? ''
    expect(closed).toBe('['.repeat(25_000) + ']'.repeat(25_000))
  })
})

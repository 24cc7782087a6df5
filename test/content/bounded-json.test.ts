import { describe, expect, it } from 'vitest'
import { boundedJson } from '../../src/content/bounded-json.ts'
import { keepAll, wellFormed } from '../../src/content/clip.ts'
import { createRedactor } from '../../src/content/redaction.ts'
import fc from '../support/fast-check.ts'
import { times } from '../support/sample.ts'
import { HOSTILE_VALUES } from './hostile-values.ts'

const redact = createRedactor({ enabled: true, patterns: [] })
const caps = fc.integer({ min: 2, max: 5000 })

function jsonOf(value: unknown, maxChars = 5000): unknown {
  const json = boundedJson(value, maxChars, keepAll)
  return json && JSON.parse(json.text)
}

describe('JSON of a value', () => {
  it.each(HOSTILE_VALUES)('survives $what at any length', ({ make }) => {
    for (const cap of [2, 3, 5, 8, 13, 40, 100, 1200, 5000]) {
      const json = boundedJson(make(), cap, redact)
      expect(json).toBeDefined()
      expect(json?.text.length).toBeLessThanOrEqual(cap)
      expect(() => JSON.parse(json?.text ?? '')).not.toThrow()
      expect(wellFormed(json?.text ?? '')).toBe(json?.text)
    }
  })

  it('is valid and short enough for anything', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true }),
        caps,
        (value, cap) => {
          const json = boundedJson(value, cap, redact)
          if (json === undefined) expect(['undefined', 'function', 'symbol']).toContain(typeof value)
          else {
            JSON.parse(json.text)
            expect(json.text.length).toBeLessThanOrEqual(cap)
          }
        },
      ),
      { numRuns: times(200, 1000) },
    )
  })

  it('equals JSON.stringify if there is room', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), value => {
        const text = JSON.stringify(value)
        expect(boundedJson(value, text.length, keepAll, () => false)).toEqual({ text, truncated: false })
      }),
    )
  })

  it('is cut and marked if there is not', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), caps, (value, cap) => {
        const whole = JSON.stringify(value)
        const json = boundedJson(value, cap, keepAll, () => false)
        expect(json?.truncated).toBe(whole.length > cap)
      }),
    )
  })

  it('ends a cut text with an ellipsis and closes open brackets', () => {
    expect(boundedJson({ a: [{ command: 'git log --oneline' }] }, 30, keepAll)).toEqual({
      text: '{"a":[{"command":"git l..."}]}',
      truncated: true,
    })
  })

  it('drops a value whole if it does not fit', () => {
    expect(boundedJson([1, 22, 333, 4444], 12, keepAll)).toEqual({ text: '[1,22,333]', truncated: true })
    expect(boundedJson({ a: 1, bcdefgh: 2 }, 12, keepAll)).toEqual({ text: '{"a":1}', truncated: true })
    expect(boundedJson(12345, 3, keepAll)).toEqual({ text: '""', truncated: true })
  })

  it('never cuts an escape or a pair in two', () => {
    for (let cap = 5; cap < 40; cap++) {
      const text = JSON.parse(boundedJson('\\"\n\u0001😀\\\\😀"', cap, keepAll)?.text ?? '') as string
      expect('\\"\n\u0001😀\\\\😀"'.startsWith(text.replace(/\.\.\.$/, ''))).toBe(true)
    }
  })
})

describe('forms', () => {
  it.each([
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an invalid date', new Date(Number.NaN), null],
    [
      'a Map',
      new Map<unknown, unknown>([
        ['a', 1],
        [2, 'b'],
      ]),
      { a: 1, 2: 'b' },
    ],
    ['a Set', new Set([1, 'a']), [1, 'a']],
    ['a Buffer', { file: Buffer.alloc(5) }, { file: '<5 bytes>' }],
    ['a typed array', new Uint16Array(3), '<6 bytes>'],
    ['an error', new RangeError('too far'), { name: 'RangeError', message: 'too far' }],
    ['a BigInt', 12345678901234567890n, '12345678901234567890'],
    ['a huge BigInt', 10n ** 1000n, '[BigInt]'],
    ['functions in an array', [() => 1, 2], [null, 2]],
    ['functions in an object', { a: () => 1, b: 2 }, { b: 2 }],
    ['toJSON', { toJSON: () => ({ a: 1 }) }, { a: 1 }],
    ['lone surrogates', 'a\ud800b', 'a\ufffdb'],
    ['inherited properties', Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true } }), { own: 1 }],
  ])('writes %s', (_, value, expected) => {
    expect(jsonOf(value)).toEqual(expected)
  })

  it('marks an unreadable value and keeps the rest', () => {
    const value = {
      a: 1,
      bad: new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('no')
          },
        },
      ),
      z: 2,
    }
    Object.defineProperty(value, 'worse', {
      enumerable: true,
      get: () => {
        throw new Error('no')
      },
    })
    expect(jsonOf(value)).toEqual({ a: 1, bad: '[Unreadable]', z: 2, worse: '[Unreadable]' })
  })

  it('names a cycle, and writes a value that merely occurs twice', () => {
    const shared = { x: 1 }
    const loop: Record<string, unknown> = { shared, again: shared }
    loop['self'] = loop
    expect(jsonOf(loop)).toEqual({ shared: { x: 1 }, again: { x: 1 }, self: '[Circular]' })
  })

  it('writes an own __proto__ as the property that it is', () => {
    expect(boundedJson(JSON.parse('{"__proto__":{"a":1}}'), 100, keepAll)?.text).toBe('{"__proto__":{"a":1}}')
  })

  it.each([[undefined], [() => 1], [Symbol('s')]])('is undefined for %s', value => {
    expect(boundedJson(value, 100, keepAll)).toBeUndefined()
  })

  it('is undefined where not even an empty string fits', () => {
    expect(boundedJson({ a: 1 }, 1, keepAll)).toBeUndefined()
    expect(boundedJson({ a: 1 }, 0, keepAll)).toBeUndefined()
  })
})

describe('secrets', () => {
  it('masks any value under a secret name', () => {
    const value = { password: 1234, token: ['a'], auth: { user: 'b' }, apiKey: 12n, max_tokens: 5, session_id: 's' }
    expect(jsonOf(value)).toEqual({
      password: '[REDACTED]',
      token: '[REDACTED]',
      auth: '[REDACTED]',
      apiKey: '[REDACTED]',
      max_tokens: 5,
      session_id: 's',
    })
  })

  it('shows an absent secret', () => {
    expect(jsonOf({ password: null, token: '', auth: false })).toEqual({ password: null, token: '', auth: false })
  })

  it('shows an empty value', () => {
    const value = { cookies: [], credentials: {}, password: new Map([['a', 1]]), secrets: [1] }
    expect(jsonOf(value)).toEqual({ cookies: [], credentials: {}, password: '[REDACTED]', secrets: '[REDACTED]' })
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    expect(jsonOf({ password: revoked.proxy, a: 1 })).toEqual({ password: '[REDACTED]', a: 1 })
  })

  it('masks secrets that their neighbours identify', () => {
    const masked = (value: unknown): unknown => JSON.parse(boundedJson(value, 5000, redact)?.text ?? '')
    expect(masked(['curl', '-u', 'bob:my pass', 'https://x'])).toEqual(['curl', '-u', '[REDACTED]', 'https://x'])
    expect(masked(['mysql', '-phunter2', 'shop'])).toEqual(['mysql', '[REDACTED]', 'shop'])
    expect(masked(['deploy', '--token', 'abcdef', '--dry-run'])).toEqual([
      'deploy',
      '--token',
      '[REDACTED]',
      '--dry-run',
    ])
    expect(
      masked({
        headers: [
          ['Authorization', 'SSWS abc'],
          ['Accept', '*/*'],
        ],
      }),
    ).toEqual({
      headers: [
        ['Authorization', '[REDACTED]'],
        ['Accept', '*/*'],
      ],
    })
    expect(masked(['Host', 'x', 'Authorization', 'SSWS abc', 'Accept', '*/*'])).toEqual([
      'Host',
      'x',
      'Authorization',
      '[REDACTED]',
      'Accept',
      '*/*',
    ])
    expect(
      masked([
        { name: 'DB_PASSWORD', value: 'x' },
        { name: 'PORT', value: '1' },
      ]),
    ).toEqual([
      { name: 'DB_PASSWORD', value: '[REDACTED]' },
      { name: 'PORT', value: '1' },
    ])
  })

  it('masks nothing by neighbours if masking is off', () => {
    const value = { headers: [['Authorization', 'SSWS abc']], variables: [{ name: 'DB_PASSWORD', value: 'x' }] }
    expect(boundedJson(value, 5000, keepAll, () => false)?.text).toBe(JSON.stringify(value))
  })

  it('masks in a Map, too', () => {
    expect(jsonOf(new Map([['password', 'x']]))).toEqual({ password: '[REDACTED]' })
  })

  it('masks secrets in keys', () => {
    const key = `ghp_${'a1B2'.repeat(9)}`
    expect(boundedJson({ [key]: 1 }, 100, redact)?.text).toBe('{"[REDACTED]":1}')
  })

  it('masks a secret that is cut', () => {
    const secret = `ghp_${'a1B2'.repeat(9)}`
    for (let cap = 10; cap < 90; cap++) {
      const text = boundedJson({ command: `echo ${secret} | sh`, after: secret }, cap, redact)?.text ?? ''
      expect(text).not.toContain('ghp_a1B2')
    }
  })
})

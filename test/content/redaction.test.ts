import { describe, expect, it } from 'vitest'
import { keepAll } from '../../src/content/clip.ts'
import { createRedactor } from '../../src/content/redaction.ts'
import fc from '../support/fast-check.ts'
import { SAMPLED, sample, times } from '../support/sample.ts'
import { INNOCENTS } from './look-alikes.ts'
import { SECRETS } from './redaction-corpus.ts'
import { allThatIsSaid, PLACEMENTS } from './secret-placements.ts'

const redact = createRedactor({ enabled: true, patterns: [] })

describe('secrets', () => {
  it.each(SECRETS)('masks $what and keeps its surroundings', ({ before, secret, after, masked }) => {
    expect(redact(before + secret + after)).toBe(masked ?? `${before}[REDACTED]${after}`)
  })

  it.each(SECRETS)('masks $what inside a JSON string', ({ before, secret, after, masked }) => {
    const text = JSON.stringify({ command: before + secret + after, n: 1 })
    const parsed = JSON.parse(redact(text)) as { command: string; n: number }
    expect(parsed.n).toBe(1)
    expect(parsed.command).not.toContain(secret)
    if (masked === undefined) expect(parsed.command).toContain('[REDACTED]')
  })

  it('masks each of several', () => {
    const all = SECRETS.map(({ before, secret, after }) => before + secret + after)
    const masked = redact(all.join('\n\n'))
    for (const { secret, what } of SECRETS.filter(each => each.secret.length > 5))
      expect(masked, what).not.toContain(secret)
  })

  it('is idempotent', () => {
    const pieces = [...SECRETS.map(({ before, secret, after }) => before + secret + after), ...INNOCENTS]
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...pieces), { maxLength: 4 }),
        fc.constantFrom(' ', '\n', ', '),
        (some, glue) => {
          const once = redact(some.join(glue))
          expect(redact(once)).toBe(once)
        },
      ),
      {
        examples: [
          // The mask is shorter than the password, and brings `-b` within reach of `curl`.
          [[`curl -H 'Authorization: Custom ${'Zh4Macv8'.repeat(6)}' ${'x'.repeat(130)}`, 'ldapsearch -b dc=a'], ' '],
        ],
      },
    )
  })

  it('does not mask punctuation between two arguments', () => {
    expect(redact(`run(['mysql', '-p', 'shop'])`)).toBe(`run(['mysql', '-p', 'shop'])`)
    expect(redact(`mysql -p shop; run(['sshpass', '-p', 'hunter2x'])`)).toBe(
      `mysql -p shop; run(['sshpass', '-p', '[REDACTED]'])`,
    )
  })
})

describe('innocent look-alikes', () => {
  it('has as many look-alikes as promised', () => {
    expect(new Set(INNOCENTS).size).toBeGreaterThanOrEqual(130)
  })

  it.each(INNOCENTS.map(text => [text]))('leaves %j alone', text => {
    expect(redact(text)).toBe(text)
  })

  it.each(INNOCENTS.map(text => [text]))('leaves %j alone inside JSON', text => {
    const json = JSON.stringify({ text })
    expect(redact(json)).toBe(json)
    const inner = JSON.stringify({ arguments: json })
    expect(redact(inner)).toBe(inner)
  })

  it.each(sample(INNOCENTS, 25).map(text => [text]))(`leaves %j alone in any input of an agent, ${SAMPLED}`, text => {
    // What ends with a sign would be given a value by what stands behind it.
    const places = /[:=|：＝]\s*$/.test(text) ? PLACEMENTS.filter(({ what }) => /JSON|argument/.test(what)) : PLACEMENTS
    for (const { what, place } of places) {
      const masked = allThatIsSaid(place(text), 'full').filter(each => each.includes('[REDACTED]'))
      expect(masked, what).toEqual([])
    }
  })
})

describe('JSON', () => {
  const fragment = fc.constantFrom(
    ...[
      'password',
      'token',
      'api_key',
      ': ',
      ':',
      '=',
      '"',
      "'",
      '`',
      '\\',
      '{',
      '}',
      '[',
      ']',
      ',',
      ' ',
      '\n',
      '-----BEGIN PRIVATE KEY-----',
    ],
    ...[
      'hunter2',
      'Bearer ',
      'abcdef1234567890abcdef',
      'postgres://u:',
      'p@h/',
      'Cookie: a=',
      '; ',
      '--password ',
      '%',
      '&',
      '\u2028',
    ],
  )
  const text = fc.array(fragment, { maxLength: 12 }).map(parts => parts.join(''))
  const key = fc.oneof(text, fc.constantFrom('password', 'apiKey', 'token', 'auth', 'name', 'max_tokens'))
  const json = fc.letrec(tie => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      text.map(inner => JSON.stringify({ password: inner, note: inner })),
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    ),
  })).value

  it.each([undefined, 2])('stays JSON (indentation %s)', indentation => {
    fc.assert(
      fc.property(json, value => {
        JSON.parse(redact(JSON.stringify(value, undefined, indentation)))
      }),
      { numRuns: times(100, 500) },
    )
  })
})

describe('own patterns', () => {
  it('masks their matches', () => {
    const own = createRedactor({ enabled: true, patterns: [/EMP-\d{6}/gu, /case \w+/gu] })
    expect(own('EMP-123456 and EMP-1 in case alpha, password=x')).toBe(
      '[REDACTED] and EMP-1 in [REDACTED], password=[REDACTED]',
    )
  })

  it('finds every match in a long text, even across pieces', () => {
    const own = createRedactor({ enabled: true, patterns: [/EMP-\d{6}/gu] })
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 9000 }), { maxLength: 6 }), gaps => {
        const text = gaps.map(gap => `${'. '.repeat(gap / 2)}EMP-123456`).join('')
        expect(own(text)).toBe(text.replaceAll('EMP-123456', '[REDACTED]'))
      }),
    )
  })

  it('terminates even with an unchecked pattern', () => {
    expect(createRedactor({ enabled: true, patterns: [/x*/g] })('axb')).toContain('b')
  })

  it('does nothing at all when redaction is off', () => {
    expect(createRedactor({ enabled: false, patterns: [/./g] })).toBe(keepAll)
  })
})

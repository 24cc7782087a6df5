import { expect, test } from 'vitest'
import { sinceAt } from '../../src/cli/option-values.ts'

const NOW = Date.parse('2026-11-22T17:00:00Z')

test.each([
  ['90s', '2026-11-22T16:58:30Z'],
  ['30m', '2026-11-22T16:30:00Z'],
  ['2h', '2026-11-22T15:00:00Z'],
  ['1.5h', '2026-11-22T15:30:00Z'],
  ['7d', '2026-11-15T17:00:00Z'],
  ['1w', '2026-11-15T17:00:00Z'],
  ['2026-11-20', '2026-11-20T00:00:00Z'],
  ['2026-11-20T10:15', '2026-11-20T10:15:00Z'],
  ['2026-11-20T10:15:30.5Z', '2026-11-20T10:15:30.5Z'],
  ['2026-11-20T10:15:30+02:00', '2026-11-20T08:15:30Z'],
  ['2026-11-20 10:15:30 UTC', '2026-11-20T10:15:30Z'],
])('parses %s as %s', (text, instant) => {
  expect(new Date(sinceAt(text, NOW)).toISOString()).toBe(new Date(instant).toISOString())
})

test.each(['', 'yesterday', '2', 'h', '-2h', '2 hours', '2026-13-01', '2026-11-20T25:00', '20261120'])(
  'rejects %j',
  text => {
    expect(() => sinceAt(text, NOW)).toThrow(
      `--since takes an age such as 30m, 2h or 7d, or a time such as 2026-11-22T17:00, got ${JSON.stringify(text)}`,
    )
  },
)

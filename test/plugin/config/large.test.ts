/** A file that is no configuration does not hold the start: what is too much is told from it in one line. */
import { expect, test } from 'vitest'
import { createTestPlugin } from '../../../src/testing.ts'
import { SAMPLED, sample, times } from '../../support/sample.ts'
import { messages, resolved } from './scratch-home.ts'

const many = (count: number, piece: (index: number) => string, joint = '\n'): string =>
  Array.from({ length: count }, (_, index) => piece(index)).join(joint)

/** The lines, without the directory of the test. */
function said(yaml: string): string[] {
  return messages(resolved({ yaml })).map(line => line.replace(/\/\S*\//, ''))
}

// Each of these took from ten seconds to minutes.
const LARGE: [string, string, string][] = [
  ['aliases', `a: &x 1\nb: [${many(150_000, () => '*x', ',')}]`, 'it has more than 100 aliases (*name)'],
  [
    'a bomb of aliases',
    `a: &a [${many(20, () => 'x', ',')}]\nb: [${many(101, () => '*a', ',')}]`,
    'it has more than 100',
  ],
  ['unknown keys', many(60_000, index => `key${index}: 1`), 'it has far more keys and values than'],
  ['backends', `backends:\n${many(20_000, () => '  - {typo: phoenix}')}`, 'it has far more keys and values than'],
  ['commas', `[${','.repeat(1_000_000)}]`, 'it has far more keys and values than'],
  ['documents', '{}\n'.repeat(300_000), 'it has far more keys and values than'],
  ['comments', '#\n'.repeat(400_000), 'it has far more keys and values than'],
  ['tags', `a: [${many(100_000, index => `!t${index} 1`, ',')}]`, 'it has far more keys and values than'],
  [
    'below a long key',
    `? ${'k'.repeat(500_000)}\n: {${many(1000, index => `a${index}: 1`, ',')}}`,
    'a key is longer than 200',
  ],
]

test.each(sample(LARGE, 3))(`survives %s, ${SAMPLED}`, (_, yaml, fault) => {
  const lines = said(yaml)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/^config: config\.yaml: .*; no file is read, and no content is captured$/)
  expect(lines[0]).toContain(fault)
})

test('resolves a hundred aliases, nested ones too, and terminates at a bomb of them', () => {
  const level = (index: number): string =>
    `k${index}: &k${index} [${many(9, () => (index > 0 ? `*k${index - 1}` : 'x'), ',')}]`
  const yaml = `debug: true\n${many(9, level)}`
  const { config } = resolved({ yaml })
  expect(config.debug).toBe(true)
  const headers = 'a: &h {x-one: "1"}\nbackends: [{type: phoenix, headers: *h}, {type: jaeger, headers: *h}]'
  expect(resolved({ yaml: headers }).config.backends.map(backend => backend.headers)).toEqual([
    { 'x-one': '1' },
    { 'x-one': '1' },
  ])
})

test('reports fifty of thousands of unknown keys, counts the others, and keeps an error among them', () => {
  const lines = said(`${many(2000, index => `sample_rat${index}: 1`)}\nlog_flush_ms: soon`)
  expect(lines.filter(line => line.includes('there is no such key'))).toHaveLength(50)
  expect(lines).toContain('config: and 1950 more warnings')
  expect(lines.some(line => line.startsWith('config: log_flush_ms: expected a number'))).toBe(true)
  expect(lines).toHaveLength(52)
})

test('uses the first of more than 32 backends', () => {
  for (const yaml of [
    `backends:\n${many(2000, () => '  - {type: phoenix}')}`,
    `backends: ${many(2000, () => 'phoenix', ',')}`,
  ]) {
    const resolution = resolved({ yaml })
    expect(resolution.config.backends).toHaveLength(32)
    expect(new Set(resolution.config.backends.map(({ name }) => name)).size).toBe(32)
    expect(messages(resolution)).toEqual(['config: backends: there are 2000 (config.yaml line 1); using the first 32'])
  }
})

test('rejects duplicate keys anywhere', () => {
  expect(said('backends:\n  - type: phoenix\n    type: jaeger')).toEqual([
    'config: config.yaml: the same key is there twice (line 3, column 5); no file is read, and no content is captured',
  ])
})

test('limits own patterns in total, and reports in a few lines', () => {
  const long = `EMP-${'x'.repeat(1900)}`
  const tooMany = createTestPlugin({ redact_patterns: Array.from({ length: 30 }, () => long) })
  expect(tooMany.reported).toEqual([
    'config: redact_patterns: 20 of 30 are left out: together they may have 20000 characters',
  ])
  const count = times(100, 1000)
  const wrong = createTestPlugin({ redact_patterns: Array.from({ length: count }, () => '(a+)+') })
  expect(wrong.reported).toHaveLength(21)
  expect(wrong.reported.at(-1)).toBe(`config: redact_patterns: and ${count - 20} more are left out`)
})

test('names an own pattern that does not compile by its place, without its text', () => {
  const { reported } = createTestPlugin({ redact_patterns: ['EMP-1', 'ACME-7731('] })
  expect(reported).toEqual([
    'config: redact_patterns[1] is left out: it is not a valid regular expression (unterminated group)',
  ])
})

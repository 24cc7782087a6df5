import { expect, test } from 'vitest'
import { nearestName } from '../../../src/plugin/config/nearest.ts'

const KNOWN = ['sample_rate', 'redact', 'debug', 'delegation', 'type']

test.each([
  ['sampel_rate', 'sample_rate'],
  ['sampleRate', 'sample_rate'],
  ['SAMPLE-RATE', 'sample_rate'],
  ['samplerates', 'sample_rate'],
  ['redcat', 'redact'],
  ['tpye', 'type'],
  ['delegations', 'delegation'],
  ['rate', undefined],
  ['x', undefined],
  ['', undefined],
  ['headers', undefined],
  [`debug${'x'.repeat(100_000)}`, undefined],
])('suggests for %s: %s', (unknown, meant) => {
  expect(nearestName(unknown, KNOWN)).toBe(meant)
})

import { expect } from 'vitest'
import type { MetricKey } from '../../src/contract/semconv/index.ts'
import { SERIES } from './prometheus-names.ts'
import { references } from './promql-references.ts'

/**
 * Every selector names the same part of one instrument by every spelling that it has, and uses only labels that it has.
 *
 * @returns the instruments that the expression reads
 */
export function expectExpression(expression: string): MetricKey[] {
  const found = references(expression)
  expect(found, expression).not.toEqual([])
  return found.map(({ names, labels, text }) => {
    const matched = SERIES.filter(({ name }) => names.test(name))
    const [first] = matched
    expect(first, `${text} is no metric of ours`).toBeDefined()
    const spellings = SERIES.filter(({ key, part }) => key === first?.key && part === first.part)
    expect(matched, `${text} misses a spelling, or is two metrics`).toEqual(spellings)
    for (const label of labels) expect(first?.labels, `${text} has no label ${label}`).toContain(label)
    return first?.key as MetricKey
  })
}

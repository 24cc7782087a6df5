import { expect, test } from 'vitest'
import { references } from './promql-references.ts'

test('finds plain and matched names, and the labels of all aggregations around them', () => {
  const found = references(
    'histogram_quantile(0.9, sum by (le, model) (rate({__name__=~"a(_s)?_bucket", job=~"x|y(z)"}[5m]))) / sum(b_total)',
  )
  expect(found.map(({ text, labels }) => [text, labels])).toEqual([
    ['{__name__=~"a(_s)?_bucket",job=~"x|y(z)"}', ['job', 'le', 'model']],
    ['b_total', []],
  ])
  expect(found[0]?.names.test('a_s_bucket')).toBe(true)
  expect(found[0]?.names.test('aa_bucket')).toBe(false)
})

test('finds no metrics in words of the language, numbers and offsets', () => {
  const found = references('sum by (job) (a{x!="1"} unless a offset 30m) > 0 or vector(0) and b_total >= 1e3')
  expect(found.map(({ text, labels }) => [text, labels])).toEqual([
    ['a{x!="1"}', ['x', 'job']],
    ['a', ['job']],
    ['b_total', []],
  ])
})

test('rejects a grouping after its argument instead of misreading it', () => {
  expect(() => references('sum(a) by (job)')).toThrow('not followed by its argument')
})

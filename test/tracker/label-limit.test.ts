import { expect, test } from 'vitest'
import { LabelLimit } from '../../src/tracker/instruments.ts'

test('keeps the names of the first values, and replaces the rest by other', () => {
  const limit = new LabelLimit(2)
  const names = ['a', 'b', 'c', 'a', 'd', 'b'].map(tool_name => limit.apply({ tool_name })['tool_name'])
  expect(names).toEqual(['a', 'b', 'other', 'a', 'other', 'b'])
})

test('limits each label separately', () => {
  const limit = new LabelLimit(1)
  expect(limit.apply({ tool_name: 'a', model: 'x' })).toEqual({ tool_name: 'a', model: 'x' })
  expect(limit.apply({ tool_name: 'b', model: 'x' })).toEqual({ tool_name: 'other', model: 'x' })
  expect(limit.apply({ tool_name: 'a', model: 'y' })).toEqual({ tool_name: 'a', model: 'other' })
})

test('returns the same object within the limit, and a copy beyond it', () => {
  const limit = new LabelLimit(1)
  const within = Object.freeze({ tool_name: 'a' })
  expect(limit.apply(within)).toBe(within)
  const beyond = Object.freeze({ tool_name: 'b' })
  expect(limit.apply(beyond)).toEqual({ tool_name: 'other' })
  expect(beyond).toEqual({ tool_name: 'b' })
})

test('accepts names of Object.prototype as ordinary values', () => {
  const limit = new LabelLimit(2)
  const values = ['__proto__', 'constructor', 'toString'].map(model => limit.apply({ model })['model'])
  expect(values).toEqual(['__proto__', 'constructor', 'other'])
})

test('never replaces labels of a closed vocabulary', () => {
  const limit = new LabelLimit(1)
  for (const result of ['ok', 'ignored', 'duplicate', 'error']) expect(limit.apply({ result })).toEqual({ result })
})

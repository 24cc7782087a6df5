import { expect, test } from 'vitest'
import { LabelLimit } from '../../src/tracker/instruments.ts'

test('the first values keep their names, the rest are other', () => {
  const limit = new LabelLimit(2)
  const names = ['a', 'b', 'c', 'a', 'd', 'b'].map(tool_name => limit.apply({ tool_name })['tool_name'])
  expect(names).toEqual(['a', 'b', 'other', 'a', 'other', 'b'])
})

test('each label has its own', () => {
  const limit = new LabelLimit(1)
  expect(limit.apply({ tool_name: 'a', model: 'x' })).toEqual({ tool_name: 'a', model: 'x' })
  expect(limit.apply({ tool_name: 'b', model: 'x' })).toEqual({ tool_name: 'other', model: 'x' })
  expect(limit.apply({ tool_name: 'a', model: 'y' })).toEqual({ tool_name: 'a', model: 'other' })
})

test('labels within the limit are the same object, those beyond it a copy', () => {
  const limit = new LabelLimit(1)
  const within = Object.freeze({ tool_name: 'a' })
  expect(limit.apply(within)).toBe(within)
  const beyond = Object.freeze({ tool_name: 'b' })
  expect(limit.apply(beyond)).toEqual({ tool_name: 'other' })
  expect(beyond).toEqual({ tool_name: 'b' })
})

test('a limit of 0 is no limit', () => {
  const limit = new LabelLimit(0)
  for (let value = 0; value < 1000; value += 1) {
    expect(limit.apply({ model: `m${value}` })).toEqual({ model: `m${value}` })
  }
})

test('names of Object.prototype are ordinary values', () => {
  const limit = new LabelLimit(2)
  const values = ['__proto__', 'constructor', 'toString'].map(model => limit.apply({ model })['model'])
  expect(values).toEqual(['__proto__', 'constructor', 'other'])
})

test('labels of a closed vocabulary never become other', () => {
  const limit = new LabelLimit(1)
  for (const result of ['ok', 'ignored', 'duplicate', 'error']) expect(limit.apply({ result })).toEqual({ result })
})

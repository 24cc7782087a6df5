import { expect, test } from 'vitest'
import { SessionStates } from '../../src/agents/base/limited-map.ts'

function states(limit: number): SessionStates<{ readonly id: string }> {
  return new SessionStates(id => ({ id }), limit)
}

test('keeps a session’s state until it is deleted', () => {
  const all = states(2)
  const first = all.get('a')
  expect(all.get('a')).toBe(first)
  all.get('b')
  expect(all.get('a')).toBe(first)
  all.delete('a')
  expect(all.find('a')).toBeUndefined()
  expect(all.get('a')).not.toBe(first)
})

test('drops the least recently used session over the limit', () => {
  const all = states(2)
  for (const id of ['a', 'b', 'a', 'a', 'c']) all.get(id)
  expect(all.values().map(({ id }) => id)).toEqual(['a', 'c'])
  expect(all.values()).toHaveLength(2)
})

import { expect, test } from 'vitest'
import { BoundedMap } from '../../src/tracker/bounded-map.ts'

function filled(
  limit: number,
  keys: string,
  onEvict?: (value: number, key: string) => void,
): BoundedMap<string, number> {
  const map = new BoundedMap(limit, onEvict)
  for (const [index, key] of [...keys].entries()) map.set(key, index)
  return map
}

test('keeps values up to its limit', () => {
  const map = filled(3, 'abc')
  expect([...map.values()]).toEqual([0, 1, 2])
  expect(map.get('b')).toBe(1)
  expect(map.has('x')).toBe(false)
})

test('evicts the oldest entry and reports it', () => {
  const evicted: [string, number][] = []
  const map = filled(2, 'abcd', (value, key) => evicted.push([key, value]))
  expect([...map.values()]).toEqual([2, 3])
  expect(evicted).toEqual([
    ['a', 0],
    ['b', 1],
  ])
})

test('makes an entry that is set again the youngest', () => {
  const evicted: string[] = []
  const map = filled(2, 'ab', (_, key) => evicted.push(key))
  map.set('a', 10)
  expect(evicted).toEqual([])
  map.set('c', 11)
  expect(evicted).toEqual(['b'])
  expect([...map.values()]).toEqual([10, 11])
})

test('does not report a deleted entry', () => {
  const evicted: string[] = []
  const map = filled(2, 'ab', (_, key) => evicted.push(key))
  expect(map.delete('a')).toBe(true)
  expect(map.delete('a')).toBe(false)
  map.clear()
  expect(map.size).toBe(0)
  expect(evicted).toEqual([])
})

test('may be changed during an eviction', () => {
  const map: BoundedMap<string, number> = filled(2, 'ab', () => map.delete('b'))
  map.set('c', 2)
  expect([...map.values()]).toEqual([2])
})

import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { frozenCopy, plainCopy } from '../../src/guards/frozen-copy.ts'

test('copies and freezes plain data deeply', () => {
  const given = { a: [1, { b: 'c' }], d: null, e: undefined }
  const copy = frozenCopy(given)
  expect(copy).toEqual(given)
  expect([copy, copy.a, copy.a[1]].every(Object.isFrozen)).toBe(true)
  expect([given, given.a, given.a[1]].some(Object.isFrozen)).toBe(false)
})

test('copies plain data of another realm, too', () => {
  const given = runInNewContext('({ command: "ls", list: [{ a: 1 }] })')
  const copy = frozenCopy(given)
  expect(copy).not.toBe(given)
  expect(Object.isFrozen(copy) && Object.isFrozen(copy.list[0])).toBe(true)
  expect(plainCopy(copy)).not.toBe(copy)
})

test('keeps other objects by reference', () => {
  const map = new Map([['a', 1]])
  const date = new Date(0)
  expect(frozenCopy({ map, date }).map).toBe(map)
  expect(frozenCopy(date)).toBe(date)
})

test('copies a cycle once', () => {
  const circle: Record<string, unknown> = { name: 'a' }
  circle['left'] = circle
  circle['right'] = [circle, circle]
  for (const copied of [frozenCopy(circle), plainCopy(circle)]) {
    expect(copied['left']).toBe(copied)
    expect(copied['right']).toEqual([copied, copied])
  }
  expect(Object.isFrozen(frozenCopy(circle)['right'])).toBe(true)
})

test('copies a value with many references once, not once per reference', () => {
  let shared: object = {}
  for (let level = 0; level < 90; level++) shared = { left: shared, right: shared }
  const copy = frozenCopy(shared) as { left: unknown; right: unknown }
  expect(copy.left).toBe(copy.right)
})

test('keeps an own `__proto__` of the arguments', () => {
  const given = JSON.parse('{"__proto__": {"isAdmin": true}}')
  for (const copied of [frozenCopy(given), plainCopy(given)]) {
    expect(Object.keys(copied)).toEqual(['__proto__'])
    expect(copied.isAdmin).toBeUndefined()
  }
})

test('copies the elements of a list by index, whatever its iterator yields', () => {
  const given = Object.assign(['rm', '-rf'], { [Symbol.iterator]: () => ['ls'][Symbol.iterator]() })
  expect([frozenCopy(given).length, frozenCopy(given)[0], plainCopy(given)[1]]).toEqual([2, 'rm', '-rf'])
})

test('reads a getter once', () => {
  let reads = 0
  const copy = frozenCopy({
    get command() {
      return `${++reads}`
    },
  })
  expect([copy.command, copy.command]).toEqual(['1', '1'])
})

test("terminates for data deeper than any agent's", () => {
  let deep: object = {}
  for (let level = 0; level < 100_000; level++) deep = { deep }
  expect(frozenCopy(deep)).toMatchObject({ deep: {} })
})

import { describe, expect, it } from 'vitest'
import { RecentValues } from '../../src/guards/context.ts'

describe('recent values', () => {
  it.each([
    ['a listener', (): void => undefined],
    ['no listener', undefined],
  ])('evict the least recently used of 1 001, with %s', (_what, onEvict) => {
    const values = new RecentValues<number, number>(onEvict)
    for (let key = 0; key < 1000; key++) values.of(key, () => key)
    values.of(0, () => -1)
    values.of(1000, () => 1000)
    expect(values.of(0, () => -1)).toBe(0)
    expect(values.remove(1)).toBeUndefined()
    expect(values.remove(2)).toBe(2)
  })

  it('give an evicted value to the listener', () => {
    const evicted: number[] = []
    const values = new RecentValues<number, number>(value => evicted.push(value))
    for (let key = 0; key <= 1001; key++) values.of(key, () => key)
    expect(evicted).toEqual([0, 1])
  })
})

import { expect, test } from 'vitest'
import { OrphanSweep, type Watched } from '../../src/core/orphan-sweep.ts'
import fc from '../support/fast-check.ts'
import { times } from '../support/sample.ts'

const LIMIT = 100

interface Named extends Watched {
  readonly name: string
}

function watched(name: string): Named {
  return { name, activityAt: 0, seenAt: 0 }
}

function sweepOf(...touches: [Named, number, number?][]): OrphanSweep<Named> {
  const sweep = new OrphanSweep<Named>(LIMIT)
  for (const [item, at, seenAt] of touches) sweep.touch(item, at, seenAt ?? at)
  return sweep
}

const names = (items: readonly Named[]): string[] => items.map(item => item.name)

test('nothing is due before its time is over', () => {
  const sweep = sweepOf([watched('a'), 10])
  expect(names(sweep.dueAt(110))).toEqual([])
  expect(names(sweep.dueAt(111))).toEqual(['a'])
})

test('what is due is told once, the longest silent first', () => {
  const sweep = sweepOf([watched('a'), 10], [watched('b'), 20], [watched('c'), 200])
  expect(names(sweep.dueAt(150))).toEqual(['a', 'b'])
  expect(names(sweep.dueAt(150))).toEqual([])
  expect(sweep.size).toBe(1)
})

test('a sign of life puts it off', () => {
  const [a, b] = [watched('a'), watched('b')]
  const sweep = sweepOf([a, 10], [b, 20], [a, 90])
  expect(sweep.oldest()).toBe(b)
  expect(names(sweep.dueAt(150))).toEqual(['b'])
  expect(names(sweep.dueAt(191))).toEqual(['a'])
})

test('a late record with an earlier time does not take life away', () => {
  const a = watched('a')
  const sweep = sweepOf([a, 100], [a, 10])
  expect(a.activityAt).toBe(100)
  expect(names(sweep.dueAt(180))).toEqual([])
})

test('what is forgotten is not told', () => {
  const [a, b, c] = [watched('a'), watched('b'), watched('c')]
  const sweep = sweepOf([a, 1], [b, 2], [c, 3])
  sweep.forget(b)
  sweep.forget(b)
  expect(names(sweep.dueAt(1000))).toEqual(['a', 'c'])
  expect(sweep.oldest()).toBeUndefined()
})

test('what comes back after it was told is watched again', () => {
  const a = watched('a')
  const sweep = sweepOf([a, 1])
  expect(names(sweep.dueAt(1000))).toEqual(['a'])
  sweep.touch(a, 1000, 1000)
  expect(names(sweep.dueAt(1100))).toEqual([])
  expect(names(sweep.dueAt(1101))).toEqual(['a'])
})

test('by the clock it counts when it was seen, whatever the records say', () => {
  const [old, fresh] = [watched('old'), watched('fresh')]
  const sweep = sweepOf([old, 5000, 10], [fresh, 1, 90])
  expect(names(sweep.dueSeen(111))).toEqual(['old'])
  expect(names(sweep.dueSeen(191))).toEqual(['fresh'])
})

test('it never tells too early, never twice, and forgets nobody', () => {
  const step = fc.record({
    what: fc.constantFrom('touch', 'forget', 'due'),
    which: fc.nat(4),
    by: fc.nat(60),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const items = Array.from({ length: 5 }, (_, index) => watched(`i${index}`))
      const sweep = new OrphanSweep<Named>(LIMIT)
      const alive = new Set<Named>()
      let now = 1000
      for (const { what, which, by } of steps) {
        now += by
        const item = items[which] as Named
        if (what === 'touch') {
          sweep.touch(item, now, now)
          alive.add(item)
        } else if (what === 'forget') {
          sweep.forget(item)
          alive.delete(item)
        } else {
          const due = [...alive].filter(({ activityAt }) => now - activityAt > LIMIT)
          expect(new Set(sweep.dueAt(now))).toEqual(new Set(due))
          for (const one of due) alive.delete(one)
        }
        expect(sweep.size).toBe(alive.size)
      }
    }),
    { seed: 1, numRuns: times(60, 300) },
  )
})

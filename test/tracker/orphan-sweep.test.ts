import { expect, test } from 'vitest'
import { OrphanSweep, type SweepItem } from '../../src/tracker/orphan-sweep.ts'
import fc from '../support/fast-check.ts'
import { times } from '../support/sample.ts'

const LIMIT = 100

interface Named extends SweepItem {
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

test('returns nothing before its limit', () => {
  const sweep = sweepOf([watched('a'), 10])
  expect(names(sweep.due(110, 'activityAt'))).toEqual([])
  expect(names(sweep.due(111, 'activityAt'))).toEqual(['a'])
})

test('returns due items once, the longest silent first', () => {
  const sweep = sweepOf([watched('a'), 10], [watched('b'), 20], [watched('c'), 200])
  expect(names(sweep.due(150, 'activityAt'))).toEqual(['a', 'b'])
  expect(names(sweep.due(150, 'activityAt'))).toEqual([])
  expect([...sweep.items()]).toHaveLength(1)
})

test('returns an item that is due earlier than the one before it, as soon as that one is gone', () => {
  const [later, earlier] = [watched('later'), watched('earlier')]
  const sweep = sweepOf([later, 1000], [earlier, 10])
  expect(names(sweep.due(500, 'activityAt'))).toEqual([])
  sweep.forget(later)
  expect(names(sweep.due(501, 'activityAt'))).toEqual(['earlier'])
})

test('postpones the limit at a touch', () => {
  const [a, b] = [watched('a'), watched('b')]
  const sweep = sweepOf([a, 10], [b, 20], [a, 90])
  expect(sweep.oldest()).toBe(b)
  expect(names(sweep.due(150, 'activityAt'))).toEqual(['b'])
  expect(names(sweep.due(191, 'activityAt'))).toEqual(['a'])
})

test('does not shorten the limit for a late record with an earlier time', () => {
  const a = watched('a')
  const sweep = sweepOf([a, 100], [a, 10])
  expect(a.activityAt).toBe(100)
  expect(names(sweep.due(180, 'activityAt'))).toEqual([])
})

test('does not return a forgotten item', () => {
  const [a, b, c] = [watched('a'), watched('b'), watched('c')]
  const sweep = sweepOf([a, 1], [b, 2], [c, 3])
  sweep.forget(b)
  sweep.forget(b)
  expect(names(sweep.due(1000, 'activityAt'))).toEqual(['a', 'c'])
  expect(sweep.oldest()).toBeUndefined()
})

test('watches a returned item again after a touch', () => {
  const a = watched('a')
  const sweep = sweepOf([a, 1])
  expect(names(sweep.due(1000, 'activityAt'))).toEqual(['a'])
  sweep.touch(a, 1000, 1000)
  expect(names(sweep.due(1100, 'activityAt'))).toEqual([])
  expect(names(sweep.due(1101, 'activityAt'))).toEqual(['a'])
})

test('goes by the time at which an item was seen', () => {
  const [old, fresh] = [watched('old'), watched('fresh')]
  const sweep = sweepOf([old, 5000, 10], [fresh, 1, 90])
  expect(names(sweep.due(111, 'seenAt'))).toEqual(['old'])
  expect(names(sweep.due(191, 'seenAt'))).toEqual(['fresh'])
})

test('applies the long limit to an item with a reason to be silent', () => {
  const [idle, busy] = [watched('idle'), watched('busy')]
  const sweep = new OrphanSweep<Named>(LIMIT, { limitMillis: 10 * LIMIT, isFor: item => item === busy })
  sweep.touch(busy, 10, 10)
  sweep.touch(idle, 20, 20)
  expect(names(sweep.due(130, 'activityAt'))).toEqual(['idle'])
  expect([sweep.oldest(), [...sweep.items()]]).toEqual([busy, [busy]])
  expect(names(sweep.due(1010, 'activityAt'))).toEqual([])
  expect(names(sweep.due(1011, 'activityAt'))).toEqual(['busy'])
  expect([...sweep.items()]).toEqual([])
})

test('applies the short limit again after a touch, or once that reason is gone', () => {
  const all = [watched('touched'), watched('hastened'), watched('patient')]
  const [touched, hastened] = all as [Named, Named]
  const busy = new Set(all)
  const sweep = new OrphanSweep<Named>(LIMIT, { limitMillis: 10 * LIMIT, isFor: item => busy.has(item) })
  for (const item of all) sweep.touch(item, 10, 10)
  expect(names(sweep.due(200, 'seenAt'))).toEqual([])
  busy.delete(touched)
  busy.delete(hastened)
  sweep.touch(touched, 200, 200)
  expect(names(sweep.due(300, 'seenAt'))).toEqual([])
  sweep.hasten(hastened)
  expect(names(sweep.due(301, 'seenAt'))).toEqual(['touched', 'hastened'])
})

test('returns each item exactly once and not too early', () => {
  const step = fc.record({
    what: fc.constantFrom('touch', 'forget', 'due'),
    which: fc.nat(4),
    by: fc.nat(60),
  })
  const isPatient = ({ name }: Named): boolean => name >= 'i3'
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const items = Array.from({ length: 5 }, (_, index) => watched(`i${index}`))
      const sweep = new OrphanSweep<Named>(LIMIT, { limitMillis: 3 * LIMIT, isFor: isPatient })
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
          const due = [...alive].filter(item => now - item.activityAt > (isPatient(item) ? 3 * LIMIT : LIMIT))
          expect(new Set(sweep.due(now, 'activityAt'))).toEqual(new Set(due))
          for (const one of due) alive.delete(one)
        }
        expect([...sweep.items()]).toHaveLength(alive.size)
      }
    }),
    { seed: 1, numRuns: times(60, 300) },
  )
})

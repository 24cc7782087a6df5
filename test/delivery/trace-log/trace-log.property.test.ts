import { join } from 'node:path'
import { expect, test } from 'vitest'
import { assertHolds } from '../../support/assert-holds.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { breakDisk, noFaults, wholeForEachTest } from './broken-disk.ts'
import { ANSWERS, type Mood, namesIn, type Step, World } from './log-world.ts'

const faults = noFaults()
breakDisk(faults)

const rejections = wholeForEachTest(faults)

const only = <Name extends string>(...names: Name[]) => fc.constantFrom(...names).map(name => ({ do: name }))
const record = fc.record({
  do: fc.constant('record' as const),
  count: fc.integer({ min: 1, max: 12 }),
  size: fc.constantFrom(0, 0, 3000, 20_000),
  isOdd: fc.boolean(),
})
const calm: readonly fc.Arbitrary<Step>[] = [
  record,
  record,
  only('start', 'end', 'save', 'flush'),
  fc.record({ do: fc.constant('wait' as const), millis: fc.integer({ min: 0, max: 4 }) }),
  fc.record({
    do: fc.constant('mood' as const),
    server: fc.constantFrom(0 as const, 1 as const),
    mood: fc.constantFrom(...(Object.keys(ANSWERS) as Mood[])),
    turns: fc.integer({ min: 1, max: 4 }),
  }),
  only('hold', 'letGo'),
  only('restart'),
  fc.record({
    do: fc.constant('race' as const),
    counts: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }),
  }),
  // Fills segments.
  fc.record({
    do: fc.constant('record' as const),
    count: fc.constant(12),
    size: fc.constant(40_000),
    isOdd: fc.constant(false),
  }),
]
const disk: fc.Arbitrary<Step> = fc.record({ do: fc.constant('disk' as const), isFull: fc.boolean() })
const unreadable: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('unreadable' as const),
  times: fc.integer({ min: 1, max: 3 }),
})
const flood: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('record' as const),
  count: fc.constant(12),
  size: fc.constant(20_000),
  isOdd: fc.constant(false),
})
const steps = (...kinds: fc.Arbitrary<Step>[]) => fc.array(fc.oneof(...kinds), { minLength: 5, maxLength: 40 })

async function lived(plan: readonly Step[], maxBytes = 1 << 24): Promise<World> {
  Object.assign(faults, noFaults())
  const world = new World(faults, maxBytes)
  for (const step of plan) await world.run(step)
  await world.finish()
  return world
}

function expectSettled(world: World): void {
  expect(rejections).toEqual([])
  expect(namesIn(join(world.scene.directory, 'spool'))).toEqual([])
}

/** Of what is refused in part, the part that was taken is sent again if the process ends before the rest is dealt with. */
function isExact(plan: readonly Step[], server: 0 | 1): boolean {
  return !plan.some(step => step.do === 'mood' && step.server === server && /small|picky/.test(step.mood))
}

function expectAllOnce(world: World, plan: readonly Step[], server: 0 | 1): void {
  const { taken } = world.servers[server]
  expect(world.arrived(server)).toBe(taken.length)
  if (!isExact(plan, server)) return
  expect(taken.filter((name, index) => taken.indexOf(name) !== index)).toEqual([])
  expect(taken.length + world.dropped(server)).toBe(world.ended.length)
}

/** Nothing is lost but what a server cannot bear. */
function expectAll(world: World, server: 0 | 1, names: Iterable<string>): void {
  const arrived = new Set(world.servers[server].taken)
  expect([...names].filter(name => !arrived.has(name) && !name.includes('!'))).toEqual([])
}

const RUNS = { numRuns: times(8, 200) }

test('delivers every span once, in order, or counts it', async () => {
  await assertHolds(
    steps(...calm),
    async plan => {
      const world = await lived(plan)
      expectSettled(world)
      for (const server of [0, 1] as const) {
        expectAllOnce(world, plan, server)
        expectAll(world, server, world.ended)
        const taken = [...new Set(world.servers[server].taken)]
        for (const ended of world.endedIn) {
          expect(taken.filter(name => ended.includes(name))).toEqual(ended.filter(name => taken.includes(name)))
        }
      }
    },
    RUNS,
  )
})

test('delivers every span once, or counts it, on a failing disk', async () => {
  await assertHolds(
    steps(...calm, disk, disk),
    async plan => {
      const world = await lived(plan)
      expectSettled(world)
      for (const server of [0, 1] as const) expectAllOnce(world, plan, server)
    },
    RUNS,
  )
})

test('loses nothing if the log is sometimes unreadable', async () => {
  await assertHolds(
    steps(...calm, unreadable),
    async plan => {
      const world = await lived(plan)
      expectSettled(world)
      for (const server of [0, 1] as const) {
        expectAllOnce(world, plan, server)
        expectAll(world, server, world.ended)
      }
    },
    RUNS,
  )
})

test('delivers every span once, or counts it, if the log overflows', async () => {
  await assertHolds(
    steps(...calm, flood, flood, flood),
    async plan => {
      const world = await lived(plan, 1 << 19)
      expectSettled(world)
      for (const server of [0, 1] as const) expectAllOnce(world, plan, server)
    },
    RUNS,
  )
})

test('leaves everything to the next process on an exit at any moment', async () => {
  await assertHolds(
    steps(...calm, only('exit')),
    async plan => {
      const world = await lived(plan)
      expectSettled(world)
      for (const server of [0, 1] as const) expectAll(world, server, world.ended)
    },
    RUNS,
  )
})

test('leaves written and open spans to the next process on a kill at any moment', async () => {
  await assertHolds(
    steps(...calm, only('kill', 'exit')),
    async plan => {
      const world = await lived(plan)
      expectSettled(world)
      for (const server of [0, 1] as const) expectAll(world, server, world.safe)
    },
    RUNS,
  )
})

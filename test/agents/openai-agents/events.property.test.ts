import { expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { expectSoundTree } from '../../support/trace-invariants.ts'
import { reportedOfSpoilt } from '../expect-sound.ts'
import { type Replay, replay } from './replay.ts'
import { PLAY_NAMES, play } from './scenes.ts'

const RUNS = { numRuns: times(12, 200) }

const plays = fc.constantFrom(...PLAY_NAMES)
const junk = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, '', 0, -1, Number.NaN, true, [], {}, 'span_t1_2', 't1', 'task', 'function'),
  fc.string(),
  fc.jsonValue(),
)

/** What goes on, and what comes of it: one event left out, said twice, moved, or with a field that is something else. */
const faults = fc.array(
  fc.record({
    kind: fc.constantFrom('drop', 'repeat', 'move', 'spoil'),
    at: fc.nat(200),
    to: fc.nat(200),
    field: fc.nat(40),
    value: junk,
  }),
  { maxLength: 12 },
)

type Fault = typeof faults extends fc.Arbitrary<infer Faults> ? (Faults extends (infer One)[] ? One : never) : never

function withFault(events: readonly HostEvent[], { kind, at, to, field, value }: Fault): HostEvent[] {
  if (events.length === 0) return []
  const index = at % events.length
  const event = events[index] as HostEvent
  const others = events.toSpliced(index, 1)
  if (kind === 'drop') return others
  if (kind === 'move') return others.toSpliced(to % events.length, 0, event)
  if (kind === 'repeat') return events.toSpliced(to % events.length, 0, event)
  return events.toSpliced(index, 1, spoilt(event, field, value))
}

/** Every field at every depth has a number. */
function spoilt(event: HostEvent, field: number, value: unknown): HostEvent {
  let left = field
  const walk = (node: unknown): unknown => {
    if (left-- === 0) return value
    if (typeof node !== 'object' || node === null) return node
    if (Array.isArray(node)) return node.map(walk)
    return Object.fromEntries(Object.entries(node).map(([key, child]) => [key, walk(child)]))
  }
  return { ...event, data: walk(event.data) }
}

/** Of what was told, only a question that nobody has answered may be open still. */
function expectSound({ plugin, records, leftOpen }: Replay): void {
  const asked = new Set<unknown>()
  for (const { hook, payload } of records) {
    const call = (payload as { tool_call_id?: unknown }).tool_call_id
    if (hook === 'pre_approval_request') asked.add(call)
    if (hook === 'post_approval_response') asked.delete(call)
  }
  expect(leftOpen).toBeLessThanOrEqual(asked.size)
  expect(plugin.stats().hooks.error).toBe(0)
  expect(plugin.stats().spansOpen).toBe(0)
  expect(reportedOfSpoilt(plugin)).toEqual([])
  expectSoundTree(plugin.spans())
}

test.each(PLAY_NAMES)('%s: nothing is lost, ignored or left open', async name => {
  const replayed = await replay(play(name, 't1'))
  expectSound(replayed)
  expect(replayed.leftOpen).toBe(0)
  expect(replayed.plugin.stats().hooks).toMatchObject({ ignored: 0, duplicate: 0 })
  expect(replayed.tree).not.toMatch(/incomplete|ambiguous|retroactive/)
})

test('whatever is left out, repeated, moved or spoilt: no exception, nothing left open', async () => {
  await fc.assert(
    fc.asyncProperty(plays, faults, async (name, all) => {
      expectSound(await replay(all.reduce<HostEvent[]>(withFault, [...play(name, 't1')])))
    }),
    RUNS,
  )
})

test('in any order at all', async () => {
  const shuffled = plays.chain(name => {
    const events = play(name, 't1')
    return fc.shuffledSubarray([...events], { minLength: events.length, maxLength: events.length })
  })
  await fc.assert(
    fc.asyncProperty(shuffled, async events => expectSound(await replay(events))),
    RUNS,
  )
})

test('every event said twice changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(plays, async name => {
      const events = play(name, 't1')
      const once = await replay(events)
      const twice = await replay(events.flatMap(event => [event, event]))
      expect(twice.tree).toBe(once.tree)
    }),
    { numRuns: times(6, 60) },
  )
})

test('two runs at once come out as each alone', async () => {
  const merged = fc.tuple(plays, plays, fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }))
  await fc.assert(
    fc.asyncProperty(merged, async ([one, other, turns]) => {
      const [left, right] = [play(one, 't1'), play(other, 't2')]
      const both = await replay(interleaved(left, right, turns))
      const apart = [await replay(left), await replay(right)]
      const treesOf = (replays: readonly Replay[]) => replays.flatMap(({ tree }) => tree.split('\n\n')).toSorted()
      expect(treesOf([both])).toEqual(treesOf(apart))
    }),
    RUNS,
  )
})

function interleaved(left: readonly HostEvent[], right: readonly HostEvent[], turns: readonly boolean[]): HostEvent[] {
  const queues: [HostEvent[], HostEvent[]] = [[...left], [...right]]
  const merged = turns.flatMap(first => queues[first ? 0 : 1].shift() ?? [])
  return [...merged, ...queues[0], ...queues[1]]
}

import { describe, expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { reportedOfSpoilt } from '../expect-sound.ts'
import { fixturesOf, replayEvents } from '../replay-fixture.ts'
import { Scene } from './scene.ts'

/** All captures are moved to this time: what is said hours apart is not said at once. */
const START_AT = 1_795_000_000_000
const DISPOSE: HostEvent = { event: 'dispose', data: {} }

const captured = fixturesOf('opencode').map(({ scenario, events }) => ({ name: scenario, events }))

/** Everything that a session can tell, once: the captures have most of it many times. */
const everything = new Scene()
  .created('s')
  .prompt('s', 'u1', 'all')
  .params('s', 'u1', 'title')
  .step('s', 'u1', 'a1')
  .bus('session.status', { sessionID: 's', status: { type: 'retry', attempt: 1, message: 'on fire', next: 1 } })
  .busy('s')
  .params('s', 'u1')
  .runs('s', 'a1', 'c1')
  .asked('s', 'p1', 'c1')
  .runs('s', 'a1', 'c2', 'task', { subagent_type: 'general', prompt: 'look' })
  .created('k', { parentID: 's', agent: 'general' })
  .tool('s', 'a1', 'c2', { status: 'running', input: {}, metadata: { sessionId: 'k' } }, 'task')
  .prompt('k', 'v1', 'look')
  .replied('s', 'p1', 'once')
  .titled('s', 'All')
  .answers('k', 'v1', 'b1', 'Found.')
  .idle('k')
  .ran('s', 'a1', 'c1')
  .ran('s', 'a1', 'c2', 'task')
  .finished('s', 'u1', 'a1', 'tool-calls')
  .said('s', 'u2', 'and this')
  .answers('s', 'u1', 'a2', 'All of it.')
  .answers('s', 'u2', 'a3', 'And that.')
  .idle('s')
  .prompt('s', 'u3', 'stop')
  .step('s', 'u3', 'a4')
  .bus('session.error', { sessionID: 's', error: { name: 'MessageAbortedError', data: {} } })
  .idle('s')
  .assistant('s', 'u3', 'a4', { time: { created: 1, completed: 2 } })
  .idle('s')
  .tell('dispose', {}).events

/** A run as a whole would take seconds with every try: a piece of one is as good. */
const piece = fc
  .tuple(fc.constantFrom(...captured.map(({ events }) => events), everything, everything, everything), fc.nat())
  .map(([events, from]) => (events.length <= 70 ? events : events.slice(from % (events.length - 60)).slice(0, 60)))

const strange = fc.oneof(
  fc.constantFrom(undefined, null, '', ' ', 0, -1, Number.NaN, [], {}, [[]], 'x'.repeat(2000), '__proto__', true),
  fc.anything({ maxDepth: 2 }),
)

/** An event with another value at some place in it. */
function changed(event: HostEvent, way: readonly number[], value: unknown): HostEvent {
  const copy = structuredClone(event)
  let place: unknown = copy
  for (const step of way) {
    if (typeof place !== 'object' || place === null) break
    const keys = Object.keys(place).filter(key => key !== 'event')
    const key = keys[step % Math.max(1, keys.length)]
    if (key === undefined) break
    const inside = (place as Record<string, unknown>)[key]
    if (step === way.at(-1) || typeof inside !== 'object' || inside === null) {
      ;(place as Record<string, unknown>)[key] = value
      return copy
    }
    place = inside
  }
  return copy
}

async function survives(events: readonly HostEvent[]): Promise<void> {
  const { plugin, leftOpen } = await replayEvents('opencode', [...events, DISPOSE])
  expect(plugin.stats().hooks.error).toBe(0)
  expect(reportedOfSpoilt(plugin)).toEqual([])
  expect(leftOpen).toBe(0)
}

describe('whatever opencode tells, nothing breaks and nothing is left open', () => {
  test('in any order, with repeats and gaps', async () => {
    await fc.assert(
      fc.asyncProperty(piece, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), async (events, chance) => {
        const next = (): number => chance.next().value
        const some = events.filter(() => next() > 0.1).flatMap(event => (next() > 0.8 ? [event, event] : [event]))
        const order = some.map((event, index) => ({ event, place: index + next() * 6 }))
        await survives(order.toSorted((left, right) => left.place - right.place).map(({ event }) => event))
      }),
      { numRuns: times(12, 200) },
    )
  })

  test('with other values in it', async () => {
    const change = fc.tuple(fc.nat(200), fc.array(fc.nat(20), { minLength: 1, maxLength: 5 }), strange)
    await fc.assert(
      fc.asyncProperty(piece, fc.array(change, { minLength: 1, maxLength: 15 }), async (events, changes) => {
        const told = [...events]
        for (const [at, way, value] of changes) {
          const index = at % told.length
          told[index] = changed(told[index] as HostEvent, way, value)
        }
        await survives(told)
      }),
      { numRuns: times(12, 200) },
    )
  })
})

describe.each([...captured, { name: 'everything', events: everything }])('$name', ({ events }) => {
  test('is the same when every event is told twice', async () => {
    const once = await replayEvents('opencode', events)
    const twice = await replayEvents(
      'opencode',
      events.flatMap(event => [event, event]),
    )
    expect(twice.tree).toBe(once.tree)
  })
})

function renamed(events: readonly HostEvent[], name: string): HostEvent[] {
  const [{ at: first = 0 } = {}] = events
  const text = JSON.stringify(events.map(event => ({ ...event, at: START_AT + (event.at ?? first) - first }))).replace(
    /"(ses_\w+|msg_\w+|s|k|u\d|v\d|a\d|b\d)"(?!:)/g,
    `"${name}$1"`,
  )
  return JSON.parse(text) as HostEvent[]
}

/** Told at once, of each its own order, in an order that is not that of the time. */
function* interleaved(
  left: readonly HostEvent[],
  right: readonly HostEvent[],
  isLeft: () => boolean,
): Generator<HostEvent> {
  const rest: [HostEvent[], HostEvent[]] = [[...left], [...right]]
  while (rest[0].length + rest[1].length > 0) {
    const next = (isLeft() ? rest[0] : rest[1]).shift()
    if (next !== undefined) yield next
  }
}

test('two runs at once are drawn as they are apart', async () => {
  const runs = [...captured.map(({ events }) => events), everything].map(events => events.filter(isOfSession))
  const treesOf = async (events: readonly HostEvent[]): Promise<string[]> =>
    (await replayEvents('opencode', events)).tree.split('\n\n')
  const run = fc.constantFrom(...runs)
  await fc.assert(
    fc.asyncProperty(run, run, fc.infiniteStream(fc.boolean()), async (first, second, coins) => {
      const [left, right] = [renamed(first, 'l'), renamed(second, 'r')]
      const apart = [...(await treesOf(left)), ...(await treesOf(right))]
      const together = await treesOf([...interleaved(left, right, () => coins.next().value)])
      expect(together.toSorted()).toEqual(apart.toSorted())
    }),
    { numRuns: times(10, 200) },
  )
})

/** What is told of the whole process would end the other run, too. */
function isOfSession({ event }: HostEvent): boolean {
  return event !== 'dispose'
}

import { expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { reportedOfSpoilt } from '../expect-sound.ts'
import { fixturesOf } from '../replay-fixture.ts'
import { play } from './play.ts'

const FIXTURES = fixturesOf('claude-code').map(({ events }) => events)
const fixture = fc.constantFrom(...FIXTURES)

/** Whatever came: nothing thrown, nothing that the core could not read. */
async function expectWhole(events: readonly HostEvent[]): Promise<void> {
  const { plugin } = await play(events)
  expect(plugin.stats()).toMatchObject({ spansOpen: 0, hooks: { error: 0 } })
  expect(reportedOfSpoilt(plugin)).toEqual([])
}

test('leaves no span open for events in any order, with repeats and gaps', async () => {
  const shuffled = fixture.chain(events =>
    fc.array(fc.nat(events.length - 1), { maxLength: 60 }).map(order => order.map(at => events[at] as HostEvent)),
  )
  await fc.assert(fc.asyncProperty(shuffled, expectWhole), { numRuns: times(20, 300) })
})

test('builds the same tree if every event arrives twice', async () => {
  for (const events of FIXTURES) {
    const once = await play(events)
    const twice = await play(events.flatMap(event => [event, event]))
    expect(twice.tree).toBe(once.tree)
  }
})

test('builds the same tree without requests from hooks alone', async () => {
  for (const events of FIXTURES) {
    const whole = await play(events)
    const hooks = await play(events.filter(({ event }) => !event.startsWith('transcript:')))
    const names = ({ plugin }: typeof whole): string[] => {
      const drawn = plugin.spans().filter(({ name }) => !/^(?:api|llm)\b/.test(name))
      return drawn.map(({ name }) => name).toSorted()
    }
    expect(names(hooks)).toEqual(names(whole))
  }
})

const odd = fc.oneof(
  fc.constant(undefined),
  fc.anything({ maxDepth: 2 }),
  fc.constantFrom('', 'call1x0', 'a'.repeat(2000)),
)

/** A field of what is told is gone, or is something else. */
function spoilt(event: HostEvent, { pick, value }: { readonly pick: number; readonly value: unknown }): HostEvent {
  const data = structuredClone(event.data) as Record<string, unknown>
  const keys = Object.keys(data)
  const key = keys[pick % keys.length] ?? ''
  if (value === undefined) delete data[key]
  else data[key] = value
  return { ...event, data }
}

test('accepts fields that are missing or of another type', async () => {
  const change = fc.record({ pick: fc.nat(50), value: odd })
  const scenes = fixture.chain(events =>
    fc
      .array(fc.option(change), { minLength: events.length, maxLength: events.length })
      .map(all => events.map((event, index) => (all[index] ? spoilt(event, all[index]) : event))),
  )
  await fc.assert(fc.asyncProperty(scenes, expectWhole), { numRuns: times(20, 300) })
})

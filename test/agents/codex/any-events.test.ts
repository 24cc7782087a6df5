import { expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { reportedOfSpoilt } from '../expect-sound.ts'
import { fixturesOf, replayEvents } from '../replay-fixture.ts'

const FIXTURES = fixturesOf('codex').map(({ events }) => events)
const fixture = fc.constantFrom(...FIXTURES)

/** Whatever came: nothing thrown, nothing that the core could not read. */
async function expectWhole(events: readonly HostEvent[]): Promise<void> {
  const { plugin } = await replayEvents('codex', events)
  expect(plugin.stats()).toMatchObject({ spansOpen: 0, hooks: { error: 0 } })
  expect(reportedOfSpoilt(plugin)).toEqual([])
}

test('any order, with repeats and gaps', async () => {
  const shuffled = fixture.chain(events =>
    fc.array(fc.nat(events.length - 1), { maxLength: 60 }).map(order => order.map(at => events[at] as HostEvent)),
  )
  await fc.assert(fc.asyncProperty(shuffled, expectWhole), { numRuns: times(20, 300) })
})

test('what is found twice, as by a receiver that was started anew, is told once', async () => {
  for (const events of FIXTURES) {
    const again = events.flatMap((event, index) => {
      const before = events.slice(0, index + 1).filter(({ event: name }) => name.startsWith('rollout:'))
      const found = before.filter(({ event: name }) => name !== 'rollout:read')
      return event.event === 'rollout:read' ? [...found, event] : [event]
    })
    const once = await replayEvents('codex', events)
    expect((await replayEvents('codex', again)).tree).toBe(once.tree)
  }
})

test('hooks alone, with nothing found in rollouts: the tools that hooks tell of, without requests', async () => {
  for (const events of FIXTURES) {
    const whole = await replayEvents('codex', events)
    const hooked = events.filter(({ event }) => !event.startsWith('rollout:'))
    const hooks = await replayEvents('codex', hooked)
    const told = hooked.filter(({ event }) => event === 'PreToolUse').length
    const count = (run: typeof whole, start: string): number =>
      run.plugin.spans().filter(({ name }) => name.startsWith(start)).length
    expect([count(hooks, 'agent'), count(hooks, 'tool.'), count(hooks, 'api.')]).toEqual([
      count(whole, 'agent'),
      told,
      0,
    ])
  }
})

const odd = fc.oneof(
  fc.constant(undefined),
  fc.anything({ maxDepth: 2 }),
  fc.constantFrom('', 'call_A', 'a'.repeat(2000)),
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

test('fields that are missing, or are something else', async () => {
  const change = fc.record({ pick: fc.nat(50), value: odd })
  const scenes = fixture.chain(events =>
    fc
      .array(fc.option(change), { minLength: events.length, maxLength: events.length })
      .map(all => events.map((event, index) => (all[index] ? spoilt(event, all[index]) : event))),
  )
  await fc.assert(fc.asyncProperty(scenes, expectWhole), { numRuns: times(20, 300) })
})

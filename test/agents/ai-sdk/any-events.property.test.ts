import { expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { reportedOfSpoilt } from '../expect-sound.ts'
import { fixturesOf, replayEvents } from '../replay-fixture.ts'
import { PARIS, Scene } from './scene.ts'

const HOOK = {
  turn_id: 'a',
  tool_call_id: PARIS.toolCallId,
  hook_run_id: 'h',
  hook_name: 'h',
  hook_phase: 'before_tool',
}
const hooked = new Scene().starts('a').calls('a', PARIS).says('a', 'pre_control_hook', HOOK)
hooked
  .says('a', 'post_control_hook', { ...HOOK, verdict: 'pass' })
  .tool('a', PARIS)
  .ends('a')
const FIXTURES = [...fixturesOf('ai-sdk').map(({ events }) => events), hooked.events]
const fixture = fc.constantFrom(...FIXTURES)

/** A hook of an unknown call stays open until its end. */
const OPENS: ReadonlySet<string> = new Set(['onStart', 'pre_control_hook'])

/** Whatever came: nothing thrown, nothing that the core could not read, nothing left open but what a person was asked. */
async function expectWhole(events: readonly HostEvent[]): Promise<void> {
  const { plugin, hooks, leftOpen } = await replayEvents('ai-sdk', events)
  const asked = hooks.filter(hook => hook === 'pre_approval_request').length
  expect(leftOpen).toBeLessThanOrEqual(asked + events.filter(({ event }) => OPENS.has(event)).length)
  expect(plugin.stats()).toMatchObject({ spansOpen: 0 })
  expect(plugin.stats().hooks.error).toBe(0)
  expect(reportedOfSpoilt(plugin)).toEqual([])
}

test('any order, with repeats and gaps', async () => {
  const shuffled = fixture.chain(events =>
    fc.array(fc.nat(events.length - 1), { maxLength: 60 }).map(order => order.map(at => events[at] as HostEvent)),
  )
  await fc.assert(fc.asyncProperty(shuffled, expectWhole), { numRuns: times(20, 200) })
})

const odd = fc.oneof(
  fc.constant(undefined),
  fc.anything({ maxDepth: 2 }),
  fc.constantFrom('', 'call-1', 'a'.repeat(2000)),
)

/** Some fields of an event, at any depth, are gone or something else. */
function spoilt(event: HostEvent, picks: readonly { readonly at: number; readonly value: unknown }[]): HostEvent {
  const copy = structuredClone(event) as unknown as Record<string, unknown>
  const places: { of: Record<string, unknown>; key: string }[] = []
  const walk = (of: Record<string, unknown>): void => {
    for (const key of Object.keys(of)) {
      if (of !== copy || key !== 'event') places.push({ of, key })
      if (typeof of[key] === 'object' && of[key] !== null) walk(of[key] as Record<string, unknown>)
    }
  }
  walk(copy)
  for (const { at, value } of picks) {
    const place = places[at % places.length]
    if (place !== undefined) place.of[place.key] = value
  }
  return copy as unknown as HostEvent
}

test('any field gone or something else', async () => {
  const picks = fc.array(fc.record({ at: fc.nat(200), value: odd }), { maxLength: 4 })
  const broken = fixture.chain(events =>
    fc
      .array(picks, { minLength: events.length, maxLength: events.length })
      .map(all => events.map((event, index) => spoilt(event, all[index] ?? []))),
  )
  await fc.assert(fc.asyncProperty(broken, expectWhole), { numRuns: times(20, 200) })
})

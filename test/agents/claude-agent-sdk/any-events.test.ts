import { expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { reportedOfSpoilt } from '../expect-sound.ts'
import { fixturesOf } from '../replay-fixture.ts'
import { play } from './play.ts'
import { Scene } from './scene.ts'

const FIXTURES = fixturesOf('claude-agent-sdk').map(({ events }) => events)
const fixture = fc.constantFrom(...FIXTURES)

/** Whatever came: nothing thrown, nothing left open, nothing that the core could not read. */
async function expectWhole(events: readonly HostEvent[]): Promise<void> {
  const { plugin, leftOpen } = await play(events)
  expect(leftOpen).toBe(0)
  expect(plugin.stats().hooks.error).toBe(0)
  expect(reportedOfSpoilt(plugin)).toEqual([])
}

test('leaves no span open for events in any order, with repeats and gaps', async () => {
  const shuffled = fixture.chain(events =>
    fc.array(fc.nat(events.length - 1), { maxLength: 60 }).map(order => order.map(at => events[at] as HostEvent)),
  )
  await fc.assert(fc.asyncProperty(shuffled, expectWhole), { numRuns: times(20, 300) })
})

test('builds the same tree if every event arrives twice', async () => {
  await fc.assert(
    fc.asyncProperty(fixture, async events => {
      const once = await play(events)
      const twice = await play(events.flatMap(event => [event, event]))
      expect(twice.tree).toBe(once.tree)
    }),
    { numRuns: FIXTURES.length },
  )
})

const odd = fc.oneof(
  fc.constant(undefined),
  fc.anything({ maxDepth: 2 }),
  fc.constantFrom('', 'toolu_1', 'a'.repeat(2000)),
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
    if (place === undefined) continue
    // With another id it is an event of another session, and an agent cannot be in two.
    if (value === undefined || place.key === 'session_id') delete place.of[place.key]
    else place.of[place.key] = value
  }
  return copy as unknown as HostEvent
}

test('accepts fields that are missing or of another type', async () => {
  const picks = fc.array(fc.record({ at: fc.nat(500), value: odd }), { maxLength: 3 })
  const scenes = fixture.chain(events =>
    fc
      .array(picks, { minLength: events.length, maxLength: events.length })
      .map(all => events.map((event, index) => spoilt(event, all[index] ?? []))),
  )
  await fc.assert(fc.asyncProperty(scenes, expectWhole), { numRuns: times(20, 300) })
})

function session(name: string): readonly HostEvent[] {
  const scene = new Scene({ session: name, prompt: `${name}-p`, query: name }).prompted(name)
  scene
    .answer('m1', { calls: { t1: 'Bash', t2: 'Agent' } })
    .toolStarts('t1')
    .event('canUseTool', { toolUseID: 't1' })
  scene
    .event('canUseTool.end', { toolUseID: 't1', r: { behavior: 'allow' } })
    .toolEnds('t1')
    .toolStarts('t2', 'Agent')
  const agent = `${name}-child`
  scene.message('system.task_started', { task_id: agent, tool_use_id: 't2', subagent_type: 'scout', prompt: 'look' })
  scene.toolEnds('t2', 'Agent', { tool_response: { status: 'async_launched' } }).batch('t1', 't2')
  scene
    .answer('m3', { child: { call: 't2', agent }, text: 'seen' })
    .answer('m2', { text: 'done' })
    .stop()
    .result()
  scene.message('system.task_notification', { task_id: agent, status: 'completed' }).event('iterator.end')
  return scene.events
}

test('separates sessions whose events interleave', async () => {
  const [one, two] = [session('one'), session('two')]
  const apart = [await play(one), await play(two)].map(({ tree }) => tree).toSorted()
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }), async turns => {
      const left = [[...one], [...two]]
      const mixed: HostEvent[] = []
      for (const isFirst of turns) {
        const [from, other] = isFirst ? [left[0], left[1]] : [left[1], left[0]]
        const next = from?.shift() ?? other?.shift()
        if (next !== undefined) mixed.push(next)
      }
      mixed.push(...left.flat())
      const { tree, leftOpen, plugin } = await play(
        mixed.map((event, index) => ({ ...event, at: 1_795_292_811_000 + index })),
      )
      expect(leftOpen).toBe(0)
      expect(plugin.stats().hooks).toMatchObject({ ignored: 0, duplicate: 0, error: 0 })
      expect(tree.split('\n\n').toSorted()).toEqual(apart)
    }),
    { numRuns: times(15, 200) },
  )
})

import { describe, expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { reportedOfSpoilt } from '../expect-sound.ts'
import { fixturesOf, replayEvents } from '../replay-fixture.ts'

const odd = fc.oneof(
  fc.constant(undefined),
  fc.anything({ maxDepth: 2 }),
  fc.constantFrom('', 'call1x0', 'a'.repeat(2000)),
)
const change = fc.record({ pick: fc.nat(50), value: odd })

/** A field of what is told is gone, or is something else. */
function spoilt(event: HostEvent, { pick, value }: { readonly pick: number; readonly value: unknown }): HostEvent {
  const data = structuredClone(event.data) as Record<string, unknown>
  const keys = Object.keys(data)
  const key = keys[pick % keys.length] ?? ''
  if (value === undefined) delete data[key]
  else data[key] = value
  return { ...event, data }
}

describe.each(['gemini', 'qwen'])('%s: whatever comes', host => {
  const all = fixturesOf(host).map(({ events }) => events)
  const fixture = fc.constantFrom(...all)

  /** Nothing thrown, nothing that the core could not read. */
  async function expectWhole(events: readonly HostEvent[]): Promise<void> {
    const { plugin } = await replayEvents(host, events)
    expect(plugin.stats()).toMatchObject({ spansOpen: 0, hooks: { error: 0 } })
    expect(reportedOfSpoilt(plugin)).toEqual([])
  }

  test('any order, with repeats and gaps', async () => {
    const shuffled = fixture.chain(events =>
      fc.array(fc.nat(events.length - 1), { maxLength: 60 }).map(order => order.map(at => events[at] as HostEvent)),
    )
    await fc.assert(fc.asyncProperty(shuffled, expectWhole), { numRuns: times(20, 300) })
  })

  test('fields that are missing, or are something else', async () => {
    const scenes = fixture.chain(events =>
      fc
        .array(fc.option(change), { minLength: events.length, maxLength: events.length })
        .map(changes => events.map((event, index) => (changes[index] ? spoilt(event, changes[index]) : event))),
    )
    await fc.assert(fc.asyncProperty(scenes, expectWhole), { numRuns: times(20, 300) })
  })

  test('all that was found in files, told again with every hook, is what it is once', async () => {
    for (const events of all) {
      const found: HostEvent[] = []
      const again = events.flatMap(event => {
        const isFound = /^(?:session|transcript):(?!read)/.test(event.event)
        if (isFound) found.push(event)
        return isFound ? [event] : [...found, event]
      })
      expect((await replayEvents(host, again)).tree).toBe((await replayEvents(host, events)).tree)
    }
  })
})

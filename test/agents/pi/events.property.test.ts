import { describe, expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import type { HookRecord } from '../../../src/contract/index.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { expectSound } from '../expect-sound.ts'
import { type Call, played, recordsOf, Scene, START_AT } from './scene.ts'

const RUNS = { numRuns: times(10, 200) }
/** Not there before 0.80. */
const LATER = new Set(['before_provider_headers', 'agent_settled', 'ui_prompt_start', 'ui_prompt_end'])

type Deed = (scene: Scene, call: Call) => Scene

const DEEDS: Readonly<Record<string, Deed>> = {
  answer: scene => scene.answers(),
  tool: (scene, call) => scene.calls(call).tool(call),
  refused: (scene, call) => scene.calls(call).toolStarts(call).toolEnds(call, 'no', true),
  asked: (scene, call) =>
    scene.calls(call).toolStarts(call).says('ui_prompt_start', { kind: 'confirm' }).says('ui_prompt_end').toolRan(call),
  delegated: (scene, { id }) => scene.calls({ id, name: 'subagent' }).tool({ id, name: 'subagent' }),
  retry: scene => scene.fails().ends().runs(),
  compacted: scene =>
    scene
      .ends()
      .says('session_before_compact')
      .says('before_provider_headers', { headers: {} })
      .says('session_compact', { compactionEntry: { summary: 'short' } })
      .runs(),
}

const turns = fc.array(fc.array(fc.constantFrom(...Object.keys(DEEDS)), { maxLength: 5 }), {
  minLength: 1,
  maxLength: 3,
})

/** Sessions in which everything ends as it should. */
function story(session: string, deeds: readonly (readonly string[])[], at = START_AT): HostEvent[] {
  const scene = new Scene(session, { at }).starts()
  deeds.forEach((turn, number) => {
    scene.prompted(`prompt ${number}`)
    turn.forEach((deed, index) => {
      DEEDS[deed]?.(scene, { id: `${session}_${number}_${index}`, name: 'bash' })
    })
    scene.answers().settles()
  })
  return scene.quits().events
}

const stories = turns.map(deeds => story('s1', deeds))

const treeOf = (events: readonly HostEvent[]): string =>
  played(events).tree({ attributes: ['hermes.turn.number', 'hermes.turn.final_status', 'hermes.tool.outcome'] })

describe('a run that goes as it should', () => {
  test('gives whole turns: nothing had to be ended for the host', () => {
    fc.assert(
      fc.property(stories, events => {
        const plugin = played(events)
        expectSound(plugin)
        expect(plugin.stats().hooks).toMatchObject({ ignored: 0, duplicate: 0 })
        expect(plugin.tree()).not.toMatch(/incomplete|ambiguous|parent missing|retroactive/)
      }),
      RUNS,
    )
  })

  test('gives the same when every event is told twice', () => {
    fc.assert(
      fc.property(stories, events => {
        expect(recordsOf(events.flatMap(event => [event, event]))).toEqual(recordsOf(events))
      }),
      RUNS,
    )
  })

  test('gives the same beside another session in the same process', () => {
    fc.assert(
      fc.property(turns, turns, fc.array(fc.boolean(), { maxLength: 200 }), (ours, theirs, order) => {
        const one = story('one', ours)
        const two = story('two', theirs, START_AT + 3)
        const records = recordsOf(interleaved(one, two, order))
        expect(records.filter(record => sessionOf(record) === 'one')).toEqual(recordsOf(one))
        expect(records.filter(record => sessionOf(record) === 'two')).toEqual(recordsOf(two))
      }),
      RUNS,
    )
  })

  test('gives the same in a Pi that does not say when it is idle, but for what only later ones tell', () => {
    fc.assert(
      fc.property(turns, deeds => {
        const known = deeds.map(turn => turn.filter(deed => deed !== 'asked' && deed !== 'compacted'))
        const events = story('s1', known)
        expect(treeOf(events.filter(({ event }) => !LATER.has(event)))).toBe(treeOf(events))
      }),
      RUNS,
    )
  })
})

function sessionOf({ payload }: HookRecord): unknown {
  return Reflect.get(payload, 'session_id') ?? Reflect.get(payload, 'parent_session_id')
}

function interleaved(one: readonly HostEvent[], two: readonly HostEvent[], order: readonly boolean[]): HostEvent[] {
  const rest = [[...one], [...two]]
  const both: HostEvent[] = []
  for (const first of order) both.push(...(rest[first ? 0 : 1]?.splice(0, 1) ?? []))
  return [...both, ...(rest[0] ?? []), ...(rest[1] ?? [])]
}

const garbage = fc.oneof(
  fc.constantFrom(null, undefined, '', 0, -1, Number.NaN, true, [], {}, '__proto__', 'x'.repeat(2000)),
  fc.anything({ maxDepth: 2 }),
)

describe('a run that does not', () => {
  test('told in any order, with repeats and losses, leaves nothing open and breaks nothing', () => {
    fc.assert(
      fc.property(stories, fc.array(fc.nat(), { maxLength: 120 }), (events, picks) => {
        expectSound(played(picks.flatMap(pick => events[pick % events.length] ?? [])))
      }),
      RUNS,
    )
  })

  test('with fields that are missing, or are something else, neither', () => {
    fc.assert(
      fc.property(stories, fc.array(fc.tuple(fc.nat(), fc.nat(), garbage), { maxLength: 20 }), (events, spoilt) => {
        const copies = structuredClone(events)
        for (const [where, which, value] of spoilt) spoil(copies[where % copies.length], which, value)
        expectSound(played(copies), true)
      }),
      RUNS,
    )
  })

  test('with values that cannot be read, neither', () => {
    const hostile = new Proxy({}, { get: () => raise(), has: () => raise(), ownKeys: () => raise() })
    fc.assert(
      fc.property(
        stories,
        fc.array(fc.tuple(fc.nat(), fc.constantFrom('data', 'context')), { maxLength: 9 }),
        (events, spoilt) => {
          const copies = events.map(event => ({ ...event }))
          for (const [where, key] of spoilt) Object.assign(copies[where % copies.length] ?? {}, { [key]: hostile })
          expectSound(played(copies), true)
        },
      ),
      RUNS,
    )
  })

  test('with events that only a later Pi has, is the same run', () => {
    fc.assert(
      fc.property(stories, fc.array(fc.tuple(fc.nat(), fc.string()), { maxLength: 9 }), (events, strangers) => {
        const more = [...events]
        for (const [where, name] of strangers) {
          const { at = START_AT, context } = more[where % more.length] ?? {}
          more.splice(where % more.length, 0, { event: `later_${name}`, at, context })
        }
        expect(recordsOf(more)).toEqual(recordsOf(events))
      }),
      RUNS,
    )
  })
})

function raise(): never {
  throw new Error('not for you')
}

/** One of the fields of an event, at some depth. */
function spoil(event: unknown, which: number, value: unknown): void {
  const places: [object, string][] = []
  const walk = (object: object, depth: number): void => {
    for (const [key, inner] of Object.entries(object)) {
      if (object !== event || key !== 'event') places.push([object, key])
      if (typeof inner === 'object' && inner !== null && depth < 4) walk(inner, depth + 1)
    }
  }
  if (typeof event === 'object' && event !== null) walk(event, 0)
  const [object, key] = places[which % Math.max(1, places.length)] ?? []
  if (object !== undefined && key !== undefined) Object.assign(object, { [key]: value })
}

import { describe, expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import type { HookRecord } from '../../../src/contract/index.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { expectSound } from '../expect-sound.ts'
import { type Call, played, recordsOf, Scene, type SceneOptions, START_AT } from './scene.ts'

const RUNS = { numRuns: times(8, 200) }

type Deed = (scene: Scene, call: Call) => Scene

const DEEDS: Readonly<Record<string, Deed>> = {
  answer: scene => scene.answers(),
  tool: (scene, call) => scene.calls(call).tool(call),
  failed: (scene, call) => scene.calls(call).tool(call, 'failed', 'not found'),
  refused: (scene, call) =>
    scene.calls(call).toolStarts(call).toolEnds(call, 'blocked', 'Tool call blocked', { deniedReason: 'policy' }),
  nested: (scene, call) => {
    const inner = { id: `inner of ${call.id}`, name: 'sessions_list' }
    return scene.calls(call).toolStarts(call).tool(inner).toolEnds(call, 'completed', 'none')
  },
  retry: scene => scene.fails().retries(),
  late: scene =>
    scene
      .asks()
      .message([{ type: 'text', text: 'quick' }], 'stop')
      .stops(),
  compacted: scene =>
    scene.says('before_compaction', { messageCount: 9 }).says('after_compaction', { messageCount: 2 }),
}

const turns = fc.array(fc.array(fc.constantFrom(...Object.keys(DEEDS)), { maxLength: 5 }), {
  minLength: 1,
  maxLength: 3,
})

/** Runs in which everything ends as it should, one of them with a child agent. */
function story(session: string, deeds: readonly (readonly string[])[], options: SceneOptions = {}): HostEvent[] {
  const scene = new Scene(session, options)
  deeds.forEach((turn, number) => {
    scene.prompted(`prompt ${number}`)
    turn.forEach((deed, index) => {
      DEEDS[deed]?.(scene, { id: `${session}_${number}_${index}`, name: 'exec' })
    })
    scene.answers().ends()
  })
  return scene.closes('idle').events
}

/** The same, and then a child agent that outlives the turn in which it was asked for. */
function family(session: string, deeds: readonly (readonly string[])[]): HostEvent[] {
  const key = `child of ${session}`
  const spawn = { id: `${session}_spawn`, name: 'sessions_spawn', args: { label: 'helper' } }
  const parent = new Scene(session).prompted('Ask').calls(spawn).toolStarts(spawn).spawns(key)
  parent.toolEnds(spawn, 'completed', 'accepted')
  const child = story(`${session}-child`, deeds, { key, at: parent.now + 1 }).filter(
    ({ event }) => event !== 'session_end',
  )
  parent.answers().ends()
  const at = Math.max(parent.now, child.at(-1)?.at ?? 0)
  const end = new Scene(session, { at }).hearsOf(key).closes('idle')
  return [...parent.events, ...child, ...end.events].toSorted((one, two) => (one.at ?? 0) - (two.at ?? 0))
}

const stories = turns.map(deeds => story('s1', deeds))
const families = turns.map(deeds => family('s1', deeds))
const anything = fc.oneof(stories, families)

const treeOf = (events: readonly HostEvent[]): string =>
  played(events).tree({ attributes: ['hermes.turn.number', 'hermes.turn.final_status', 'hermes.tool.outcome'] })

describe('a run that goes as it should', () => {
  test('gives whole turns: nothing had to be ended for the host', () => {
    fc.assert(
      fc.property(anything, events => {
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
      fc.property(anything, events => {
        expect(recordsOf(events.flatMap(event => [event, event]))).toEqual(recordsOf(events))
      }),
      RUNS,
    )
  })

  test('gives the same beside another session in the same process', () => {
    fc.assert(
      fc.property(turns, turns, fc.array(fc.boolean(), { maxLength: 200 }), (ours, theirs, order) => {
        const one = family('one', ours)
        const two = story('two', theirs, { at: START_AT + 3 })
        const records = recordsOf(interleaved(one, two, order))
        const isTwo = (record: HookRecord): boolean => sessionOf(record) === 'two'
        expect(records.filter(record => !isTwo(record))).toEqual(recordsOf(one))
        expect(records.filter(isTwo)).toEqual(recordsOf(two))
      }),
      RUNS,
    )
  })

  test('gives the same tree without the permission to see conversations, and without agent events', () => {
    fc.assert(
      fc.property(turns, deeds => {
        const tree = treeOf(story('s1', deeds))
        expect(treeOf(story('s1', deeds, { without: ['conversation'] }))).toBe(tree)
        expect(treeOf(story('s1', deeds, { without: ['agent'] }))).toBe(tree)
      }),
      RUNS,
    )
  })
})

function sessionOf({ payload }: HookRecord): unknown {
  const of = (key: string): unknown => Reflect.get(payload, key)
  return of('session_id') ?? of('parent_session_id') ?? of('child_session_id')
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
      fc.property(anything, fc.array(fc.nat(), { maxLength: 120 }), (events, picks) => {
        expectSound(played(picks.flatMap(pick => events[pick % events.length] ?? [])))
      }),
      RUNS,
    )
  })

  test('with fields that are missing, or are something else, neither', () => {
    fc.assert(
      fc.property(anything, fc.array(fc.tuple(fc.nat(), fc.nat(), garbage), { maxLength: 20 }), (events, spoilt) => {
        const copies = structuredClone(events)
        for (const [where, which, value] of spoilt) spoil(copies[where % copies.length], which, value)
        expectSound(played(copies), true)
      }),
      RUNS,
    )
  })

  test('with values that cannot be read, neither', () => {
    const hostile = new Proxy({}, { get: () => raise(), has: () => raise(), ownKeys: () => raise() })
    const places = fc.array(fc.tuple(fc.nat(), fc.constantFrom('data', 'context')), { maxLength: 9 })
    fc.assert(
      fc.property(anything, places, (events, spoilt) => {
        const copies = events.map(event => ({ ...event }))
        for (const [where, key] of spoilt) Object.assign(copies[where % copies.length] ?? {}, { [key]: hostile })
        expectSound(played(copies), true)
      }),
      RUNS,
    )
  })

  test('with events that only a later OpenClaw has, is the same run', () => {
    fc.assert(
      fc.property(anything, fc.array(fc.tuple(fc.nat(), fc.string()), { maxLength: 9 }), (events, strangers) => {
        const more = [...events]
        for (const [where, name] of strangers) {
          const { at = START_AT, context } = more[where % more.length] ?? {}
          const stranger = { event: 'AGENT_EVENT', at, data: { stream: `later_${name}`, data: {} } }
          more.splice(where % more.length, 0, { event: `later_${name}`, at, context }, stranger)
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

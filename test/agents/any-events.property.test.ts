import { describe, expect, test } from 'vitest'
import type { HostEvent } from '../../src/agents/host-event.ts'
import { MACHINES } from '../../src/agents/machines.ts'
import type { HookRecord } from '../../src/contract/index.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import fc from '../support/fast-check.ts'
import { SAMPLED, sample, times } from '../support/sample.ts'
import { hookedCall } from './ai-sdk/scene.ts'
import { twinSession } from './claude-agent-sdk/scene.ts'
import { expectSound } from './expect-sound.ts'
import { PLAY_NAMES, play } from './openai-agents/scenes.ts'
import { OPENCLAW_DEEDS, openClawFamily, openClawStory, START_AT } from './openclaw/scene.ts'
import { everything } from './opencode/scene.ts'
import { PI_DEEDS, piStory } from './pi/scene.ts'
import { fixturesOf } from './replay-fixture.ts'
import { SHOWN } from './shown.ts'

type Run = readonly HostEvent[]

interface Machine {
  readonly host: string
  readonly runs: fc.Arbitrary<Run>
  /** Every one of them is tried where chance is no help. */
  readonly fixed: readonly Run[]
  readonly usually: number
  readonly deeply: number
  readonly order: (events: Run) => fc.Arbitrary<Run>
  /** The most fields that are spoilt in a run. */
  readonly spoilt: (events: Run) => number
  /** A value that looks like one of the run's ids. */
  readonly id: string
  /** Fields that are removed and never replaced: another id is another session. */
  readonly removed?: string
  /** Ends what a run has left open. */
  readonly last?: HostEvent
  /** How many spans may be open before the plugin shuts down. */
  readonly open?: (records: readonly HookRecord[], events: Run) => number
  /** Reports each event once, and may not see that one is repeated. */
  readonly isUnique?: boolean
  /** Everything in the runs ends by itself. */
  readonly isWhole?: boolean
  /** Two runs in one process. */
  readonly pairs?: fc.Arbitrary<readonly [Run, Run]>
  /** An event of a later version. */
  readonly later?: (name: string, at: HostEvent | undefined) => readonly HostEvent[]
}

const anyOf = (runs: readonly Run[]): fc.Arbitrary<Run> => fc.constantFrom(...runs)
const captures = new Map<string, readonly Run[]>()
/** The same events at each call: the outcomes of whole runs are kept by them. */
function captured(host: string): readonly Run[] {
  const runs = captures.get(host) ?? sample(fixturesOf(host), 10).map(({ events }) => events)
  captures.set(host, runs)
  return runs
}

const unlimited = (): number => Number.POSITIVE_INFINITY
const everyEvent = (events: Run): number => events.length

/** Any order, with repeats and gaps. */
const picked =
  (maxLength: number) =>
  (events: Run): fc.Arbitrary<Run> =>
    fc.array(fc.nat(events.length - 1), { maxLength }).map(picks => picks.map(pick => events[pick] as HostEvent))

/** Almost in order: some are left out, some repeated, all a few places away. */
const displaced = (events: Run): fc.Arbitrary<Run> =>
  fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })).map(chance => {
    const next = (): number => chance.next().value
    const some = events.filter(() => next() > 0.1).flatMap(event => (next() > 0.8 ? [event, event] : [event]))
    const places = some.map((event, index) => ({ event, place: index + next() * 6 }))
    return places.toSorted((left, right) => left.place - right.place).map(({ event }) => event)
  })

const shuffled = (events: Run): fc.Arbitrary<Run> =>
  fc.shuffledSubarray([...events], { minLength: events.length, maxLength: events.length })

function ofFixtures(host: string, id: string, more: Partial<Machine> = {}): Machine {
  const fixed = more.fixed ?? captured(host)
  const defaults = { usually: 6, deeply: 150, order: picked(60), spoilt: everyEvent }
  return { host, id, fixed, runs: anyOf(fixed), ...defaults, ...more }
}

function turnsOf(deeds: object): fc.Arbitrary<string[][]> {
  const turn = fc.array(fc.constantFrom(...Object.keys(deeds)), { maxLength: 5 })
  return fc.array(turn, { minLength: 1, maxLength: 3 })
}

/** Questions without an answer. */
function unanswered(records: readonly HookRecord[]): number {
  const asked = new Set<unknown>()
  for (const { hook, payload } of records) {
    const call = Reflect.get(payload, 'tool_call_id')
    if (hook === 'pre_approval_request') asked.add(call)
    if (hook === 'post_approval_response') asked.delete(call)
  }
  return asked.size
}

/** Replaces the ids of an opencode run, and moves it to one time. */
function renamed(events: Run, name: string): Run {
  const [{ at: first = 0 } = {}] = events
  const moved = events.map(event => ({ ...event, at: 1_795_000_000_000 + (event.at ?? first) - first }))
  const text = JSON.stringify(moved).replace(/"(ses_\w+|msg_\w+|s|k|u\d|v\d|a\d|b\d)"(?!:)/g, `"${name}$1"`)
  return JSON.parse(text) as HostEvent[]
}

const piTurns = turnsOf(PI_DEEDS)
const openClawTurns = turnsOf(OPENCLAW_DEEDS)
const plays = fc.constantFrom(...PLAY_NAMES)
const opencodeRuns = [...captured('opencode'), everything]
/** The end of the whole process would end the other run, too. */
const withoutEnd = fc.constantFrom(...opencodeRuns.map(events => events.filter(({ event }) => event !== 'dispose')))
const twins = [twinSession('one'), twinSession('two')] as const
const OPENS: ReadonlySet<string> = new Set(['onStart', 'pre_control_hook'])

const TABLE: readonly Machine[] = [
  ofFixtures('claude-code', 'call1x0', { open: unlimited }),
  ofFixtures('codex', 'call_A', { isUnique: true, open: unlimited }),
  ofFixtures('gemini', 'call1x0', { isUnique: true, open: unlimited }),
  ofFixtures('qwen', 'call1x0', { isUnique: true, open: unlimited }),
  ofFixtures('claude-agent-sdk', 'toolu_1', {
    spoilt: events => 3 * events.length,
    removed: 'session_id',
    pairs: fc.constant(twins),
  }),
  ofFixtures('ai-sdk', 'call-1', {
    fixed: [...captured('ai-sdk'), hookedCall],
    deeply: 100,
    isUnique: true,
    spoilt: events => 4 * events.length,
    open: (records, events) =>
      records.filter(({ hook }) => hook === 'pre_approval_request').length +
      events.filter(({ event }) => OPENS.has(event)).length,
  }),
  {
    host: 'openai-agents',
    id: 'span_t1_2',
    runs: plays.map(name => play(name, 't1')),
    fixed: PLAY_NAMES.map(name => play(name, 't1')),
    usually: 4,
    deeply: 100,
    order: shuffled,
    spoilt: () => 12,
    open: unanswered,
    isWhole: true,
    pairs: fc.tuple(plays, plays).map(([one, other]) => [play(one, 't1'), play(other, 't2')]),
  },
  {
    host: 'opencode',
    id: 'ses_1',
    // A run as a whole would take seconds with every try: a piece of one is as good.
    runs: fc
      .tuple(fc.constantFrom(...captured('opencode'), everything, everything, everything), fc.nat())
      .map(([events, from]) => (events.length <= 70 ? events : events.slice(from % (events.length - 60)).slice(0, 60))),
    fixed: opencodeRuns,
    usually: 4,
    deeply: 100,
    order: displaced,
    spoilt: () => 15,
    last: { event: 'dispose', data: {} },
    pairs: fc.tuple(withoutEnd, withoutEnd).map(([one, other]) => [renamed(one, 'l'), renamed(other, 'r')]),
  },
  {
    host: 'pi',
    id: 's1',
    runs: piTurns.map(deeds => piStory('s1', deeds)),
    fixed: [],
    usually: 4,
    deeply: 100,
    order: picked(120),
    spoilt: () => 20,
    isWhole: true,
    pairs: fc.tuple(piTurns, piTurns).map(([one, two]) => [piStory('one', one), piStory('two', two, START_AT + 3)]),
    later: (name, at) => [{ event: `later_${name}`, at: at?.at ?? START_AT, context: at?.context }],
  },
  {
    host: 'openclaw',
    id: 's1',
    runs: fc.oneof(
      openClawTurns.map(deeds => openClawStory('s1', deeds)),
      openClawTurns.map(deeds => openClawFamily('s1', deeds)),
    ),
    fixed: [],
    usually: 3,
    deeply: 100,
    order: picked(120),
    spoilt: () => 20,
    isWhole: true,
    pairs: fc
      .tuple(openClawTurns, openClawTurns)
      .map(([one, two]) => [openClawFamily('one', one), openClawStory('two', two, { at: START_AT + 3 })]),
    later: (name, at) => [
      { event: `later_${name}`, at: at?.at ?? START_AT, context: at?.context },
      { event: 'AGENT_EVENT', at: at?.at ?? START_AT, data: { stream: `later_${name}`, data: {} } },
    ],
  },
]

interface Outcome {
  readonly plugin: TestPlugin
  readonly records: readonly HookRecord[]
  readonly leftOpen: number
  readonly tree: string
}

async function outcomeOf(host: string, events: Run): Promise<Outcome> {
  const machine = MACHINES[host]?.()
  if (machine === undefined) throw new Error(`no machine for ${host}`)
  const plugin = createTestPlugin({ host, content_capture: 'full' })
  const records: HookRecord[] = []
  const emit = (record: HookRecord): void => {
    const { hook, payload, ...meta } = record
    records.push(record)
    void plugin.emitUntyped(hook, payload, { ...meta, host })
  }
  let at = 0
  for (const event of events) {
    if (typeof event.at === 'number') at = event.at
    const made = machine.accept({ ...event, at })
    if (made === undefined) void plugin.emitUntyped(`${host}:${event.event}`, {}, { host, at })
    for (const record of made ?? []) emit(record)
  }
  for (const record of machine.end(at)) emit(record)
  const leftOpen = plugin.stats().spansOpen
  await plugin.shutdown()
  const attributes = [...SHOWN, 'gen_ai.agent.name', 'gen_ai.tool.call.id']
  return { plugin, records, leftOpen, tree: plugin.tree({ attributes }) }
}

const outcomes = new WeakMap<Run, Promise<Outcome>>()

/** The outcome of an unchanged run, which several tests compare theirs with. */
function outcomeOfWhole(host: string, events: Run): Promise<Outcome> {
  const known = outcomes.get(events) ?? outcomeOf(host, events)
  outcomes.set(events, known)
  return known
}

const twice = (events: Run): Run => events.flatMap(event => [event, event])

const odd = (id: string): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.constantFrom<unknown>(undefined, null, '', ' ', 0, -1, Number.NaN, true, [], {}, [[]], '__proto__', id),
    fc.constant('a'.repeat(2000)),
    fc.string(),
    fc.jsonValue(),
    fc.anything({ maxDepth: 2 }),
  )

interface Spoil {
  readonly event: number
  readonly field: number
  readonly value: unknown
}

/** Fields of events, at any depth, that are missing or something else. */
function withSpoilt(events: Run, spoils: readonly Spoil[], removed: string | undefined): Run {
  const copies = structuredClone(events) as HostEvent[]
  for (const { event, field, value } of spoils) {
    const copy = copies[event % copies.length]
    const places: [Record<string, unknown>, string][] = []
    const walk = (object: Record<string, unknown>): void => {
      for (const [key, inner] of Object.entries(object)) {
        if (object !== (copy as object) || key !== 'event') places.push([object, key])
        if (typeof inner === 'object' && inner !== null) walk(inner as Record<string, unknown>)
      }
    }
    walk(copy as unknown as Record<string, unknown>)
    const [holder, key] = places[field % Math.max(1, places.length)] ?? []
    if (holder === undefined || key === undefined) continue
    if (value === undefined || key === removed) delete holder[key]
    else Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true })
  }
  return copies
}

function raise(): never {
  throw new Error('not for you')
}

describe.each(TABLE)(`$host, ${SAMPLED}`, machine => {
  const { host, runs, fixed, usually, deeply, order, spoilt, isUnique, isWhole, pairs, later } = machine
  const numRuns = times(usually, deeply)
  const check = (arbitrary: fc.Arbitrary<Run>, property: (events: Run) => Promise<void>): Promise<void> =>
    fc.assert(fc.asyncProperty(arbitrary, property), { numRuns })

  /** Nothing breaks, and nothing is left open. */
  async function expectWhole(events: Run, isSpoilt: boolean): Promise<void> {
    const { plugin, records, leftOpen } = await outcomeOf(host, [...events, ...(machine.last ? [machine.last] : [])])
    expect(leftOpen).toBeLessThanOrEqual(machine.open?.(records, events) ?? 0)
    expectSound(plugin, isSpoilt)
  }

  test('survives any order, repeats and gaps', async () => {
    await check(runs.chain(order), events => expectWhole(events, false))
  })

  test('survives fields that are missing, or are something else', async () => {
    const spoil = fc.record({ event: fc.nat(), field: fc.nat(), value: odd(machine.id) })
    const broken = runs.chain(events =>
      fc.array(spoil, { maxLength: spoilt(events) }).map(spoils => withSpoilt(events, spoils, machine.removed)),
    )
    await check(broken, events => expectWhole(events, true))
  })

  test('survives values that cannot be read', async () => {
    const hostile = new Proxy({}, { get: raise, has: raise, ownKeys: raise })
    const places = fc.array(fc.tuple(fc.nat(), fc.constantFrom('data', 'context')), { maxLength: 9 })
    const broken = fc.tuple(runs, places).map(([events, spoils]) => {
      const copies = events.map(event => ({ ...event }))
      for (const [at, key] of spoils) Object.assign(copies[at % copies.length] ?? {}, { [key]: hostile })
      return copies
    })
    await check(broken, events => expectWhole(events, true))
  })

  if (!isUnique)
    test('gives the same if every event is repeated', async () => {
      const expectSame = async (events: Run): Promise<void> => {
        const [once, again] = [await outcomeOfWhole(host, events), await outcomeOf(host, twice(events))]
        expect(again.tree).toBe(once.tree)
        if (isWhole) expect(again.records).toEqual(once.records)
      }
      for (const events of fixed) await expectSame(events)
      if (fixed.length === 0) await check(runs, expectSame)
    })

  if (isWhole)
    test('draws whole turns of whole runs', async () => {
      const expectComplete = async (events: Run): Promise<void> => {
        const { plugin, leftOpen, tree } = await outcomeOfWhole(host, events)
        expectSound(plugin)
        expect(leftOpen).toBe(0)
        expect(plugin.stats().hooks).toMatchObject({ ignored: 0, duplicate: 0 })
        expect(tree).not.toMatch(/incomplete|ambiguous|parent missing|retroactive/)
      }
      for (const events of fixed) await expectComplete(events)
      if (fixed.length === 0) await check(runs, expectComplete)
    })

  if (pairs)
    test('draws two runs in one process as each alone', async () => {
      const order = fc.infiniteStream(fc.boolean())
      await fc.assert(
        fc.asyncProperty(pairs ?? fc.constant([[], []] as const), order, async ([one, two], coins) => {
          const rest: readonly [HostEvent[], HostEvent[]] = [[...one], [...two]]
          const both: HostEvent[] = []
          while (rest[0].length + rest[1].length > 0)
            both.push(...rest[coins.next().value || rest[1].length === 0 ? 0 : 1].splice(0, 1))
          const together = await outcomeOf(host, both)
          const apart = [await outcomeOf(host, one), await outcomeOf(host, two)]
          const treesOf = (outcomes: readonly Outcome[]) =>
            outcomes.flatMap(({ tree }) => tree.split('\n\n')).toSorted()
          expect(treesOf([together])).toEqual(treesOf(apart))
          const count = ({ plugin, leftOpen }: Outcome) => [
            leftOpen,
            ...(['ignored', 'duplicate', 'error'] as const).map(kind => plugin.stats().hooks[kind]),
          ]
          const [first, second] = apart.map(count)
          expect(count(together)).toEqual(first?.map((counted, index) => counted + (second?.[index] ?? 0)))
          const linesOf = (outcomes: readonly Outcome[]) =>
            outcomes.flatMap(({ records }) => records.map(record => JSON.stringify(record))).toSorted()
          if (isWhole) expect(linesOf([together])).toEqual(linesOf(apart))
        }),
        { numRuns },
      )
    })

  if (later)
    test('ignores the events of later versions', async () => {
      const more = fc.array(fc.tuple(fc.nat(), fc.string()), { maxLength: 9 })
      await fc.assert(
        fc.asyncProperty(runs, more, async (events, strangers) => {
          const all = [...events]
          for (const [at, name] of strangers)
            all.splice(at % all.length, 0, ...(later?.(name, all[at % all.length]) ?? []))
          expect((await outcomeOf(host, all)).records).toEqual((await outcomeOf(host, events)).records)
        }),
        { numRuns },
      )
    })
})

const namesOf = ({ plugin }: Outcome): readonly string[] => plugin.spans().map(({ name }) => name)

test('builds the same tree without requests from the hooks alone, without files: claude-code', async () => {
  for (const events of captured('claude-code')) {
    const whole = await outcomeOfWhole('claude-code', events)
    const hooks = await outcomeOf(
      'claude-code',
      events.filter(({ event }) => !event.startsWith('transcript:')),
    )
    const others = (outcome: Outcome) =>
      namesOf(outcome)
        .filter(name => !/^(?:api|llm)\b/.test(name))
        .toSorted()
    expect(others(hooks)).toEqual(others(whole))
  }
})

test('builds the reported tools, without requests, from the hooks alone, without rollouts: codex', async () => {
  for (const events of captured('codex')) {
    const hooked = events.filter(({ event }) => !event.startsWith('rollout:'))
    const [whole, hooks] = [await outcomeOfWhole('codex', events), await outcomeOf('codex', hooked)]
    const count = (outcome: Outcome, start: string) => namesOf(outcome).filter(name => name.startsWith(start)).length
    expect(count(hooks, 'agent')).toBe(count(whole, 'agent'))
    expect(count(hooks, 'tool.')).toBe(hooked.filter(({ event }) => event === 'PreToolUse').length)
    expect(count(hooks, 'api.')).toBe(0)
  }
})

/** Reads the files anew before each of these events, as a restarted receiver does. */
function readAgain(events: Run, isFound: (event: string) => boolean, isBefore: (event: string) => boolean): Run {
  return events.flatMap((event, index) => {
    const found = events.slice(0, index + 1).filter(({ event: name }) => isFound(name))
    return isBefore(event.event) ? [...found, event] : [event]
  })
}

const isRollout = (event: string): boolean => event.startsWith('rollout:') && event !== 'rollout:read'
const isSession = (event: string): boolean => /^(?:session|transcript):(?!read)/.test(event)

test.each([
  ['codex', isRollout, (event: string) => event === 'rollout:read'],
  ['gemini', isSession, (event: string) => !isSession(event)],
  ['qwen', isSession, (event: string) => !isSession(event)],
] as const)('adds nothing when files are read again: %s', async (host, isFound, isBefore) => {
  for (const events of captured(host)) {
    const again = await outcomeOf(host, readAgain(events, isFound, isBefore))
    expect(again.tree).toBe((await outcomeOfWhole(host, events)).tree)
  }
})

test('survives events left out, repeated, moved and spoilt together: openai-agents', async () => {
  const faults = fc.array(
    fc.record({
      kind: fc.constantFrom('drop', 'repeat', 'move', 'spoil'),
      event: fc.nat(200),
      to: fc.nat(200),
      field: fc.nat(40),
      value: odd('span_t1_2'),
    }),
    { maxLength: 12 },
  )
  await fc.assert(
    fc.asyncProperty(plays, faults, async (name, all) => {
      const broken = all.reduce<Run>(
        (events, { kind, to, ...spoil }) => {
          const index = spoil.event % Math.max(1, events.length)
          const moved = events.slice(index, index + 1)
          if (kind === 'spoil') return withSpoilt(events, events.length === 0 ? [] : [spoil], undefined)
          const rest = kind === 'repeat' ? events : events.toSpliced(index, 1)
          return kind === 'drop' ? rest : rest.toSpliced(to % Math.max(1, events.length), 0, ...moved)
        },
        play(name, 't1'),
      )
      const { plugin, records, leftOpen } = await outcomeOf('openai-agents', broken)
      expect(leftOpen).toBeLessThanOrEqual(unanswered(records))
      expectSound(plugin, true)
    }),
    { numRuns: times(6, 100) },
  )
})

const SHAPE = ['hermes.turn.number', 'hermes.turn.final_status', 'hermes.tool.outcome']
const shapeOf = async (host: string, events: Run): Promise<string> =>
  (await outcomeOf(host, events)).plugin.tree({ attributes: SHAPE })

test('builds the same tree for older versions, except for missing events: pi', async () => {
  const later = new Set(['before_provider_headers', 'agent_settled', 'ui_prompt_start', 'ui_prompt_end'])
  await fc.assert(
    fc.asyncProperty(piTurns, async turns => {
      const events = piStory(
        's1',
        turns.map(turn => turn.filter(deed => deed !== 'asked' && deed !== 'compacted')),
      )
      const older = events.filter(({ event }) => !later.has(event))
      expect(await shapeOf('pi', older)).toBe(await shapeOf('pi', events))
    }),
    { numRuns: times(6, 100) },
  )
})

test('builds the same tree without access to conversations: openclaw', async () => {
  await fc.assert(
    fc.asyncProperty(openClawTurns, async turns => {
      const unseen = openClawStory('s1', turns, { without: ['conversation'] })
      expect(await shapeOf('openclaw', unseen)).toBe(await shapeOf('openclaw', openClawStory('s1', turns)))
    }),
    { numRuns: times(5, 100) },
  )
})

import { existsSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { ending } from '../plugin/scratch-plugin.ts'
import { afterwards } from '../support/afterwards.ts'
import { IS_DEEP, SAMPLED, sample } from '../support/sample.ts'
import { until } from '../support/until.ts'
import { toldOf, twoTurns } from './scenario.ts'
import { inOrder, once, treesOf, World } from './world.ts'

const EVENTS = toldOf(twoTurns())
/** Tools and an approval are open. */
const OPEN = EVENTS.slice(0, 8)
const HOUR_MILLIS = 3_600_000

async function killedAfter(world: World, order = 'flush'): Promise<void> {
  const receiver = await world.start()
  await receiver.take(OPEN)
  await receiver.ask(order)
  await receiver.die()
}

async function goesOn(world: World): Promise<void> {
  const receiver = await world.open()
  for (const told of EVENTS.slice(OPEN.length)) receiver.recordEvent(told)
  await receiver.flush()
  await receiver.close('end')
}

/** Traces that are held until they are judged, and all of them kept. */
const HELD = { keep: { rate: 1 } }

async function untroubled(settings: object = {}): Promise<ReturnType<typeof inOrder>> {
  const world = await World.create({ ...settings })
  const receiver = await world.open()
  for (const told of EVENTS) receiver.recordEvent(told)
  await receiver.close('end')
  return inOrder(world.collected)
}

/** Which segment a checkpoint is about, whoever has it. */
const segmentOf = (checkpoint: string): string | undefined => checkpoint.split('.')[0]

/** Another agent with a plugin of its own, which looks after what dead processes have left. */
async function anotherAgent(world: World, meanwhile: () => Promise<unknown> = () => Promise.resolve()): Promise<void> {
  const { env, home } = world
  const add = (line: string): void => void world.lines.push(line)
  const diagnostics = { warn: add, error: add, debug: () => undefined }
  const options = { host: 'another', force_flush_wait_ms: 500 }
  const plugin = ending(createPluginIn(options, { env, home, isReplay: false, diagnostics }))
  plugin.emit('pre_llm_call', { session_id: 'x', turn_id: 'x1' })
  plugin.emit('on_session_end', { session_id: 'x', turn_id: 'x1', completed: true })
  await plugin.flush()
  await meanwhile()
  await plugin.shutdown()
}

const notOfAnother = ({ attributes }: { readonly attributes: object }): boolean =>
  (attributes as Record<string, unknown>)['hermes.host'] !== 'another' &&
  (attributes as Record<string, unknown>)['hermes.session.id'] !== 'x'

const STEPS = ['read', 'noted', 'adopting'].flatMap(step => [{}, HELD].map(settings => [step, settings] as const))

test.each(sample(STEPS, 1))(
  `recovers a receiver that is killed during a takeover (%s, %j), ${SAMPLED}`,
  async (step, settings) => {
    const world = await World.create(settings)
    await killedAfter(world, step === 'noted' ? 'worked' : 'flush')
    await (await world.start(step)).ended()
    await (await world.start(step)).ended()
    await goesOn(world)
    expect(inOrder(world.logged)).toEqual(await untroubled(settings))
    expect(inOrder(once(world.collected))).toEqual(await untroubled(settings))
    expect(world.spool).toEqual([])
  },
)

test.each([{}, HELD])(
  'keeps open turns of a receiver from being ended as crashed by another agent (%j)',
  async settings => {
    const world = await World.create(settings)
    await killedAfter(world)
    await anotherAgent(world)
    await goesOn(world)
    await anotherAgent(world)
    expect(inOrder(world.logged.filter(notOfAnother))).toEqual(await untroubled(settings))
    expect(inOrder(world.collected.filter(notOfAnother))).toEqual(await untroubled(settings))
    expect(world.spool).toEqual([])
  },
)

test('does not send sampled spans again after a takeover', async () => {
  const [before, after] = [twoTurns('s2').slice(0, 6), twoTurns('s2').slice(6)]
  const later = (steps: typeof before, millis: number): typeof before =>
    steps.map(([at, ...told]) => [at + millis, ...told])
  const events = toldOf([...before, ...later(twoTurns('s1'), 1000), ...later(after, 9000)])
  const untilOver = before.length + twoTurns('s1').length
  const [calm, world] = [await World.create(HELD), await World.create(HELD)]
  const alone = await calm.open()
  for (const told of events) alone.recordEvent(told)
  await alone.close('end')
  const first = await world.start()
  await first.take(events.slice(0, untilOver))
  await first.ask('flush')
  expect(world.collected.length).toBeGreaterThan(5)
  await first.die()
  const next = await world.open()
  for (const told of events.slice(untilOver)) next.recordEvent(told)
  await next.close('end')
  expect(inOrder(world.collected)).toEqual(inOrder(calm.collected))
  expect(world.spool).toEqual([])
})

test('sends a crashed turn whole that outlived two receivers', async () => {
  const world = await World.create({ ...HELD, root_span_ttl_ms: HOUR_MILLIS, open_work_ttl_ms: HOUR_MILLIS })
  await killedAfter(world)
  const second = await world.start()
  await second.take(EVENTS.slice(OPEN.length, OPEN.length + 2))
  await second.ask('flush')
  // What the first one has left is taken over, and nobody will look there again.
  await until(() => world.spool.length === 1)
  await second.die()
  const left = world.spool.map(segmentOf)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * HOUR_MILLIS })
  afterwards(() => vi.useRealTimers())
  const third = await world.open()
  await until(() => !world.spool.some(name => left.includes(segmentOf(name))))
  await third.close('end')
  expect(world.spool).toEqual([])
  expect(world.logged.some(({ attributes }) => attributes['hermes.span.incomplete'] === 'crashed')).toBe(true)
  expect(inOrder(world.collected)).toEqual(inOrder(world.logged))
})

if (IS_DEEP) {
  test("continues spans that another agent's process holds because it could not send them, and does not mark them as crashed", async () => {
    const world = await World.create({ force_flush_wait_ms: 500 })
    world.sink.behaviour = { kind: 'status', status: 503 }
    await killedAfter(world)
    await anotherAgent(world, async () => {
      const held = world.spool
      await goesOn(world)
      expect(world.spool).toEqual(expect.arrayContaining(held))
    })
    world.sink.behaviour = { kind: 'ok' }
    const refused = world.sink.requests.length
    await anotherAgent(world)
    await until(() => world.spool.length === 0)
    expect(inOrder(world.logged.filter(notOfAnother))).toEqual(await untroubled())
    expect(inOrder(world.collectedSince(refused).filter(notOfAnother))).toEqual(await untroubled())
  })
}

/** What a receiver has left that was killed longer ago than a turn may be silent. */
async function leftLongAgo(): Promise<World> {
  const world = await World.create({ root_span_ttl_ms: HOUR_MILLIS, open_work_ttl_ms: HOUR_MILLIS })
  const receiver = await world.start()
  await receiver.take(OPEN.slice(0, 3))
  await receiver.ask('flush')
  await receiver.die()
  // Its own timer must not have ended the turn as silent: only the clock of the next process passes the hour.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * HOUR_MILLIS })
  afterwards(() => vi.useRealTimers())
  return world
}

test.each([{}, HELD])('continues a turn that waits for a user an hour later (%j)', async settings => {
  const world = await World.create({ ...settings, root_span_ttl_ms: 600_000 })
  await killedAfter(world)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + HOUR_MILLIS })
  afterwards(() => vi.useRealTimers())
  await anotherAgent(world)
  await goesOn(world)
  expect(inOrder(world.logged.filter(notOfAnother))).toEqual(await untroubled(settings))
  expect(inOrder(world.collected.filter(notOfAnother))).toEqual(await untroubled(settings))
})

test('ends turns as crashed that were open before a reboot', async () => {
  const world = await World.create()
  await killedAfter(world)
  const next = await world.open({ bootedAt: Date.now() })
  await next.flush()
  await next.close('handover')
  expect(treesOf(world.logged, false)).toContain('agent UNSET (incomplete: crashed)')
  expect(world.logged.filter(span => span.attributes['hermes.span.incomplete'] === 'crashed')).toHaveLength(4)
})

test('ends old turns as crashed, and discards their journal', async () => {
  const world = await leftLongAgo()
  const next = await world.open()
  await next.flush()
  await next.close('handover')
  expect(treesOf(world.logged, false)).toMatchInlineSnapshot(`
    "agent UNSET (incomplete: crashed) [hermes.turn.number=1, hermes.turn.final_status=crashed, hermes.span.incomplete=crashed]
      llm.qwen3 UNSET (incomplete: crashed) [hermes.span.incomplete=crashed]
        api.qwen3 UNSET (incomplete: crashed) [hermes.span.incomplete=crashed]"
  `)
  expect(world.spool).toEqual([])
})

if (IS_DEEP) {
  test('marks them as crashed for another agent if no receiver follows', async () => {
    const world = await leftLongAgo()
    await anotherAgent(world)
    expect(treesOf(world.logged.filter(notOfAnother), false)).toMatchInlineSnapshot(`
      "agent UNSET (incomplete: crashed) [hermes.turn.number=1, hermes.turn.final_status=crashed, hermes.span.incomplete=crashed]
        llm.qwen3 UNSET (incomplete: crashed) [hermes.span.incomplete=crashed]
          api.qwen3 UNSET (incomplete: crashed) [hermes.span.incomplete=crashed]"
    `)
    expect(world.spool).toEqual([])
  })

  test('tolerates a clock that was set back between two receivers', async () => {
    const world = await World.create()
    await killedAfter(world)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 1_800_000 })
    afterwards(() => vi.useRealTimers())
    await goesOn(world)
    expect(inOrder(world.logged)).toEqual(await untroubled())
    expect(inOrder(world.collected)).toEqual(await untroubled())
  })
}

test('has sent ended spans without a trace log, and continues open ones', async () => {
  const world = await World.create({ local_log: false })
  const one = await world.open()
  for (const told of OPEN) one.recordEvent(told)
  await one.flush()
  await one.close('handover')
  await goesOn(world)
  expect(existsSync(`${world.home}/state/hookspan/traces`)).toBe(false)
  expect(inOrder(world.collected)).toEqual(await untroubled())
})

/** One way of judging that keeps all, and one that keeps none of them. */
const ALL_OR_NONE = [[HELD, true] as const, [{ keep: true }, false] as const]

test.each(ALL_OR_NONE)(
  'sends buffered traces whole or not at all without a trace log (%j)',
  async (settings, isSent) => {
    const world = await World.create({ local_log: false, ...settings })
    const one = await world.open()
    for (const told of OPEN) one.recordEvent(told)
    await one.flush()
    await one.close('handover')
    expect(world.collected).toEqual([])
    await goesOn(world)
    expect(inOrder(world.collected)).toEqual(isSent ? await untroubled(settings) : [])
  },
)

test('loses no buffered span without a trace log when killed', async () => {
  const world = await World.create({ local_log: false, ...HELD })
  await killedAfter(world)
  await goesOn(world)
  expect(inOrder(world.collected)).toEqual(await untroubled(HELD))
})

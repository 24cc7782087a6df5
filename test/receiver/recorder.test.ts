import { expect, test } from 'vitest'
import type { StoredSpan } from '../../src/reading/stored-span.ts'
import type { ReceivedEvent } from '../../src/receiver/recorder.ts'
import fc from '../support/fast-check.ts'
import { IS_DEEP, SAMPLED, sample } from '../support/sample.ts'
import { metricSums } from './metric-sums.ts'
import { shuffled, toldOf, twoTurns } from './scenario.ts'
import { inOrder, once, treesOf, World } from './world.ts'

const EVENTS = toldOf(twoTurns())

interface Recorded {
  readonly spans: readonly StoredSpan[]
  readonly metrics: Readonly<Record<string, number>>
}

/** The events, cut behind some of them: all that is told to one receiver after another. */
function pieces(count: number): ReceivedEvent[][] {
  const cuts = sample([...EVENTS.keys()], count)
  return cuts.map((cut, index) => EVENTS.slice(index === 0 ? 0 : (cuts[index - 1] as number) + 1, cut + 1))
}

/** What nobody was told of these. */
function rest(told: readonly ReceivedEvent[][]): ReceivedEvent[] {
  return EVENTS.slice(told.flat().length)
}

/** What is recorded of them by a receiver that nothing happens to. */
async function untroubled(events: readonly ReceivedEvent[] = EVENTS): Promise<Recorded> {
  const world = await World.create()
  const recorder = await world.open()
  for (const told of events) recorder.recordEvent(told)
  await recorder.flush()
  await recorder.close('end')
  return { spans: inOrder(world.collected), metrics: metricSums([world.sink.requests]) }
}

/** What a receiver makes of it that is the last one, in this process. */
async function atLast(world: World, events: readonly ReceivedEvent[] = []): Promise<void> {
  const last = await world.open()
  for (const told of events) last.recordEvent(told)
  await last.flush()
  expect(last.openTurns).toBe(0)
  await last.close('end')
}

test("builds a tree from agents' events", async () => {
  expect(treesOf((await untroubled()).spans)).toMatchInlineSnapshot(`
    "agent OK 1.2 s [hermes.turn.number=1, hermes.turn.final_status=completed]
      llm.qwen3 OK 1.2 s
        api.qwen3 OK 100 ms [gen_ai.usage.input_tokens=100]
        tool.terminal OK 760 ms
          approval OK 250 ms
        tool.read_file OK 39 ms
        tool.delegate_task OK 180 ms
          subagent.researcher OK 160 ms
            agent OK 140 ms [hermes.turn.number=1, hermes.turn.final_status=completed]
              llm.small OK 120 ms
                api.qwen3 OK 100 ms [gen_ai.usage.input_tokens=40]
        api.qwen3 OK 100 ms [gen_ai.usage.input_tokens=160]

    agent OK 130 ms [hermes.turn.number=2, hermes.turn.final_status=completed]
      llm.qwen3 OK 120 ms
        api.qwen3 OK 100 ms [gen_ai.usage.input_tokens=200]"
  `)
})

test('records one tree, measured once, if killed after any event', async () => {
  const world = await World.create()
  const requests = []
  const told = pieces(3)
  for (const piece of told) {
    const before = world.sink.requests.length
    const receiver = await world.start()
    await receiver.take(piece)
    await receiver.ask('flush')
    await receiver.die()
    requests.push(world.sink.requests.slice(before))
  }
  const before = world.sink.requests.length
  await atLast(world, rest(told))
  requests.push(world.sink.requests.slice(before))
  const { spans, metrics } = await untroubled()
  expect(treesOf(world.logged)).toBe(treesOf(spans))
  expect(inOrder(world.logged)).toEqual(spans)
  expect(inOrder(world.collected)).toEqual(spans)
  expect(metricSums(requests)).toEqual(metrics)
  expect(world.spool).toEqual([])
})

test('records the same tree if killed right after processing any event', async () => {
  const world = await World.create()
  const told = pieces(2)
  for (const piece of told) {
    const receiver = await world.start()
    await receiver.take(piece)
    await receiver.ask('worked')
    await receiver.die()
  }
  await atLast(world, rest(told))
  const { spans } = await untroubled()
  expect(inOrder(world.logged)).toEqual(spans)
  // A request whose answer there was no time to note is sent again.
  expect(inOrder(once(world.collected))).toEqual(spans)
  expect(world.spool).toEqual([])
})

test('records one tree, sent and measured once, if handed over after each event', async () => {
  const world = await World.create()
  const requests = []
  for (const told of EVENTS) {
    const before = world.sink.requests.length
    const receiver = await world.open()
    receiver.recordEvent(told)
    await receiver.close('handover')
    requests.push(world.sink.requests.slice(before))
  }
  await atLast(world)
  const { spans, metrics } = await untroubled()
  expect(inOrder(world.collected)).toEqual(spans)
  expect(metricSums(requests)).toEqual(metrics)
  expect(world.spool).toEqual([])
})

test.each(sample(['exit', 'throw'] as const, 1))(
  `leaves open spans open when a receiver ends by itself (%s), ${SAMPLED}`,
  async how => {
    const world = await World.create()
    const told = pieces(2)
    for (const piece of told) {
      const receiver = await world.start()
      await receiver.take(piece)
      await receiver.die(how)
    }
    await atLast(world, rest(told))
    expect(inOrder(once(world.collected))).toEqual((await untroubled()).spans)
  },
)

if (IS_DEEP) {
  test('records two interleaved sessions in any order with a kill at any place', async () => {
    const sessions = [toldOf(twoTurns('a')), toldOf(twoTurns('b'), 'other')] as const
    const places = fc.array(fc.nat({ max: sessions[0].length * 2 }), { minLength: 1, maxLength: 2 })
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.boolean()), places, fc.boolean(), async (order, kills, isSent) => {
        const events = shuffled(sessions, order)
        const world = await World.create()
        let from = 0
        for (const to of kills.sort((a, b) => a - b)) {
          const receiver = await world.start()
          await receiver.take(events.slice(from, to))
          await receiver.ask(isSent ? 'flush' : 'worked')
          await receiver.die()
          from = to
        }
        await atLast(world, events.slice(from))
        const { spans } = await untroubled(events)
        expect(inOrder(world.logged)).toEqual(spans)
        expect(inOrder(isSent ? world.collected : once(world.collected))).toEqual(spans)
      }),
      { numRuns: 30 },
    )
  })
}

test('ends open spans if no receiver follows', async () => {
  const world = await World.create()
  const receiver = await world.open()
  for (const told of EVENTS.slice(0, 6)) receiver.recordEvent(told)
  await receiver.close('end')
  expect(treesOf(world.collected, false)).toMatchInlineSnapshot(`
    "agent UNSET (incomplete: shutdown) [hermes.turn.number=1, hermes.turn.final_status=incomplete, hermes.span.incomplete=shutdown]
      llm.qwen3 UNSET (incomplete: shutdown) [hermes.span.incomplete=shutdown]
        api.qwen3 OK [gen_ai.usage.input_tokens=100]
        tool.terminal UNSET (incomplete: shutdown) [hermes.span.incomplete=shutdown]
        tool.read_file UNSET (incomplete: shutdown) [hermes.span.incomplete=shutdown]"
  `)
  const next = await world.open()
  expect(next.openTurns).toBe(0)
})

test('records a repeated delivery once, also across two receivers', async () => {
  const world = await World.create()
  const one = await world.open()
  for (const told of [...EVENTS, ...EVENTS]) one.recordEvent(told)
  await one.close('handover')
  await atLast(world, EVENTS)
  expect(inOrder(world.collected)).toEqual((await untroubled()).spans)
})

test('leaves the state of sessions to the next receiver if nothing is open', async () => {
  const world = await World.create()
  const first = EVENTS.slice(0, -5)
  const one = await world.open()
  for (const told of first) one.recordEvent(told)
  await one.close('end')
  await atLast(world, EVENTS.slice(first.length))
  expect(inOrder(world.collected)).toEqual((await untroubled()).spans)
})

test('gives an event without a time that of the previous one, also in a replay', async () => {
  const timeless = EVENTS.map((told, index) => {
    const { at, ...event } = told.event
    return index % 4 === 3 ? { ...told, event } : told
  })
  const asOld = EVENTS.map((told, index) =>
    index % 4 === 3 ? { ...told, event: { ...told.event, at: EVENTS[index - 1]?.event.at as number } } : told,
  )
  const world = await World.create()
  const one = await world.open()
  for (const told of timeless.slice(0, 7)) one.recordEvent(told)
  await one.close('handover')
  await atLast(world, timeless.slice(7))
  expect(inOrder(world.collected)).toEqual((await untroubled(asOld)).spans)
})

test('reports a wrong configuration once, however many agents there are', async () => {
  const world = await World.create({ root_spam_ttl_ms: 1 })
  const receiver = await world.open()
  receiver.recordEvent(EVENTS[0] as ReceivedEvent)
  receiver.recordEvent({ host: 'pi', event: { event: 'session_start', at: Date.now(), data: {} } })
  await receiver.flush()
  expect(world.lines).toHaveLength(1)
  expect(world.lines[0]).toContain('root_spam_ttl_ms')
})

test('distinguishes the starter of the receiver from the sender of turns', async () => {
  const world = await World.create()
  world.variables = { TRACEPARENT: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }
  await atLast(world, EVENTS)
  expect(inOrder(world.collected)).toEqual((await untroubled()).spans)
})

test('does not count a failed turn as open, and ends it as failed at shutdown', async () => {
  const ids = { session_id: 's1', turn_id: 't1' }
  const request = { ...ids, api_request_id: 'r1', model: 'qwen3' }
  const failed = toldOf([
    [0, 'on_session_start', { session_id: 's1' }],
    [20, 'pre_llm_call', { ...ids, model: 'qwen3' }],
    [100, 'pre_api_request', request],
    [200, 'api_request_error', { ...request, retryable: false, error: { type: 'AuthenticationError' } }],
  ])
  const world = await World.create()
  const recorder = await world.open()
  for (const told of failed.slice(0, 3)) recorder.recordEvent(told)
  await recorder.flush()
  expect(recorder.openTurns).toBe(1)
  recorder.recordEvent(failed[3] as ReceivedEvent)
  await recorder.flush()
  expect(recorder.openTurns).toBe(0)
  await recorder.close('end')
  expect(treesOf(inOrder(world.collected))).toMatchInlineSnapshot(`
    "agent ERROR AuthenticationError 200 ms [hermes.turn.number=1, hermes.turn.final_status=failed]
      llm.qwen3 UNSET 180 ms (incomplete: turn_ended) [hermes.span.incomplete=turn_ended]
        api.qwen3 ERROR AuthenticationError 100 ms"
  `)
})

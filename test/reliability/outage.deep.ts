import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { type ChaosBehaviour, chaosSchedule } from '../support/chaos-sink.mjs'
import { endedKeys, spanKey, toldSpans } from '../support/witness.ts'
import type { Host } from './host.ts'
import { inScene } from './scene.ts'
import { configure, OK, sinkOf, WORK, workThrough } from './work-through.ts'

vi.setConfig({ maxConcurrency: 5 })

/** Of an outage. At the first ones not everything is there that it needs. */
const REPORTS = 12

/** So that nothing is asked of a collector too early: clocks of two processes, rounded. */
const CLOCK_MILLIS = 25

describe('a collector that is down for a while', () => {
  test(
    'gets everything once when it is back, and meanwhile memory does not grow',
    inScene(async scene => {
      const sink = await scene.sink({ kind: 'down' })
      // So long that what was told is written whenever memory is looked at.
      configure(scene, sink, {}, { content_capture: 'full', force_flush_wait_ms: 60_000 })
      const load = { reportHooks: 600, reports: REPORTS, hooksPerSecond: 1500, sessions: 20, contentChars: 20_000 }
      const host = scene.start({ ...load, end: 'stdin' })
      while (host.reports.length < REPORTS) await pause(50)
      const memory = host.reports.map(({ memory }) => memory.heapUsed + memory.external)
      await sink.comeBack()
      await scene.settled([sink])
      const end = await host.finish()
      expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
      // Not by their end times: a turn that has its answer when the process ends gets the time of its last record.
      const ended = endedKeys(host.account().witness)
      expect(
        ended.findIndex((key, index) => key !== spanKey(sink.accepted[index] ?? { attributes: {} })),
        'the first that is out of order',
      ).toBe(-1)
      const told = sink.accepted.filter(({ name }) => name.startsWith('tool.')).length * load.contentChars
      expect(told, 'bytes told').toBeGreaterThan(10e6)
      // What an attempt that is under way holds comes and goes: the least of several is what stays.
      const [early, late] = [Math.min(...memory.slice(3, 8)), Math.min(...memory.slice(-4))]
      expect(late - early, 'bytes grown').toBeLessThan(told / 4)
      expect(end.stderr.filter(line => /nothing listens/.test(line))).toHaveLength(1)
      expect(end.stderr.length, 'one line at its onset, one at its end').toBeLessThanOrEqual(2)
    }),
  )
})

const TROUBLES: [string, ChaosBehaviour][] = [
  ['503', { kind: 'status', status: 503 }],
  ['502', { kind: 'status', status: 502 }],
  ['500', { kind: 'status', status: 500 }],
  ['a connection that is closed before the request is read', { kind: 'reset', when: 'before' }],
  ['a connection that is closed without an answer', { kind: 'reset', when: 'after' }],
]

describe.concurrent('a temporary failure', () => {
  test.for(TROUBLES)('is survived without loss: %s', ([_what, trouble]) =>
    inScene(async scene => {
      const sink = await sinkOf(scene, { kind: 'sequence', of: [trouble, trouble, OK] })
      await workThrough(scene, [sink])
      expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
      expect(sink.requests.filter(({ answer }) => answer !== 200)).toHaveLength(2)
    })(),
  )

  test.for([1, 2])('is followed by others of all sorts, one after the other: each span arrives once (seed %i)', seed =>
    inScene(async scene => {
      const sink = await sinkOf(scene, OK)
      sink.play(chaosSchedule(seed, 4000))
      const host = scene.start({ ...WORK, seed, turns: 45 })
      await host.over()
      // A turn that is open then goes out at the end of the process, which has one try.
      sink.play([{ forMillis: 0, behaviour: OK }])
      await scene.settled([sink])
      await host.finish()
      expect(scene.check(sink).problems).toEqual([])
    })(),
  )

  test('is an answer that never arrives', () =>
    inScene(async scene => {
      const sink = await scene.sink({ kind: 'sequence', of: [{ kind: 'hanging' }, OK] })
      configure(scene, sink, { timeout_ms: 4000 })
      await workThrough(scene, [sink])
      expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
    })())

  test.for([1, 2])('is repeated at random (seed %i)', seed =>
    inScene(async scene => {
      const mix = [
        { share: 6, behaviour: OK },
        { share: 1, behaviour: { kind: 'slow', millis: 150 } },
        { share: 1, behaviour: { kind: 'status', status: 503 } },
        { share: 1, behaviour: { kind: 'reset', when: 'after' } },
        { share: 1, behaviour: { kind: 'status', status: 429, retryAfter: { seconds: 1 } } },
      ] as const
      const sink = await sinkOf(scene, { kind: 'flapping', seed, mix })
      const host = scene.start({ ...WORK, seed, turns: 30 })
      await host.over()
      sink.behaviour = OK
      await scene.settled([sink])
      await host.finish()
      expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
    })(),
  )

  const PAUSES = [
    ['in seconds', { seconds: 2 }, 429],
    ['as a date', { dateInMillis: 3000 }, 429],
    ['in seconds, with 503', { seconds: 2 }, 503],
  ] as const

  test.for(PAUSES)('is a requested pause, which is kept: %s', ([_how, retryAfter, status]) =>
    inScene(async scene => {
      const busy: ChaosBehaviour = { kind: 'status', status, retryAfter }
      // At once: on a busy machine a second request may be that of the end, which waits for no such pause.
      const sink = await sinkOf(scene, { kind: 'sequence', of: [busy, OK] })
      await workThrough(scene, [sink], { ...WORK, turns: 30 })
      expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
      const asked = sink.requests.findIndex(({ retryAt }) => retryAt !== undefined)
      const [before, after] = [sink.requests[asked], sink.requests[asked + 1]]
      expect(after?.at).toBeGreaterThanOrEqual((before?.retryAt ?? Number.NaN) - CLOCK_MILLIS)
    })(),
  )
})

describe.concurrent('a failing backend of two', () => {
  /** Of turns that have ended. */
  function turnsTold(host: Host): string[] {
    const told = [...toldSpans(host.account().witness).values()]
    return told.flatMap(({ key, endAt }) => (key.startsWith('session ') && endAt !== undefined ? [key] : []))
  }

  const UNWELL: [string, ChaosBehaviour][] = [
    ['down', { kind: 'down' }],
    ['hanging', { kind: 'hanging' }],
    ['slow', { kind: 'slow', millis: 3000 }],
  ]

  test.for(UNWELL)(
    'does not affect the other one, which gets everything, each turn at its end: %s',
    ([_how, behaviour]) =>
      inScene(async scene => {
        const [sink, beside] = [await scene.sink(), await scene.sink(behaviour)]
        const backends = [
          { name: 'only', endpoint: sink.url },
          { name: 'beside', endpoint: beside.url },
        ]
        // Longer than the test: nothing is sent because time has passed.
        scene.configure(backends, { span_batch_schedule_delay_ms: 300_000 })
        const host = scene.start({ turns: 6, hooksPerSecond: 300, sessions: 6, end: 'stdin', reportMillis: 250 })
        while (host.lastReport?.isOver !== true) await pause(50)
        const turns = turnsTold(host)
        expect(turns).toHaveLength(6)
        await sink.until(() => turns.every(key => sink.accepted.some(span => spanKey(span) === key)), 'each turn')
        await host.finish()
        expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
      })(),
  )
})

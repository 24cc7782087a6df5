import { describe, expect, test, vi } from 'vitest'
import type { ChaosBehaviour } from '../support/chaos-sink.mjs'
import { IS_DEEP, SAMPLED, sample } from '../support/sample.ts'
import type { Host, HostOptions } from './host.ts'
import { inScene, type Scene } from './scene.ts'

vi.setConfig({ maxConcurrency: 4 })

const FLUSH_WAIT_MILLIS = 500
/** The bound, and what a busy machine adds to it. Without a bound it would be as long as a collector takes. */
const LONGEST_END_MILLIS = FLUSH_WAIT_MILLIS + 15_000
const COLLECTOR_MILLIS = 50_000

const COLLECTORS: [string, ChaosBehaviour][] = [
  ['down', { kind: 'down' }],
  ['hanging', { kind: 'hanging' }],
  ['slow', { kind: 'slow', millis: COLLECTOR_MILLIS }],
  ['unwell', { kind: 'status', status: 503 }],
  ['up', { kind: 'ok' }],
]

/** What a host tells before it ends: a few turns, the last of which is just over. */
const FEW_TURNS: HostOptions = { turns: 4, sessions: 3, hooksPerSecond: 1000, contentChars: 500 }

async function sinkOf(scene: Scene, behaviour: ChaosBehaviour) {
  const sink = await scene.sink(behaviour)
  scene.configure([{ name: 'only', endpoint: sink.url, protocol: 'http/json', timeout_ms: COLLECTOR_MILLIS }], {
    force_flush_wait_ms: FLUSH_WAIT_MILLIS,
    span_batch_export_timeout_ms: COLLECTOR_MILLIS,
  })
  return sink
}

function lastWitnessAt(host: Host): number {
  return host.account().witness.at(-1)?.at ?? 0
}

/** Plays an end under a collector's behaviour; when that is over, the next process has to deliver what is missing. */
async function endAndStartAgain(scene: Scene, behaviour: ChaosBehaviour, options: HostOptions) {
  const sink = await sinkOf(scene, behaviour)
  const host = scene.start({ ...FEW_TURNS, ...options })
  const end = await host.ended
  const tookMillis = end.endedAt - lastWitnessAt(host)
  sink.behaviour = { kind: 'ok' }
  await sink.comeBack()
  await scene.successor([sink])
  return { end, tookMillis, check: scene.check(sink), spool: scene.files('spool') }
}

const NOTHING_LOST = { check: { problems: [] }, spool: [] }

const ENDS = [
  ['process.exit right after the answer', 'exit', 0],
  ['process.exit inside a hook', 'exit in hook', 7],
  ['an uncaught exception', 'throw', 1],
  ['nothing left to do', 'natural', 0],
  ['a shutdown', 'shutdown', 0],
] as const

/** An exit does not wait for a collector, so it cannot tell them apart. */
function endsWith(collector: string): readonly (typeof ENDS)[number][] {
  const waiting = ENDS.slice(-2)
  if (IS_DEEP) return collector === 'hanging' || collector === 'unwell' ? waiting : ENDS
  return sample(waiting, 1)
}

const [DOWN, HANGING, ...OTHERS] = COLLECTORS

test(
  'loses nothing after the next start, whatever ends processes that share a directory, while the collector is down',
  inScene(async scene => {
    const sink = await sinkOf(scene, { kind: 'down' })
    await Promise.all(
      ENDS.map(async ([, end, code]) => {
        const host = scene.start({ ...FEW_TURNS, end })
        const ended = await host.ended
        expect(ended, end).toMatchObject({ code, signal: null })
        expect(ended.endedAt - lastWitnessAt(host), end).toBeLessThan(LONGEST_END_MILLIS)
      }),
    )
    sink.behaviour = { kind: 'ok' }
    await sink.comeBack()
    await scene.successor([sink])
    expect({ check: scene.check(sink), spool: scene.files('spool') }).toMatchObject(NOTHING_LOST)
  }),
)

describe.concurrent.each([...(IS_DEEP ? [DOWN!] : []), HANGING!, ...sample(OTHERS, 1)])(
  `a process that ends with a collector that is %s, ${SAMPLED}`,
  (how, it) => {
    test.for(endsWith(how))('loses nothing after the next start: %s', ([_way, end, code]) =>
      inScene(async scene => {
        const played = await endAndStartAgain(scene, it, { end })
        expect(played).toMatchObject({ ...NOTHING_LOST, end: { code, signal: null } })
        expect(played.tookMillis).toBeLessThan(LONGEST_END_MILLIS)
      })(),
    )
  },
)

test(
  "prints a host's own exception as without hookspan",
  inScene(async scene => {
    await sinkOf(scene, { kind: 'ok' })
    const end = await scene.start({ ...FEW_TURNS, end: 'throw' }).ended
    expect(end.stderr.join('\n')).toMatch(/Error: the host broke\n +at /)
    expect(end.stderr.filter(line => line.startsWith('hookspan:'))).toEqual([])
  }),
)

test(
  "delivers another process's backlog in a live process, without a request",
  inScene(async scene => {
    const sink = await sinkOf(scene, { kind: 'down' })
    await scene.start({ ...FEW_TURNS, end: 'exit' }).ended
    await sink.comeBack()
    const next = scene.start({ turns: 1, sessions: 1, hooksPerSecond: 2000, end: 'stdin' })
    await next.over()
    await scene.settled([sink])
    // Before it ends: an end sends what is left, too.
    expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
    expect(await next.finish()).toMatchObject({ code: 0, stderr: [] })
  }),
)

import { setTimeout as pause } from 'node:timers/promises'
import { test } from 'vitest'
import { type ChaosBehaviour, type ChaosSink, chaosSchedule } from '../../support/chaos-sink.mjs'
import { checkSameSpans } from '../../support/delivery-check.ts'
import { inScene, type Scene } from '../scene.ts'
import { inParallel, Tally } from './soak-row.ts'

const OK: ChaosBehaviour = { kind: 'ok' }
const CHAOS_MILLIS = 60_000
const PATIENCE_MILLIS = 75_000
const LIFE_MILLIS = CHAOS_MILLIS + PATIENCE_MILLIS + 30_000
const PARTIAL_MILLIS = 6000
const PARTIAL = { kind: 'partial', rejected: 3 } as const

const FLAPPING: ChaosBehaviour = {
  kind: 'flapping',
  seed: 1,
  mix: [
    { share: 8, behaviour: OK },
    { share: 1, behaviour: { kind: 'slow', millis: 200 } },
    { share: 1, behaviour: { kind: 'status', status: 503 } },
    { share: 1, behaviour: { kind: 'status', status: 429, retryAfter: { seconds: 1 } } },
    { share: 1, behaviour: { kind: 'reset', when: 'before' } },
    { share: 1, behaviour: { kind: 'reset', when: 'after' } },
    { share: 1, behaviour: { kind: 'limit', bytes: 8000 } },
  ],
}

function answersOf({ requests }: ChaosSink): string {
  const counts = new Map<string, number>()
  for (const { answer } of requests) counts.set(String(answer), (counts.get(String(answer)) ?? 0) + 1)
  return [...counts].map(([answer, times]) => `${times} × ${answer}`).join(', ')
}

async function suffer(scene: Scene, tally: Tally): Promise<string> {
  const [one, other] = [await scene.sink(), await scene.sink(FLAPPING)]
  scene.configure([
    { name: 'one', endpoint: one.url, protocol: 'http/json', timeout_ms: 5000 },
    { name: 'other', endpoint: other.url, protocol: 'http/protobuf', compression: 'gzip' },
  ])
  one.play(chaosSchedule(1, CHAOS_MILLIS))
  const work = { forMillis: CHAOS_MILLIS, hooksPerSecond: 600, sessions: 20, contentChars: 500 }
  const host = scene.start({ ...work, lifeMillis: LIFE_MILLIS, end: 'stdin' })
  await host.ready()
  await pause(CHAOS_MILLIS)
  for (const sink of [one, other]) {
    sink.play([{ forMillis: 0, behaviour: OK }])
    await sink.comeBack()
  }
  await scene.settled([one, other], { millis: PATIENCE_MILLIS })
  await host.finish()
  // An answer that came just too late is none: that repeats happen is no fault here, and the table says how many.
  for (const sink of [one, other]) tally.add(scene, sink, /^twice: /)
  tally.problems.push(...checkSameSpans(one, other))
  return `answers: ${answersOf(one)}; and ${answersOf(other)}`
}

test('survives a minute of trouble', async () => {
  const tally = new Tally()
  let figures = ''
  await tally.run(
    'chaos',
    inScene(async scene => {
      figures = await suffer(scene, tally)
    }),
  )
  tally.end(
    3,
    'a minute with two collectors that go down, hang, reset connections, answer late or with 503, 429 and 413, in turn and at random',
    figures,
  )
})

async function beRejected(scene: Scene, protocol: 'http/json' | 'http/protobuf', tally: Tally): Promise<void> {
  const sink = await scene.sink({
    kind: 'flapping',
    seed: 2,
    mix: [OK, PARTIAL].map(behaviour => ({ share: 1, behaviour })),
  })
  scene.configure([{ name: 'only', endpoint: sink.url, protocol }])
  const host = scene.start({ forMillis: PARTIAL_MILLIS, hooksPerSecond: 600, sessions: 10, end: 'stdin' })
  await host.ready()
  await pause(PARTIAL_MILLIS)
  await host.finish()
  tally.addCounted(scene, host, sink)
}

test('survives partial rejection', async () => {
  const tally = new Tally()
  await inParallel(['http/json', 'http/protobuf'] as const, 1, protocol =>
    tally.run(
      protocol,
      inScene(scene => beRejected(scene, protocol, tally)),
    ),
  )
  tally.end(4, 'a collector that accepts requests and rejects some of their spans', 'JSON and protobuf')
})

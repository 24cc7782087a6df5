import { setTimeout as pause } from 'node:timers/promises'
import { test } from 'vitest'
import type { ChaosBehaviour } from '../../support/chaos-sink.mjs'
import { checkSameSpans } from '../../support/delivery-check.ts'
import { type Random, seeded, wholeNumber } from '../../support/seeded.mjs'
import { inScene, type Scene } from '../scene.ts'
import { inParallel, Tally } from './soak-row.ts'

/** The deep suite, which has `kill.test.ts` beside this, asks for fewer: they are most of the time of the soak. */
const RUNS = Number(process.env['HOOKSPAN_SOAK_KILLS'] ?? 200)
const AT_ONCE = 4
/** Each so many: the process that was to deliver what the first one left is killed, too. */
const DOUBLE_EVERY = 5
const LONGEST_LIFE_MILLIS = 1500
const PATIENCE_MILLIS = 30_000
/** A machine that is too slow for all of them does as many as it can. */
const LAST_START_MILLIS = 230_000

const ILLS: readonly ChaosBehaviour[] = [
  { kind: 'ok' },
  { kind: 'down' },
  { kind: 'slow', millis: 200 },
  { kind: 'status', status: 503 },
]

async function liveAndDie(scene: Scene, random: Random, seed: number): Promise<void> {
  const host = scene.start({
    seed,
    hooksPerSecond: wholeNumber(random, 100, 1500),
    sessions: wholeNumber(random, 1, 8),
    contentChars: wholeNumber(random, 0, 2000),
  })
  // Some while they are still loading.
  if (seed % 6 !== 0) await host.ready()
  await pause(random() * LONGEST_LIFE_MILLIS)
  await host.kill()
}

async function playOut(scene: Scene, seed: number, tally: Tally): Promise<void> {
  const random = seeded(seed)
  const [one, other] = [await scene.sink(), await scene.sink(ILLS[seed % ILLS.length])]
  const backends = [
    { name: 'one', endpoint: one.url, protocol: 'http/json' },
    { name: 'other', endpoint: other.url, protocol: 'http/protobuf', compression: 'gzip' },
  ] as const
  // A third of them held until they are judged, and all kept: then the same must arrive.
  scene.configure(backends, seed % 3 === 0 ? { keep: { rate: 1 } } : {})
  await liveAndDie(scene, random, seed)
  if (seed % DOUBLE_EVERY === 0) await liveAndDie(scene, random, seed + RUNS)
  other.behaviour = { kind: 'ok' }
  await other.comeBack()
  const { code, stderr } = await scene.successor([one, other], { millis: PATIENCE_MILLIS })
  if (code !== 0) tally.problems.push(`the next process ended with ${code}: ${stderr.join(' / ')}`)
  for (const sink of [one, other]) tally.add(scene, sink)
  tally.problems.push(...checkSameSpans(one, other))
  tally.problems.push(...[...scene.files('spool'), ...scene.files('kept/spool')].map(path => `still owed: ${path}`))
}

test('survives kills at any moment', async () => {
  const tally = new Tally()
  const startedAt = performance.now()
  await inParallel([...Array(RUNS).keys()], AT_ONCE, async seed => {
    if (performance.now() - startedAt > LAST_START_MILLIS) return
    await tally.run(
      `seed ${seed}`,
      inScene(scene => playOut(scene, seed, tally)),
    )
  })
  const kills = [...Array(tally.runs).keys()].reduce((sum, seed) => sum + (seed % DOUBLE_EVERY === 0 ? 2 : 1), 0)
  const isWhole = tally.runs === RUNS ? '' : `, of ${RUNS}: there was no time for more`
  tally.end(
    1,
    '`kill -9` at any moment with two backends, one healthy, the other healthy, down, slow or failing; the next process delivers',
    `${kills} kills${isWhole}`,
  )
})

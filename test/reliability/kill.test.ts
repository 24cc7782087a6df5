import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, test, vi } from 'vitest'
import type { ChaosBehaviour, ChaosSink } from '../support/chaos-sink.mjs'
import { checkSameSpans } from '../support/delivery-check.ts'
import { times } from '../support/sample.ts'
import { type Random, seeded, wholeNumber } from '../support/seeded.mjs'
import { inScene, type Scene } from './scene.ts'

const KILLS = times(2, 24)
const DOUBLE_KILLS = times(1, 6)
const LONGEST_LIFE_MILLIS = 1500

vi.setConfig({ maxConcurrency: 3 })

const seeds = (count: number, from: number): number[] => Array.from({ length: count }, (_, index) => from + index)
const totals = { kills: 0, told: 0, open: 0, uncertain: 0, excusedRepeats: 0, unnotedMillis: 0 }

/** What the second backend suffers while the first is well. */
const ILLS: readonly ChaosBehaviour[] = [
  { kind: 'ok' },
  { kind: 'down' },
  { kind: 'slow', millis: 200 },
  { kind: 'status', status: 503 },
]

/** One process that is killed after a time by chance: sometimes while it is still loading. */
async function liveAndDie(scene: Scene, random: Random, seed: number): Promise<void> {
  // Spread evenly over the runs: chance alone would leave gaps.
  const lifeMillis = (((seed * 7) % KILLS) + random()) * (LONGEST_LIFE_MILLIS / KILLS)
  const host = scene.start({
    seed,
    hooksPerSecond: wholeNumber(random, 100, 1500),
    sessions: wholeNumber(random, 1, 8),
    contentChars: wholeNumber(random, 0, 2000),
  })
  if (seed % 6 !== 0) await host.ready()
  await pause(lifeMillis)
  expect((await host.kill()).signal).toBe('SIGKILL')
  totals.kills++
}

async function playOut(scene: Scene, seed: number, kills: number): Promise<void> {
  const random = seeded(seed)
  const [one, other] = [await scene.sink(), await scene.sink(ILLS[seed % ILLS.length])]
  const backends = [
    { name: 'one', endpoint: one.url, protocol: 'http/json' },
    { name: 'other', endpoint: other.url, protocol: 'http/protobuf', compression: 'gzip' },
  ] as const
  // Held until they are judged, and all of them kept: then the same must arrive.
  scene.configure(backends, seed % 2 === 0 ? { keep: { rate: 1 } } : {})
  for (let kill = 0; kill < kills; kill++) await liveAndDie(scene, random, seed + kill)
  other.behaviour = { kind: 'ok' }
  await other.comeBack()
  const successor = await scene.successor([one, other])
  expect(successor).toMatchObject({ code: 0 })
  judge(scene, one, other)
}

function judge(scene: Scene, one: ChaosSink, other: ChaosSink): void {
  const checks = [scene.check(one), scene.check(other)]
  expect(checks.map(({ problems }) => problems)).toEqual([[], []])
  expect(checkSameSpans(one, other)).toEqual([])
  expect([...scene.files('spool'), ...scene.files('kept/spool')], 'nothing is owed to anybody').toEqual([])
  for (const { told, open, uncertain, excusedRepeats, unnotedMillis } of checks) {
    totals.told += told
    totals.open += open
    totals.uncertain += uncertain
    totals.excusedRepeats += excusedRepeats
    totals.unnotedMillis = Math.max(totals.unnotedMillis, unnotedMillis)
  }
}

describe.concurrent('a process that is killed at any moment', () => {
  test.each(seeds(KILLS, 1))('loses nothing: the next one delivers it (seed %i)', seed =>
    inScene(scene => playOut(scene, seed, 1))(),
  )
})

describe.concurrent('a recovering process that is killed, too', () => {
  test.each(seeds(DOUBLE_KILLS, 1001))('loses nothing: the next one delivers it (seed %i)', seed =>
    inScene(scene => playOut(scene, seed, 2))(),
  )
})

afterAll(() => {
  const { kills, told, open, uncertain, excusedRepeats, unnotedMillis } = totals
  console.log(
    `${kills} kills, two backends: ${told} spans told, ${open} of them open when killed, ${uncertain} told too late ` +
      `to be certain; ${excusedRepeats} repeats of what was answered at most ${unnotedMillis} ms before a kill`,
  )
})

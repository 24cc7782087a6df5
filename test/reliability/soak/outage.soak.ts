import { statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { test } from 'vitest'
import { ChaosSinkProcess } from '../../support/chaos-sink-process.mjs'
import { toldSpans } from '../../support/witness.ts'
import type { HostReport } from '../host.ts'
import { inScene, type Scene } from '../scene.ts'
import { mebi, median, Tally } from './soak-row.ts'

/** As many spans as two hundred a second for ten minutes. */
const HOOKS_PER_SECOND = 5000
const STREAM_MILLIS = 50_000
/**
 * Pauses between tries double from one second, each up to a quarter longer or shorter: the try after this is 47 to 79 s
 * after the first one, and the next would be a minute later.
 */
const OUTAGE_MILLIS = 45_000
const CATCH_UP_MILLIS = 90_000
const LIFE_MILLIS = STREAM_MILLIS + CATCH_UP_MILLIS + 30_000
const LOOK_MILLIS = 500
/** Until everything is loaded and warm that an outage needs. */
const WARM_UP_REPORTS = 8
const MOST_GROWTH_BYTES = 8_388_608

const usedBytes = ({ memory }: HostReport): number => memory.heapUsed + memory.external

function growthOf(reports: readonly HostReport[]): { early: number; late: number; rss: number } {
  const during = reports.slice(WARM_UP_REPORTS)
  const third = Math.floor(during.length / 3)
  return {
    early: median(during.slice(0, third).map(usedBytes)),
    late: median(during.slice(-third).map(usedBytes)),
    rss: Math.max(...during.map(({ memory }) => memory.rss)),
  }
}

async function sitOut(scene: Scene, sink: ChaosSinkProcess, tally: Tally): Promise<string> {
  await sink.goDown()
  scene.configure([{ name: 'only', endpoint: sink.url, protocol: 'http/json' }], { local_log_max_bytes: 1_000_000_000 })
  const load = { forMillis: STREAM_MILLIS, hooksPerSecond: HOOKS_PER_SECOND, sessions: 200, reportMillis: 1000 }
  const host = scene.start({ ...load, lifeMillis: LIFE_MILLIS, end: 'stdin' })
  await host.ready()
  await pause(OUTAGE_MILLIS)
  const growth = growthOf(host.reports)
  const logBytes = scene.files('traces').reduce((sum, path) => sum + statSync(path).size, 0)
  await sink.comeBack()
  const backAt = performance.now()
  const toldNow = () => toldSpans(host.account().witness).size
  await pause(STREAM_MILLIS - OUTAGE_MILLIS)
  await untilDelivered(sink, toldNow)
  const caughtUpMillis = performance.now() - backAt
  await host.finish()
  const told = toldNow()
  const deliveries = await sink.deliveries()
  const lost = told - deliveries.size
  tally.addSums(told, deliveries, { lost, counted: 0, unsaved: 0, crashed: 0 })
  if (growth.late - growth.early > MOST_GROWTH_BYTES) tally.problems.push('memory has grown')
  const memory = `heap and buffers ${mebi(growth.early)} early, ${mebi(growth.late)} late, ${mebi(growth.rss)} RSS at the most`
  return `${mebi(logBytes)} in the log; ${memory}; all there ${(caughtUpMillis / 1000).toFixed(0)} s after its end`
}

/** But what is open and waits for its end. */
async function untilDelivered(sink: ChaosSinkProcess, toldNow: () => number): Promise<void> {
  const deadlineAt = performance.now() + CATCH_UP_MILLIS
  let before = -1
  while (performance.now() < deadlineAt) {
    const { spans } = await sink.counts()
    if (spans === before && spans > 0.95 * toldNow()) return
    before = spans
    await pause(LOOK_MILLIS * 4)
  }
}

test('a long outage', async () => {
  const tally = new Tally()
  let figures = ''
  await tally.run(
    'outage',
    inScene(async scene => {
      const sink = await ChaosSinkProcess.start({ kind: 'ok' }, { keeps: 'deliveries' })
      try {
        figures = await sitOut(scene, sink, tally)
      } finally {
        await sink.stop()
      }
    }),
  )
  tally.end(`a collector is down for as many spans as 200 a second are in ten minutes`, figures)
})

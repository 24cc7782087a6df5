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
const LOOK_MILLIS = 1000
/** Until everything is loaded and warm that an outage needs. */
const WARM_UP_REPORTS = 8
/** A busy machine reports more rarely; the growth needs a median at both ends. */
const MIN_REPORTS = WARM_UP_REPORTS + 9
const MAX_GROWTH_BYTES = 8_388_608

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
  const downAt = performance.now()
  while (performance.now() < downAt + OUTAGE_MILLIS || host.reports.length < MIN_REPORTS) await pause(LOOK_MILLIS)
  const growth = growthOf(host.reports)
  const logBytes = scene.files('traces').reduce((sum, path) => sum + statSync(path).size, 0)
  await sink.comeBack()
  const backAt = performance.now()
  const toldNow = () => toldSpans(host.account().witness).size
  await pause(Math.max(0, downAt + STREAM_MILLIS - performance.now()))
  await untilDelivered(sink, () => 0.98 * toldNow())
  const caughtUpMillis = performance.now() - backAt
  await host.finish()
  const told = toldNow()
  const heirs = (await sink.counts()).spans < told ? await inherited(scene, sink, told) : 0
  const deliveries = await sink.deliveries()
  const lost = told + heirs - deliveries.size
  tally.addSums(told + heirs, deliveries, { lost, counted: 0, unsaved: 0, crashed: 0 })
  if (lost > 0) tally.problems.push(`${lost} are lost: ${scene.stderrOfHosts()}`)
  if (!(growth.late - growth.early <= MAX_GROWTH_BYTES)) tally.problems.push('memory has grown')
  const memory = `heap and buffers ${mebi(growth.early)} early, ${mebi(growth.late)} late, ${mebi(growth.rss)} RSS at most`
  return `${mebi(logBytes)} in the log; ${memory}; all there ${(caughtUpMillis / 1000).toFixed(0)} s after its end`
}

/** Until so many have come, and no more come: what is open waits for its end. */
async function untilDelivered(sink: ChaosSinkProcess, spans: () => number): Promise<void> {
  const deadlineAt = performance.now() + CATCH_UP_MILLIS
  let before = -1
  while (performance.now() < deadlineAt) {
    const counts = await sink.counts()
    if (counts.spans === before && counts.spans >= spans()) return
    before = counts.spans
    await pause(LOOK_MILLIS)
  }
}

/** On a machine that is too busy, the next process delivers the rest. Returns how many spans that one has told. */
async function inherited(scene: Scene, sink: ChaosSinkProcess, told: number): Promise<number> {
  const heir = scene.start({ turns: 1, sessions: 1, hooksPerSecond: 2000, end: 'stdin', lifeMillis: LIFE_MILLIS })
  const all = (): number => told + toldSpans(heir.account().witness).size
  await untilDelivered(sink, all)
  await heir.finish()
  return all() - told
}

test('survives a long outage', async () => {
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
  tally.end(2, `a collector is down for the spans of ten minutes at 200 a second`, figures)
})

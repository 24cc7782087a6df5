import { mkdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { test } from 'vitest'
import type { HostOptions } from '../host.ts'
import { inScene, type Scene } from '../scene.ts'
import { FULL_DISKS } from '../small-disk.ts'
import { inParallel, Tally } from './soak-row.ts'

const ROUNDS = 3
const PATIENCE_MILLIS = 30_000
/** Many times what the small disk holds. */
const MUCH: HostOptions = { forMillis: 5000, hooksPerSecond: 800, sessions: 12, contentChars: 1000 }
/** More than a queue in memory holds, besides. */
const TOO_MUCH: HostOptions = { ...MUCH, hooksPerSecond: 2500 }
/** One that exists everywhere is the last resort. */
const [DISK = { how: 'none', under: () => [] }] = FULL_DISKS

async function fill(scene: Scene, seed: number, tally: Tally, isDown: boolean): Promise<void> {
  const sink = await scene.sink()
  scene.configure([{ name: 'only', endpoint: sink.url, protocol: 'http/json' }], { force_flush_wait_ms: 5000 })
  mkdirSync(scene.stateHome)
  if (isDown) sink.behaviour = { kind: 'down' }
  const host = scene.start({ ...(isDown ? TOO_MUCH : MUCH), seed, end: 'stdin' }, DISK.under(scene.stateHome))
  await host.ready()
  await pause((MUCH.forMillis ?? 0) - 1500)
  if (isDown) await sink.comeBack()
  await pause(1500)
  // Of what is lost, nothing comes: there is no end to wait for.
  if (isDown) await pause(5000)
  else await scene.settled([sink], { millis: PATIENCE_MILLIS })
  await host.finish()
  if (isDown) tally.addCounted(scene, host, sink)
  else tally.add(scene, sink)
}

test.for([
  [false, 'full disk: delivery continues from memory'],
  [true, 'full disk and no collector for a while: spans that can be neither stored nor delivered are counted'],
] as const)('%s %s', async ([isDown, what]) => {
  const tally = new Tally()
  await inParallel([...Array(ROUNDS).keys()], 1, seed =>
    tally.run(
      `seed ${seed}`,
      inScene(scene => fill(scene, seed, tally, isDown)),
    ),
  )
  tally.end(isDown ? 9 : 8, what, DISK.how)
})

import { readFileSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { test } from 'vitest'
import type { Host } from '../host.ts'
import { inScene, type Scene } from '../scene.ts'
import { inParallel, mebi, Tally } from './soak-row.ts'

const LOG_BYTES = 67_108_864
const MOST_MORE_BYTES = 157_286_400
const PATIENCE_MILLIS = 60_000
const LOOK_MILLIS = 100
const QUIET_MILLIS = 2000
const PROTOCOLS = ['http/json', 'http/protobuf'] as const
const BRIEF = { turns: 1, sessions: 1, hooksPerSecond: 2000, end: 'stdin' } as const

const logBytes = (scene: Scene): number => scene.files('traces').reduce((sum, path) => sum + statSync(path).size, 0)

/** What a process has had in memory at the most, while it lives; where the system tells. */
function peakBytes({ pid, lastReport }: Host): number {
  try {
    const [, kibi] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Number(kibi) * 1024
  } catch {
    return lastReport?.memory.rss ?? Number.NaN
  }
}

/** Of a process that has nothing to do. */
async function quietPeak(protocol: (typeof PROTOCOLS)[number]): Promise<number> {
  let peak = Number.NaN
  await inScene(async scene => {
    const sink = await scene.sink()
    scene.configure([{ name: 'only', endpoint: sink.url, protocol }], { content_capture: 'full' })
    const host = scene.start(BRIEF)
    await host.ready()
    await pause(QUIET_MILLIS)
    peak = peakBytes(host)
    await host.finish()
  })()
  return peak
}

async function replay(scene: Scene, protocol: (typeof PROTOCOLS)[number], tally: Tally): Promise<string> {
  const quiet = await quietPeak(protocol)
  const sink = await scene.sink({ kind: 'down' })
  scene.configure([{ name: 'only', endpoint: sink.url, protocol }], { content_capture: 'full' })
  const writer = scene.start({ hooksPerSecond: 800, sessions: 60, contentChars: 16_000, end: 'stdin' })
  await writer.ready()
  while (logBytes(scene) < LOG_BYTES) await pause(LOOK_MILLIS)
  await writer.kill()
  const bytes = logBytes(scene)
  await sink.comeBack()
  const startedAt = performance.now()
  const heir = scene.start(BRIEF)
  await heir.ready()
  await scene.settled([sink], { millis: PATIENCE_MILLIS })
  const seconds = (performance.now() - startedAt) / 1000
  const more = peakBytes(heir) - quiet
  await heir.finish()
  tally.add(scene, sink)
  if (!(more <= MOST_MORE_BYTES)) tally.problems.push(`${mebi(more)} more than with nothing to do`)
  return `${protocol}: ${mebi(bytes)} in ${seconds.toFixed(0)} s, ${mebi(more)} more RSS than when idle`
}

test('handles a large log', async () => {
  const tally = new Tally()
  const figures: string[] = []
  await inParallel(PROTOCOLS, 1, protocol =>
    tally.run(
      protocol,
      inScene(async scene => {
        figures.push(await replay(scene, protocol, tally))
      }),
    ),
  )
  tally.end(7, 'killed with 64 MiB in the log; the next process delivers them', figures.join('; '))
})

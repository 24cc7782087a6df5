import { describe, expect, test } from 'vitest'
import type { ChaosBehaviour } from '../support/chaos-sink.mjs'
import { inScene, type Scene } from './scene.ts'

/** In the log of each, before it is killed. */
const LINES = 6

/** Three processes that share a state directory, all killed. */
async function threeVictims(scene: Scene): Promise<void> {
  const hosts = [1, 2, 3].map(seed => scene.start({ seed, hooksPerSecond: 300, sessions: 3 }))
  await Promise.all(hosts.map(host => scene.logged(host, LINES)))
  await Promise.all(hosts.map(host => host.kill()))
}

async function sceneWith(scene: Scene, behaviour: ChaosBehaviour) {
  const sink = await scene.sink(behaviour)
  scene.configure([{ name: 'only', endpoint: sink.url, protocol: 'http/json' }])
  await threeVictims(scene)
  return sink
}

describe('three processes are killed', () => {
  test(
    'recovers everything in one process, exactly once, if nothing could be delivered',
    inScene(async scene => {
      const sink = await sceneWith(scene, { kind: 'down' })
      expect(sink.requests).toEqual([])
      await sink.comeBack()
      await scene.successor([sink])
      expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
      expect(scene.files('spool')).toEqual([])
    }),
  )

  test(
    'recovers the rest in one process if they were delivering',
    inScene(async scene => {
      const sink = await sceneWith(scene, { kind: 'ok' })
      await scene.successor([sink])
      expect(scene.check(sink).problems).toEqual([])
      expect(scene.files('spool')).toEqual([])
    }),
  )

  test(
    'shares their spans among four processes that start at once, exactly once',
    inScene(async scene => {
      const sink = await sceneWith(scene, { kind: 'down' })
      await sink.comeBack()
      const heirs = [1, 2, 3, 4].map(() => scene.start({ turns: 1, sessions: 1, hooksPerSecond: 2000, end: 'stdin' }))
      await Promise.all(heirs.map(heir => heir.ready()))
      await scene.settled([sink])
      const ends = await Promise.all(heirs.map(heir => heir.finish()))
      expect(ends.map(({ code, stderr }) => [code, ...stderr])).toEqual([[0], [0], [0], [0]])
      expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
      expect(scene.files('spool')).toEqual([])
    }),
  )
})

test(
  'leaves the pending spans of a live process to it',
  inScene(async scene => {
    const sink = await scene.sink({ kind: 'down' })
    scene.configure([{ name: 'only', endpoint: sink.url, protocol: 'http/json' }])
    const busy = scene.start({ turns: 3, sessions: 2, hooksPerSecond: 1000, end: 'stdin' })
    await busy.over()
    // They look for what others have left while it still owes everything.
    const passers = [1, 2].map(() => scene.start({ turns: 1, sessions: 1, hooksPerSecond: 2000, end: 'stdin' }))
    await Promise.all(passers.map(passer => passer.over()))
    await sink.comeBack()
    await scene.settled([sink])
    await Promise.all([busy, ...passers].map(host => host.finish()))
    expect(scene.check(sink)).toMatchObject({ problems: [], excusedRepeats: 0 })
    expect(scene.files('spool')).toEqual([])
  }),
)

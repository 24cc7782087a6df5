import { setTimeout as pause } from 'node:timers/promises'
import { test } from 'vitest'
import { inScene, type Scene } from '../scene.ts'
import { inParallel, Tally } from './soak-row.ts'

const ROUNDS = 5
const LIFE_MILLIS = 3000
const PATIENCE_MILLIS = 30_000
const TOOLS = 9998

/** Three that share a state directory, all killed; then four at once that deliver what they left. */
async function inherit(scene: Scene, round: number, tally: Tally): Promise<void> {
  const sink = await scene.sink({ kind: 'down' })
  scene.configure([{ name: 'only', endpoint: sink.url, protocol: round % 2 === 0 ? 'http/json' : 'http/protobuf' }])
  const writers = [1, 2, 3].map(nth => scene.start({ seed: round * 3 + nth, hooksPerSecond: 500, sessions: 6 }))
  await Promise.all(writers.map(writer => writer.ready()))
  await pause(LIFE_MILLIS)
  await Promise.all(writers.map(writer => writer.kill()))
  await sink.comeBack()
  const heirs = [1, 2, 3, 4].map(() => scene.start({ turns: 1, sessions: 1, hooksPerSecond: 2000, end: 'stdin' }))
  await Promise.all(heirs.map(heir => heir.ready()))
  await scene.settled([sink], { millis: PATIENCE_MILLIS })
  await Promise.all(heirs.map(heir => heir.finish()))
  tally.add(scene, sink)
  tally.problems.push(...scene.files('spool').map(path => `still owed: ${path}`))
}

test('handles three writers and four successors', async () => {
  const tally = new Tally()
  await inParallel([...Array(ROUNDS).keys()], 1, round =>
    tally.run(
      `round ${round}`,
      inScene(scene => inherit(scene, round, tally)),
    ),
  )
  tally.end(
    5,
    'three processes share a directory and are killed without a collector; four that start at once deliver their spans',
    `${ROUNDS * 3} kills`,
  )
})

const BURSTS = (['http/json', 'http/protobuf'] as const).flatMap(protocol =>
  (['natural', 'exit'] as const).flatMap(end => [true, false].map(isUp => ({ protocol, end, isUp }))),
)

/** Ten thousand spans in one tick, five times what the queue of a backend holds. */
async function burst(scene: Scene, { protocol, end, isUp }: (typeof BURSTS)[number], tally: Tally): Promise<void> {
  const sink = await scene.sink(isUp ? { kind: 'ok' } : { kind: 'down' })
  scene.configure([{ name: 'only', endpoint: sink.url, protocol }], { force_flush_wait_ms: 10_000 })
  await scene.start({ work: 'burst', tools: TOOLS, end }).ended
  await sink.comeBack()
  await scene.successor([sink], { millis: PATIENCE_MILLIS })
  tally.add(scene, sink)
  tally.problems.push(...scene.files('spool').map(path => `still owed: ${path}`))
}

test('handles bursts', async () => {
  const tally = new Tally()
  await inParallel(BURSTS, 1, each =>
    tally.run(
      `${each.protocol}, ${each.end}, ${each.isUp ? 'up' : 'down'}`,
      inScene(scene => burst(scene, each, tally)),
    ),
  )
  tally.end(
    6,
    '10 000 spans in one tick; the process ends, or exits in the same tick, with or without a collector; the next process delivers the rest',
    'JSON and protobuf',
  )
})

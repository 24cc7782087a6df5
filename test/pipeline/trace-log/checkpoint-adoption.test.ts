import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { adoptCheckpoint, listCheckpoints } from '../../../src/pipeline/trace-log/checkpoint.ts'
import { isAlive } from '../../../src/pipeline/trace-log/owner.ts'
import { BuiltCheckpoint } from './built-checkpoint.ts'
import { deadOwner, farOwner, leave, SEGMENT, spoolNames, stateDirectory } from './checkpoint-fixture.ts'

const CHECKPOINTS = 50
const PROCESSES = 8

let built: BuiltCheckpoint

beforeAll(async () => {
  built = await BuiltCheckpoint.build()
})

afterAll(() => built.remove())

/** All look before anybody takes, so that all are after the same. */
const TAKE_ALL = `
const entries = await listCheckpoints(state)
waitForAll()
const won = []
for (const entry of entries) {
  const checkpoint = adoptCheckpoint(state, entry)
  if (checkpoint === undefined) continue
  won.push(checkpoint.segment)
  if (checkpoint.offsetOf('jaeger') !== 10 || !checkpoint.advance('jaeger', 100 + index)) throw new Error('not what was left')
}
process.stdout.write(JSON.stringify(won))
`

test('of many processes that want the same checkpoints, each checkpoint is got by one', async () => {
  const state = stateDirectory()
  const dead = deadOwner()
  const segments = Array.from({ length: CHECKPOINTS }, (_, number) => `${1000 + number}-7`)
  for (const [number, segment] of segments.entries()) {
    // What a dead process left, what one of another machine has left long ago, and what is free.
    const owner = [dead, farOwner(), undefined][number % 3]
    leave(state, { segment, heartbeatAt: 5000, ...(owner ? { owner } : {}) })
  }
  const won = (await built.runTogether(PROCESSES, state, TAKE_ALL)).map(line => JSON.parse(line) as string[])
  expect(won.flat().sort()).toEqual(segments)
  expect(spoolNames(state)).toHaveLength(CHECKPOINTS)
  for (const entry of await listCheckpoints(state)) {
    const winner = won.findIndex(segments => segments.includes(entry.segment))
    expect(JSON.parse(readFileSync(entry.path, 'utf8'))).toEqual({ open: true, delivered: { jaeger: 100 + winner } })
  }
})

test('a process that is killed while it saves leaves a whole checkpoint, which is ours then', async () => {
  const state = stateDirectory()
  const backends = ['jaeger', 'phoenix', 'langfuse']
  await built.runTogether(
    4,
    state,
    `
    const checkpoint = Checkpoint.create(state, 1000 + index + '-7', ${JSON.stringify(backends)})
    waitForAll()
    const { Worker } = await import('node:worker_threads')
    new Worker('setTimeout(() => process.kill(process.pid, "SIGKILL"), 200)', { eval: true })
    for (let offset = 1; offset < 1_000_000; offset++) for (const name of checkpoint.backends) checkpoint.advance(name, offset)
    process.stdout.write('was not killed')
    `,
  )
  const entries = await listCheckpoints(state)
  expect(entries).toHaveLength(4)
  for (const entry of entries) {
    expect(isAlive(entry.owner!, entry.heartbeatAt, Date.now())).toBe(false)
    const checkpoint = adoptCheckpoint(state, entry)
    expect(checkpoint).toMatchObject({ open: true, isDamaged: false, backends })
    const [first = 0, ...others] = backends.map(name => checkpoint?.offsetOf(name) ?? 0)
    expect(first).toBeGreaterThan(0)
    for (const offset of others) expect(first - offset).toBeLessThanOrEqual(1)
  }
})

test('a living process is not taken from', async () => {
  const state = stateDirectory()
  const [taken] = await built.runTogether(
    2,
    state,
    `
    if (index === 1) Checkpoint.create(state, '${SEGMENT}', ['jaeger'])
    waitForAll()
    if (index === 1) await new Promise(resolve => setTimeout(resolve, 500))
    else {
      const entries = await listCheckpoints(state)
      process.stdout.write(JSON.stringify(entries.map(entry => adoptCheckpoint(state, entry) !== undefined)))
    }
    `,
  )
  expect(taken).toBe('[false]')
  expect(spoolNames(state)).toHaveLength(1)
})

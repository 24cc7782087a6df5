import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listCheckpoints, takeOverCheckpoint } from '../../../src/delivery/trace-log/checkpoint.ts'
import { isAlive } from '../../../src/delivery/trace-log/owner.ts'
import { BuiltCheckpoint } from './built-checkpoint.ts'
import { deadOwner, farOwner, leave, SEGMENT, spoolNames, stateDirectory } from './checkpoint-fixture.ts'

const CHECKPOINTS = 50
const PROCESSES = 8
/** Of a process, before it is killed. */
const SAVES = 1000

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
  const checkpoint = takeOverCheckpoint(state, entry)
  if (checkpoint === undefined) continue
  won.push(checkpoint.segment)
  if (checkpoint.offsetOf('jaeger') !== 10 || !checkpoint.advance('jaeger', 100 + index)) throw new Error('not what was left')
}
process.stdout.write(JSON.stringify(won))
`

test('gives each checkpoint to one of many processes', async () => {
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

test('takes over a whole checkpoint of a process killed while saving', async () => {
  const state = stateDirectory()
  const backends = ['jaeger', 'phoenix', 'langfuse']
  const said = await built.runTogether(
    4,
    state,
    `
    const checkpoint = Checkpoint.create(state, 1000 + index + '-7', ${JSON.stringify(backends)})
    waitForAll()
    const { Worker } = await import('node:worker_threads')
    const saved = new Int32Array(new SharedArrayBuffer(4))
    // In a thread of its own: it strikes in the middle of whatever is being saved.
    const killer = \`
      const saved = require('node:worker_threads').workerData
      while (saved[0] < ${SAVES}) Atomics.wait(saved, 0, saved[0], 1)
      process.kill(process.pid, 'SIGKILL')\`
    new Worker(killer, { eval: true, workerData: saved })
    for (let offset = 1; offset < 10_000_000; offset++) {
      for (const name of checkpoint.backends) checkpoint.advance(name, offset)
      saved[0] = offset
    }
    process.stdout.write('was not killed')
    `,
  )
  expect(said).toEqual(['', '', '', ''])
  const entries = await listCheckpoints(state)
  expect(entries).toHaveLength(4)
  for (const entry of entries) {
    expect(isAlive(entry.owner!, entry.heartbeatAt, Date.now())).toBe(false)
    const checkpoint = takeOverCheckpoint(state, entry)
    expect(checkpoint).toMatchObject({ open: true, isDamaged: false, backends })
    const [first = 0, ...others] = backends.map(name => checkpoint?.offsetOf(name) ?? 0)
    expect(first).toBeGreaterThanOrEqual(SAVES)
    for (const offset of others) expect(first - offset).toBeLessThanOrEqual(1)
  }
})

test('adopts nothing from a living process', async () => {
  const state = stateDirectory()
  const [taken] = await built.runTogether(
    2,
    state,
    `
    if (index === 1) Checkpoint.create(state, '${SEGMENT}', ['jaeger'])
    waitForAll()
    const { existsSync, writeFileSync } = await import('node:fs')
    if (index === 1) while (!existsSync(state + '.looked-at')) await new Promise(resolve => setTimeout(resolve, 1))
    else {
      const entries = await listCheckpoints(state)
      process.stdout.write(JSON.stringify(entries.map(entry => takeOverCheckpoint(state, entry) !== undefined)))
      writeFileSync(state + '.looked-at', '')
    }
    `,
  )
  expect(taken).toBe('[false]')
  expect(spoolNames(state)).toHaveLength(1)
})

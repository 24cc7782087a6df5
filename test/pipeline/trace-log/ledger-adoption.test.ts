import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { adoptLedger, listLedgers } from '../../../src/pipeline/trace-log/ledger.ts'
import { isAlive } from '../../../src/pipeline/trace-log/owner.ts'
import { BuiltLedger } from './built-ledger.ts'
import { deadOwner, farOwner, leave, SEGMENT, spoolNames, stateDirectory } from './ledger-fixture.ts'

const LEDGERS = 50
const PROCESSES = 8

let built: BuiltLedger

beforeAll(async () => {
  built = await BuiltLedger.build()
})

afterAll(() => built.remove())

/** All look before anybody takes, so that all are after the same. */
const TAKE_ALL = `
const entries = await listLedgers(state)
waitForAll()
const won = []
for (const entry of entries) {
  const ledger = adoptLedger(state, entry)
  if (ledger === undefined) continue
  won.push(ledger.segment)
  if (ledger.offsetOf('jaeger') !== 10 || !ledger.advance('jaeger', 100 + index)) throw new Error('not what was left')
}
process.stdout.write(JSON.stringify(won))
`

test('of many processes that want the same ledgers, each ledger is got by one', async () => {
  const state = stateDirectory()
  const dead = deadOwner()
  const segments = Array.from({ length: LEDGERS }, (_, number) => `${1000 + number}-7`)
  for (const [number, segment] of segments.entries()) {
    // What a dead process left, what one of another machine has left long ago, and what is free.
    const owner = [dead, farOwner(), undefined][number % 3]
    leave(state, { segment, heartbeatAt: 5000, ...(owner ? { owner } : {}) })
  }
  const won = (await built.runTogether(PROCESSES, state, TAKE_ALL)).map(line => JSON.parse(line) as string[])
  expect(won.flat().sort()).toEqual(segments)
  expect(spoolNames(state)).toHaveLength(LEDGERS)
  for (const entry of await listLedgers(state)) {
    const winner = won.findIndex(segments => segments.includes(entry.segment))
    expect(JSON.parse(readFileSync(entry.path, 'utf8'))).toEqual({ open: true, delivered: { jaeger: 100 + winner } })
  }
})

test('a process that is killed while it saves leaves a whole ledger, which is ours then', async () => {
  const state = stateDirectory()
  const backends = ['jaeger', 'phoenix', 'langfuse']
  await built.runTogether(
    4,
    state,
    `
    const ledger = Ledger.create(state, 1000 + index + '-7', ${JSON.stringify(backends)})
    waitForAll()
    const { Worker } = await import('node:worker_threads')
    new Worker('setTimeout(() => process.kill(process.pid, "SIGKILL"), 200)', { eval: true })
    for (let offset = 1; offset < 1_000_000; offset++) for (const name of ledger.backends) ledger.advance(name, offset)
    process.stdout.write('was not killed')
    `,
  )
  const entries = await listLedgers(state)
  expect(entries).toHaveLength(4)
  for (const entry of entries) {
    expect(isAlive(entry.owner!, entry.heartbeatAt, Date.now())).toBe(false)
    const ledger = adoptLedger(state, entry)
    expect(ledger).toMatchObject({ open: true, isDamaged: false, backends })
    const [first = 0, ...others] = backends.map(name => ledger?.offsetOf(name) ?? 0)
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
    if (index === 1) Ledger.create(state, '${SEGMENT}', ['jaeger'])
    waitForAll()
    if (index === 1) await new Promise(resolve => setTimeout(resolve, 500))
    else {
      const entries = await listLedgers(state)
      process.stdout.write(JSON.stringify(entries.map(entry => adoptLedger(state, entry) !== undefined)))
    }
    `,
  )
  expect(taken).toBe('[false]')
  expect(spoolNames(state)).toHaveLength(1)
})

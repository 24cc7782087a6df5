import { readdirSync, readFileSync } from 'node:fs'
import { load } from './build.mjs'
import { median } from './figures.mjs'
import { sdk } from './providers.mjs'

const { MACHINES } = await load('agents/machines.js')
const { createPlugin } = await load('index.js')
const FIXTURES = new URL('../test/fixtures/', import.meta.url)
/** Few: a host has only just made its events when we read them, so they are in the caches. */
const COPIES = 10
const ROUNDS = 31
/** The runs of a host that were captured, each as the lines of its events. */
function runsOf(host) {
  const folder = new URL(`${host}/`, FIXTURES)
  const files = readdirSync(folder).filter(name => name.endsWith('.jsonl'))
  return files.map(name => readFileSync(new URL(name, folder), 'utf8').trimEnd().split('\n').slice(1).join('\n'))
}

const parsed = lines => lines.split('\n').map(line => JSON.parse(line))

/** One machine for all runs, as in a process of the host. */
function recordsOf(host, runs) {
  const machine = MACHINES[host]()
  const records = []
  for (const run of runs) for (const event of run) records.push(...(machine.accept(event) ?? []))
  return records
}

/** Whatever a host calls an id: turns of two copies must not be taken for one. */
function idsIn(value, ids = new Set()) {
  for (const [key, each] of Object.entries(value)) {
    if (typeof each === 'object' && each !== null) idsIn(each, ids)
    else if (/(?:id|key)$/i.test(key) && typeof each === 'string' && each.length > 2) ids.add(each)
  }
  return ids
}

/** The same run again as if it were another one: every id in it is another. */
function copies(run, at) {
  const ids = [...idsIn(parsed(run))].sort((one, other) => other.length - one.length)
  return Array.from({ length: COPIES }, (_, n) =>
    parsed(ids.reduce((text, id) => text.replaceAll(JSON.stringify(id), JSON.stringify(`${id}-${at}-${n}`)), run)),
  )
}

function millis(run) {
  const startedAt = performance.now()
  run()
  return performance.now() - startedAt
}

function costOf(host) {
  const runs = runsOf(host).flatMap(copies)
  const events = runs.reduce((sum, run) => sum + run.length, 0)
  const records = recordsOf(host, runs)
  const rounds = []
  for (let round = -3; round < ROUNDS; round++) {
    const adapter = millis(() => recordsOf(host, runs))
    const { tracerProvider, meterProvider } = sdk()
    const plugin = createPlugin({ host, tracerProvider, meterProvider })
    const core = millis(() => {
      for (const { hook, payload, ...meta } of records) plugin.on(hook, payload, meta)
    })
    if (round >= 0) rounds.push({ adapter, core })
  }
  const share = median(rounds.map(({ adapter, core }) => adapter / core))
  const microsPerEvent = (median(rounds.map(({ adapter }) => adapter)) * 1000) / events
  return { host, share, microsPerEvent, eventsPerRecord: events / records.length }
}

/** What reading the events of a host costs, against what the core does with the hook records that come of them. */
export function adapterCost() {
  return Object.keys(MACHINES).map(costOf)
}

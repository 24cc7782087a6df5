import { readdirSync, readFileSync } from 'node:fs'
import { load } from './build.mjs'
import { median } from './figures.mjs'
import { sdk } from './providers.mjs'

const { MACHINES } = await load('hosts/machines.js')
const { createPlugin } = await load('index.js')
const FIXTURES = new URL('../test/fixtures/', import.meta.url)
const COPIES = 60
const ROUNDS = 9
const ID_FIELDS = ['session_id', 'turn_id', 'tool_call_id', 'child_session_id', 'child_subagent_id', 'api_request_id']

/** The runs of a host that were captured, each as the lines of its events. */
function runsOf(host) {
  const folder = new URL(`${host}/`, FIXTURES)
  const files = readdirSync(folder).filter(name => name.endsWith('.jsonl'))
  return files.map(name => readFileSync(new URL(name, folder), 'utf8').trimEnd().split('\n').slice(1).join('\n'))
}

const parsed = lines => lines.split('\n').map(line => JSON.parse(line))

function recordsOf(host, events) {
  const machine = MACHINES[host]()
  const records = events.flatMap(event => machine.accept(event) ?? [])
  return [...records, ...machine.end(events.at(-1).at)]
}

/** The same run again as if it were another one: every id in it is another. */
function copies(host, run) {
  const ids = new Set(recordsOf(host, parsed(run)).flatMap(({ payload }) => ID_FIELDS.map(field => payload[field])))
  const told = [...ids].filter(id => typeof id === 'string' && run.includes(JSON.stringify(id).slice(1, -1)))
  return Array.from({ length: COPIES }, (_, n) =>
    parsed(told.reduce((text, id) => text.replaceAll(JSON.stringify(id), JSON.stringify(`${id}-${n}`)), run)),
  )
}

function millis(run) {
  const startedAt = performance.now()
  run()
  return performance.now() - startedAt
}

function costOf(host) {
  const runs = runsOf(host).flatMap(run => copies(host, run))
  const events = runs.reduce((sum, run) => sum + run.length, 0)
  const records = runs.map(run => recordsOf(host, run))
  const rounds = []
  for (let round = -3; round < ROUNDS; round++) {
    const adapter = millis(() => {
      for (const run of runs) recordsOf(host, run)
    })
    const { tracerProvider, meterProvider } = sdk()
    const plugin = createPlugin({ host, tracerProvider, meterProvider })
    const core = millis(() => {
      for (const run of records) for (const { hook, payload, ...meta } of run) plugin.on(hook, payload, meta)
    })
    if (round >= 0) rounds.push({ adapter, core })
  }
  const share = median(rounds.map(({ adapter, core }) => adapter / core))
  const microsPerEvent = (median(rounds.map(({ adapter }) => adapter)) * 1000) / events
  return { host, share, microsPerEvent, eventsPerRecord: events / records.flat().length }
}

/** What reading the events of a host costs, against what the core does with the hook records that come of them. */
export function adapterCost() {
  return Object.keys(MACHINES).map(costOf)
}

// A viewer's index of a log, from nothing or as it was left, in a process of its own. Prints one JSON object.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { load } from './build.mjs'
import { median } from './figures.mjs'

const { stateDirectory, newest } = JSON.parse(process.argv[2])
const { TraceIndex } = await load('viewer/trace-index/trace-index.js')
const LOOK_MILLIS = 20
const SAMPLES = 9

const startedAt = performance.now()
const millis = () => performance.now() - startedAt
const index = await TraceIndex.open({ subject: { kind: 'log', stateDirectory } })
const isThere = async () => (await index.sessions({ limit: 1 })).rows[0]?.id === newest
while (!(await isThere())) await pause(LOOK_MILLIS)
const newestMillis = millis()
while (index.status().indexedBytes < index.status().bytes) await pause(LOOK_MILLIS)
const indexedMillis = millis()

async function timed(ask) {
  const times = []
  for (let n = 0; n < SAMPLES; n++) {
    const from = performance.now()
    await ask()
    times.push(performance.now() - from)
  }
  return { median: median(times), most: Math.max(...times) }
}

const questions = {
  list: () => index.sessions({}),
  rare: () => index.sessions({ text: 'wfe0' }),
  common: () => index.sessions({ text: 'w0' }),
  words: () => index.sessions({ text: 'w1 w2' }),
  prefix: () => index.sessions({ text: 'wab' }),
  part: () => index.sessions({ text: 'fe0' }),
  nothing: () => index.sessions({ text: 'nothing-of-the-kind' }),
  filtered: () => index.sessions({ model: 'gpt', tool: 'grep', outcome: 'error' }),
  session: () => index.session(newest),
  numbers: () => index.usage({}),
}
const asked = {}
for (const [name, ask] of Object.entries(questions)) asked[name] = await timed(ask)
const { spanCount, traceCount } = index.status()
const cpuMillis = process.cpuUsage().user / 1_000
await index.close()
const keptBytes = statSync(join(stateDirectory, 'index', 'traces.jsonl')).size
const peakBytes = process.resourceUsage().maxRSS * 1024
process.stdout.write(
  JSON.stringify({
    newestMillis,
    indexedMillis,
    asked,
    spanCount,
    traceCount,
    keptBytes,
    peakBytes,
    cpuMillis,
  }),
)

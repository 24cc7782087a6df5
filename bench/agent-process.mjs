// A process of Pi with one adapter, from its start on. Prints one JSON object.
import { readFileSync } from 'node:fs'
import { setImmediate as loopTurn, setTimeout as pause } from 'node:timers/promises'
import { PUBLISHED } from './build.mjs'
import { median } from './figures.mjs'

const ADAPTERS = {
  /** What the host itself does, which is taken off. */
  none: undefined,
  bare: new URL('bare-adapter.mjs', import.meta.url).href,
  ours: new URL('agents/pi/index.js', PUBLISHED).href,
}
const COLD_TURNS = 20
const STEADY_TURNS = 200
/** Of the steady ones the first are not looked at: the compiler is at them. */
const WARM_UP_TURNS = 100
const PAUSE_MILLIS = 10
/** Between the events of a paced turn: 28 of them take about 125 ms. */
const PACE_MILLIS = 4
/** How an agent spends the time between two events of a turn. */
const CADENCES = { steady: () => loopTurn(), tight: () => undefined, paced: () => pause(PACE_MILLIS) }
const { side, endpoint, cadence } = JSON.parse(process.argv[2])
const between = CADENCES[cadence]
process.env.OTEL_EXPORTER_OTLP_ENDPOINT = endpoint
const capture = readFileSync(new URL('../test/fixtures/pi/tool.jsonl', import.meta.url), 'utf8')
const [, first, ...rest] = capture.trimEnd().split('\n')
const last = rest.pop()

/** Every turn calls its tool by an id of its own. */
const turnEvents = number => rest.map(line => eventOf(line.replaceAll('call_1', `call_${number}`)))

function eventOf(line) {
  const { event, data, context } = JSON.parse(line)
  const { sessionId, ...place } = context
  return { event, data, context: { ...place, sessionManager: { getSessionId: () => sessionId } } }
}

class Pi {
  #handlers = new Map()

  on(name, handler) {
    this.#handlers.set(name, handler)
  }

  /** Milliseconds until the adapter lets the host go on. */
  async tell({ event, data, context }) {
    const handler = this.#handlers.get(event)
    if (handler === undefined) return 0
    const startedAt = performance.now()
    await handler(data, context)
    return performance.now() - startedAt
  }

  async turn(number) {
    let waited = 0
    for (const event of turnEvents(number)) {
      waited += await this.tell(event)
      await between()
    }
    return waited
  }

  async turns(from, count) {
    const waited = []
    for (let number = from; number < from + count; number++) {
      waited.push(await this.turn(number))
      await pause(PAUSE_MILLIS)
    }
    return waited
  }
}

const pi = new Pi()
const firstEvent = eventOf(first)
const startedAt = performance.now()
if (ADAPTERS[side] !== undefined) (await import(ADAPTERS[side])).default(pi)
await pi.tell(firstEvent)
const start = performance.now() - startedAt
const figures = await (cadence === 'steady' ? manyTurns() : oneTurn())
const delivered = globalThis[Symbol.for('hookspan.hosts')]
  ?.get('pi')
  .plugin.stats()
  .backends.map(({ delivered }) => delivered)
process.stdout.write(JSON.stringify({ start, ...figures, delivered }))
process.exit()

/** Its first turn follows the start at once. CPU time is that of the whole process. */
async function oneTurn() {
  await between()
  const turnStartedAt = performance.now()
  const firstTurn = await pi.turn(0)
  const turnMillis = performance.now() - turnStartedAt
  await pi.tell(eventOf(last))
  return { firstTurn, turnMillis, cpu: cpuMillis(), turns: 1 }
}

async function manyTurns() {
  await pause(PAUSE_MILLIS)
  const [firstTurn, ...cold] = await pi.turns(0, COLD_TURNS)
  const before = cpuMillis()
  const steady = await pi.turns(COLD_TURNS, STEADY_TURNS)
  await pi.tell(eventOf(last))
  return {
    firstTurn,
    coldTurn: cold.reduce((sum, each) => sum + each, 0) / cold.length,
    steadyTurn: median(steady.slice(WARM_UP_TURNS)),
    cpu: (cpuMillis() - before) / STEADY_TURNS,
    turns: COLD_TURNS + STEADY_TURNS,
  }
}

function cpuMillis() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

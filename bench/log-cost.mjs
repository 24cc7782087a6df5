// What the trace log adds to a turn, until everything is in the file. Prints one JSON object.
import { load } from './build.mjs'
import { median } from './figures.mjs'
import { sdk } from './providers.mjs'
import { turnRecords } from './turn.mjs'

const { resolveConfig } = await load('plugin/config/resolve.js')
const { createPipeline } = await load('delivery/pipeline/index.js')
const { TracingPlugin } = await load('plugin/create-plugin.js')
const { hostTelemetry } = await load('plugin/telemetry.js')
const { pipelineSettings } = await load('plugin/settings.js')

/** Many short ones: a busy machine's moods are longer, and meet both sides of a pair. */
const ROUNDS = 41
const WARM_UP = 10
const AT = 1_795_256_100_000
const { env } = process
const home = env.HOME

/** A line for the person would mean that something else is measured. */
const complain = line => {
  throw new Error(line)
}
const report = { warn: complain, error: complain, debug() {} }

/** Both record the same metrics; they differ in what becomes of a span that has started, or ended. */
function plugin(hasLog) {
  const { config } = resolveConfig({ code: { local_log: hasLog }, env: {}, home })
  const { tracerProvider, meterProvider } = sdk()
  const pipeline = hasLog ? createPipeline(pipelineSettings(config, env, home), report) : undefined
  const spans = hostTelemetry({ tracerProvider: pipeline?.tracerProvider ?? tracerProvider, meterProvider }, report)
  const telemetry = {
    kind: hasLog ? 'memory' : 'host',
    open: () => ({ ...spans.open(), ...(pipeline && { pipeline, flush: () => pipeline.flush() }) }),
  }
  const environment = { env: {}, home, isReplay: false }
  return new TracingPlugin(report, { host: 'bench', config, telemetry, environment })
}

const loopTurn = () => new Promise(setImmediate)

/** Microseconds of a turn: of all threads, and those in which the main one was busy. */
async function costOf(target, turns, feed) {
  globalThis.gc()
  await loopTurn()
  const [cpu, loop] = [process.cpuUsage(), performance.eventLoopUtilization()]
  await feed(target, turns)
  await target.flush()
  const { user, system } = process.cpuUsage(cpu)
  const { active } = performance.eventLoopUtilization(loop)
  return { cpu: (user + system) / turns.length, main: (active * 1000) / turns.length }
}

function tell(target, records) {
  for (const { hook, payload, meta } of records) void target.on(hook, payload, meta)
}

/** As a host with many sessions: it tells twenty turns, then lets others come to their turn. */
async function busily(target, turns) {
  for (let at = 0; at < turns.length; at += 20) {
    for (const records of turns.slice(at, at + 20)) tell(target, records)
    await loopTurn()
  }
}

/** As most agents: one turn, and nothing until it is written. */
async function oneByOne(target, turns) {
  for (const records of turns) {
    tell(target, records)
    await target.flush()
  }
}

async function compare(turnsPerRound, feed) {
  const [off, on] = [plugin(false), plugin(true)]
  const rounds = []
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const turns = Array.from({ length: turnsPerRound }, (_, n) => turnRecords(`s${n}`, `t${round}-${n}`, AT))
    const order = round % 2 === 0 ? [off, on] : [on, off]
    const costs = new Map()
    for (const target of order) costs.set(target, await costOf(target, turns, feed))
    if (round >= 0) rounds.push({ off: costs.get(off), on: costs.get(on) })
  }
  const stored = on.stats().backends[0].delivered
  const spans = stored / (turnsPerRound * (ROUNDS + WARM_UP))
  if (!Number.isInteger(spans)) complain(`${stored} spans are stored`)
  await on.shutdown()
  await off.shutdown()
  const figure = (variant, what) => median(rounds.map(each => each[variant][what]))
  const share = what => median(rounds.map(each => each.on[what] / each.off[what] - 1))
  const of = what => ({ share: share(what), offMicros: figure('off', what), onMicros: figure('on', what) })
  return { spans, cpu: of('cpu'), main: of('main') }
}

process.stdout.write(JSON.stringify({ busy: await compare(100, busily), alone: await compare(50, oneByOne) }))

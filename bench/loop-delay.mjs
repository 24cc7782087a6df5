// How long the event loop is held while much is logged and delivered. Prints one JSON object.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { load } from './build.mjs'
import { sdk } from './providers.mjs'
import { HOOKS_PER_SPAN, Sessions } from './sessions.mjs'

const { createPlugin } = await load('index.js')
const { backends, spansPerSecond, millis } = JSON.parse(process.argv[2])
const SESSIONS = 40
const TICK_MILLIS = 5
/** Twice what is told: nothing is to fall off its end. */
const LOG_BYTES = 1_500_000_000
/** Afterwards, for a backend that could not keep up. */
const CATCH_UP_MILLIS = 60_000
const full = { host: 'bench', content_capture: 'full' }

/** Delays in milliseconds. The timer that looks is late by about one tick of its own, also when nothing happens. */
async function delays(forMillis) {
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  const cpu = process.cpuUsage()
  histogram.enable()
  await pause(forMillis)
  histogram.disable()
  const { user, system } = process.cpuUsage(cpu)
  const [p50, p99, p999] = [50, 99, 99.9].map(share => histogram.percentile(share) / 1e6)
  return { p50, p99, p999, max: histogram.max / 1e6, cores: (user + system) / 1000 / forMillis }
}

/** Hooks a few at a time, as they happen. */
function stream(plugin) {
  const sessions = new Sessions(plugin, SESSIONS)
  const startedAt = performance.now()
  let told = 0
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) / 1000) * spansPerSecond * HOOKS_PER_SPAN
    for (; told < due; told++) sessions.next()
  }, TICK_MILLIS)
  return { sessions, stop: () => clearInterval(timer) }
}

async function delaysUnder(plugin, forMillis) {
  const { sessions, stop } = stream(plugin)
  await pause(millis / 4)
  const measured = await delays(forMillis)
  stop()
  const { spansOpen, backends: rows } = plugin.stats()
  const behindBytes = Math.max(0, ...rows.map(({ spoolBytes }) => spoolBytes))
  await plugin.shutdown()
  // What is open at the end is ended by it.
  return { ...measured, spans: sessions.ended + spansOpen, behindBytes }
}

const idle = await delays(millis / 4)
const { tracerProvider, meterProvider } = sdk()
const told = await delaysUnder(createPlugin({ ...full, tracerProvider, meterProvider }), millis / 4)
const log = { local_log: true, local_log_max_bytes: LOG_BYTES, force_flush_wait_ms: CATCH_UP_MILLIS }
const delivered = await delaysUnder(createPlugin({ ...full, ...log, backends }), millis)
process.stdout.write(JSON.stringify({ idle, told, delivered }))

// A process that starts on what another one has left, and lives until it is delivered. Prints one JSON object.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { load } from './build.mjs'

const { createPlugin } = await load('index.js')
const { backends, spans, livesMillis } = JSON.parse(process.argv[2])
const LOOK_MILLIS = 10
const MOST_MILLIS = 120_000

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const startedAt = performance.now()
const plugin = createPlugin({ host: 'bench', content_capture: 'full', local_log: true, backends })
const backend = () => plugin.stats().backends.find(({ name }) => name === backends[0].name)
while (backend().recovered < spans && performance.now() < startedAt + MOST_MILLIS) await pause(LOOK_MILLIS)
const millis = performance.now() - startedAt
if (millis < livesMillis) await pause(livesMillis - millis)
delay.disable()
plugin.on('on_session_start', { session_id: 's', turn_id: 't' })
plugin.on('on_session_end', { session_id: 's', turn_id: 't', completed: true })
await plugin.shutdown()
const { recovered, delivered, dropped } = backend()
const peakBytes = process.resourceUsage().maxRSS * 1024
process.stdout.write(
  JSON.stringify({
    millis,
    peakBytes,
    recovered,
    delivered,
    dropped,
    p999: delay.percentile(99.9) / 1e6,
    max: delay.max / 1e6,
  }),
)

// Fills a trace log that nothing is delivered from, with spans open, and is killed. Says first how many spans that are.
import { statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { load } from './build.mjs'
import { Sessions } from './sessions.mjs'

const { createPlugin } = await load('index.js')
const { backends, bytes } = JSON.parse(process.argv[2])
const HOOKS_AT_ONCE = 200
/** Several times `log_flush_ms`: what is open is noted by then. */
const NOTED_MILLIS = 500

const plugin = createPlugin({ host: 'bench', content_capture: 'full', local_log: true, backends })
const sessions = new Sessions(plugin, 40)
const written = () => plugin.stats().traceFiles.reduce((sum, path) => sum + statSync(path).size, 0)

while (written() < bytes) {
  for (let n = 0; n < HOOKS_AT_ONCE; n++) sessions.next()
  await new Promise(setImmediate)
}
await pause(NOTED_MILLIS)
const { spansOpen } = plugin.stats()
process.send({ ended: sessions.ended, open: spansOpen, bytes: written() }, () => process.kill(process.pid, 'SIGKILL'))

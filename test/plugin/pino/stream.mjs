// The stream that pino writes to in its thread, by itself: the process ends as soon as it is closed.
import { once } from 'node:events'
import { argv, exit } from 'node:process'
import transport from '../../../dist/plugin/pino/index.js'

// A process that has been running for an hour.
const { now } = performance
performance.now = () => now.call(performance) + 3_600_000

const backends = [{ type: 'otlp', endpoint: argv[2], logs: true }]
// However busy this machine is.
const stream = transport({ host: 'agent', backends, force_flush_wait_ms: 60_000 })
stream.end('{"level":30,"msg":"from here"}\n')
await once(stream, 'close')
exit()

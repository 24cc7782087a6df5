// An agent that logs by a thread of pino's, until nobody writes to it any more. Then it serves its own metrics.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { argv, env, stdin } from 'node:process'
import { fileURLToPath } from 'node:url'
import pino from 'pino'

const backends = [{ type: 'otlp', endpoint: argv[2], traces: false, logs: true }]
const target = fileURLToPath(new URL('../../../dist/plugin/pino/index.js', import.meta.url))
const thread = pino.transport({ target, options: { host: 'agent', backends, span_batch_schedule_delay_ms: 1 } })
const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
pino({}, thread).info({ traceparent }, 'from afar')

await once(stdin.resume(), 'end')
const server = createServer().listen(Number(env.OTEL_EXPORTER_PROMETHEUS_PORT), '127.0.0.1')
await once(server, 'listening')
server.close()

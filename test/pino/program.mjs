// An agent that logs by a thread of pino's.
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import pino from 'pino'

const backends = [{ type: 'otlp', endpoint: argv[2], traces: false, metrics: false, logs: true }]
const target = fileURLToPath(new URL('../../dist/pino/index.js', import.meta.url))
const thread = pino.transport({ target, options: { host: 'agent', backends } })
const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
pino({}, thread).info({ traceparent }, 'from afar')

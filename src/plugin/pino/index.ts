/** `hookspan/pino`: the lines of a pino logger as OTLP logs, beside the spans of their turn. */
import { Writable } from 'node:stream'
import type { LogAbout, Plugin, PluginOptions, SpanIds } from '../../index.ts'
import { createPluginIn, ownEnvironment } from '../create-plugin.ts'

/** pino's levels 10, 20, … 60. */
const SEVERITIES = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'] as const
const OF_PINO = new Set(['$context', 'pinoWillSendConfig'])
const IDS = ['host', 'session_id', 'turn_id', 'tool_call_id', 'traceparent'] as const
/** Fields about the machine, and fields recorded elsewhere. `err` is omitted because a stack contains paths. */
const LEFT_OUT = new Set<string>(['level', 'time', 'msg', 'pid', 'hostname', 'v', 'err', 'error', ...IDS])

type Line = Readonly<Record<string, unknown>>

/**
 * Creates a stream for pino, in the thread of the agent. A line identifies its turn or tool by `session_id`, `turn_id` and
 * `tool_call_id`. Without ids, it is placed beside the only open turn. Process id, host name and stacks are omitted.
 *
 * @example pino(pino.multistream([process.stdout, logStream(plugin)])).info({ session_id: 's1' }, 'the cache is cold')
 */
export function logStream(plugin: Pick<Plugin, 'log'>): Writable {
  let rest = ''
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Uint8Array, _encoding, done) {
      const lines = (rest + String(typeof chunk === 'string' ? chunk : Buffer.from(chunk))).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) logLine(plugin, line)
      done()
    },
    final(done) {
      logLine(plugin, rest)
      done()
    },
  })
}

/**
 * Creates a stream for pino's worker thread. No turn is open there, so a line is placed beside the span of its `traceparent`.
 * The options are those of `createPlugin`. The thread sends only lines, and serves no metrics.
 *
 * @example pino({ transport: { target: 'hookspan/pino', options: { host: 'my-agent' } } })
 */
// biome-ignore lint/style/noDefaultExport: pino loads the default export of a transport.
export default function transport(options: PluginOptions = {}): Writable {
  const own = Object.fromEntries(Object.entries(options).filter(([name]) => !OF_PINO.has(name)))
  const plugin = createPluginIn(own, { ...ownEnvironment(), recordsLogsOnly: true })
  const stream = logStream(plugin)
  return new Writable({
    decodeStrings: false,
    write: (chunk, encoding, done) => void stream.write(chunk, encoding, () => done()),
    final: done => void stream.end(() => void plugin.shutdown().then(() => done())),
  })
}

function logLine(plugin: Pick<Plugin, 'log'>, text: string): void {
  const line = parsed(text)
  if (line === undefined) return
  const { level, time, msg } = line
  plugin.log(typeof msg === 'string' ? msg : '', {
    ...idsOf(line),
    severity: severityOf(level),
    at: typeof time === 'number' ? time : undefined,
    attributes: attributesOf(line),
    error: line['err'] ?? line['error'],
  })
}

/** `formatters` may write a level as its name. */
function severityOf(level: unknown): NonNullable<LogAbout['severity']> {
  if (typeof level === 'number') return SEVERITIES[Math.max(0, Math.min(Math.floor(level / 10) - 1, 5))] ?? 'INFO'
  return SEVERITIES.find(name => typeof level === 'string' && name === level.toUpperCase()) ?? 'INFO'
}

function parsed(text: string): Line | undefined {
  try {
    const line: unknown = JSON.parse(text)
    return typeof line === 'object' && line !== null && !Array.isArray(line) ? (line as Line) : undefined
  } catch {
    return undefined
  }
}

function idsOf(line: Line): SpanIds & Pick<LogAbout, 'traceparent'> {
  return Object.fromEntries(IDS.flatMap(name => (typeof line[name] === 'string' ? [[name, line[name]]] : [])))
}

function attributesOf(line: Line): NonNullable<LogAbout['attributes']> {
  const fields = Object.entries(line).filter(([name]) => !LEFT_OUT.has(name))
  const plain = (value: unknown) =>
    typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as string | number | boolean | null)
  return Object.fromEntries(fields.map(([name, value]) => [name, plain(value)]))
}

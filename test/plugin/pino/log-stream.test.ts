/** The real pino, writing to us: in the agent's thread, and in a thread of pino's own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pino from 'pino'
import { expect, test } from 'vitest'
import { logStream } from '../../../src/plugin/pino/index.ts'
import { createTestPlugin } from '../../../src/testing.ts'
import { freePort } from '../../delivery/pipeline/pipeline-fixture.ts'
import { afterwards } from '../../support/afterwards.ts'
import { OtlpSink } from '../../support/otlp-sink.ts'
import { scratchHome } from '../scratch-plugin.ts'

const TURN = { session_id: 's1', turn_id: 't1' }

test('adds a line to the open turn, with its severity, time and fields', () => {
  const plugin = createTestPlugin()
  plugin.emit('pre_llm_call', { ...TURN, model: 'qwen3' })
  const logger = pino({ level: 'trace', base: { app: 'agent' } }, logStream(plugin))
  const before = Date.now()
  logger.warn({ shard: 3, nested: { a: [1] } }, 'the cache is %s', 'cold')
  plugin.emit('on_session_end', { ...TURN, completed: true })
  const [line] = plugin.logs()
  expect(line).toMatchObject({ body: 'the cache is cold', severity: 'WARN' })
  expect(line?.attributes).toMatchObject({ app: 'agent', shard: 3, nested: '{"a":[1]}', 'hermes.session.id': 's1' })
  expect(line?.at).toBeGreaterThanOrEqual(before)
  expect(plugin.spans().map(({ spanId }) => spanId)).toContain(line?.span?.spanId)
})

test('records type and message of an error; no stack, no process id, no host name', () => {
  const plugin = createTestPlugin()
  const logger = pino(logStream(plugin))
  logger.error(new TypeError('no such shard'), 'it failed')
  const [line] = plugin.logs()
  expect(line?.attributes).toEqual({ 'exception.type': 'TypeError', 'exception.message': 'no such shard' })
})

test.each([
  ['trace', 'TRACE'],
  ['debug', 'DEBUG'],
  ['info', 'INFO'],
  ['warn', 'WARN'],
  ['error', 'ERROR'],
  ['fatal', 'FATAL'],
] as const)('maps %s to %s', (level, severity) => {
  const plugin = createTestPlugin()
  pino({ level: 'trace' }, logStream(plugin))[level]('x')
  expect(plugin.logs().map(each => each.severity)).toEqual([severity])
})

test('reads a level written as its name; an unknown or absent one has no severity above others', () => {
  const plugin = createTestPlugin()
  const named = pino({ formatters: { level: level => ({ level }) } }, logStream(plugin))
  named.info('one')
  named.error('two')
  pino({ formatters: { level: level => ({ rank: level }) } }, logStream(plugin)).info('three')
  named.info({ level: 'low' }, 'four')
  expect(plugin.logs().map(each => each.severity)).toEqual(['INFO', 'ERROR', 'INFO', 'INFO'])
})

test('skips lines not from pino, and accepts lines in pieces', () => {
  const plugin = createTestPlugin()
  const stream = logStream(plugin)
  for (const piece of ['not json\n[1]\n{"level":30,"m', 'sg":"whole"}\n{"level":30,', '"msg":"last"}'])
    stream.write(piece)
  stream.end()
  expect(plugin.logs().map(({ body }) => body)).toEqual(['whole', 'last'])
})

function linesIn(sink: OtlpSink): string {
  return JSON.stringify(sink.requests.filter(({ path }) => path === '/v1/logs').map(({ json }) => json))
}

const pathsIn = (sink: OtlpSink): string[] => [...new Set(sink.requests.map(({ path }) => path))]

async function startSink(): Promise<OtlpSink> {
  const sink = await OtlpSink.start()
  afterwards(() => sink.stop())
  return sink
}

test("sends all lines of pino's own thread before its stream is closed", async () => {
  const sink = await startSink()
  // In a process of its own: a plugin reads all of its environment.
  const env = { PATH: process.env['PATH'], HOME: scratchHome() }
  const program = spawn(process.execPath, [fileURLToPath(new URL('stream.mjs', import.meta.url)), sink.url], { env })
  afterwards(() => program.kill('SIGKILL'))
  let said = ''
  program.stderr.on('data', chunk => {
    said += chunk
  })
  expect([await once(program, 'close'), said]).toEqual([[0, null], ''])
  expect(linesIn(sink)).toContain('"body":{"stringValue":"from here"}')
  expect(pathsIn(sink)).toEqual(['/v1/logs'])
})

test("sends from pino's own thread, which serves and sends nothing else", async () => {
  const sink = await startSink()
  const prometheus = { OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_PROMETHEUS_PORT: String(await freePort()) }
  const env = { PATH: process.env['PATH'], HOME: scratchHome(), ...prometheus }
  const program = spawn(process.execPath, [fileURLToPath(new URL('program.mjs', import.meta.url)), sink.url], { env })
  afterwards(() => program.kill('SIGKILL'))
  let said = ''
  program.stderr.on('data', chunk => {
    said += chunk
  })
  const ended = once(program, 'close')
  // Pino waits only so long for its thread when the process ends: until then it is to be there, however long it loads.
  await Promise.race([ended, sink.until(() => sink.requests.length > 0)])
  program.stdin.end()
  expect([await ended, said]).toEqual([[0, null], ''])
  expect(linesIn(sink)).toContain('"body":{"stringValue":"from afar"}')
  expect(linesIn(sink)).toContain(`"traceId":"${'a'.repeat(32)}","spanId":"${'b'.repeat(16)}"`)
  expect(pathsIn(sink)).toEqual(['/v1/logs'])
})

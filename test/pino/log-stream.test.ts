/** The real pino, writing to us: in the agent's thread, and in a thread of pino's own. */
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pino from 'pino'
import { expect, test } from 'vitest'
import { logStream } from '../../src/pino/index.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { afterwards } from '../support/afterwards.ts'
import { OtlpSink } from '../support/otlp-sink.ts'

const TURN = { session_id: 's1', turn_id: 't1' }

test('a line stands beside the turn that is open, with its severity, its time and its fields', () => {
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

test('an error is its type and its message; no stack, no process id, no host name', () => {
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
] as const)('%s is %s', (level, severity) => {
  const plugin = createTestPlugin()
  pino({ level: 'trace' }, logStream(plugin))[level]('x')
  expect(plugin.logs().map(each => each.severity)).toEqual([severity])
})

test('what is no line of pino is passed over, and lines may come in pieces', () => {
  const plugin = createTestPlugin()
  const stream = logStream(plugin)
  for (const piece of ['not json\n[1]\n{"level":30,"m', 'sg":"whole"}\n{"level":30,', '"msg":"last"}'])
    stream.write(piece)
  stream.end()
  expect(plugin.logs().map(({ body }) => body)).toEqual(['whole', 'last'])
})

test('in a thread of pino’s own it is sent before that ends', async () => {
  const sink = await OtlpSink.start()
  afterwards(() => sink.stop())
  const env = { PATH: process.env['PATH'], HOME: tmpdir() }
  await promisify(execFile)(process.execPath, [fileURLToPath(new URL('program.mjs', import.meta.url)), sink.url], {
    env,
  })
  const [request] = sink.requests.filter(({ path }) => path === '/v1/logs')
  expect(JSON.stringify(request?.json)).toContain('"body":{"stringValue":"from afar"}')
  expect(JSON.stringify(request?.json)).toContain(`"traceId":"${'a'.repeat(32)}","spanId":"${'b'.repeat(16)}"`)
})

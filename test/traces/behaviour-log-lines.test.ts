/** Lines of the agent's own (`plugin.log`): beside which span they stand, and what of them is written. */
import { expect, test } from 'vitest'
import { createTestPlugin, type LogEvent, type TestPlugin } from '../../src/testing.ts'
import { began, TURN } from './scenes.ts'

const CALL = { ...TURN, tool_name: 'terminal', tool_call_id: 'c1' }

function working(options: object = {}): TestPlugin {
  const plugin = createTestPlugin(options)
  for (const [, hook, payload] of began()) plugin.emitUntyped(hook, payload)
  plugin.emit('pre_tool_call', CALL)
  return plugin
}

function finished(plugin: TestPlugin): {
  readonly lines: readonly LogEvent[]
  nameOf(line: LogEvent): string | undefined
} {
  plugin.emit('post_tool_call', { ...CALL, status: 'ok' })
  plugin.emit('on_session_end', { ...TURN, completed: true })
  const spans = plugin.spans()
  const nameOf = ({ span }: LogEvent): string | undefined => spans.find(({ spanId }) => spanId === span?.spanId)?.name
  return { lines: plugin.logs().filter(({ name }) => name === undefined), nameOf }
}

test.each([
  ['the tool that is named', { tool_call_id: 'c1', ...TURN }, 'tool.terminal'],
  ['the turn that is named', TURN, 'llm.qwen3'],
  ['the only turn', {}, 'llm.qwen3'],
  ['nothing, where no such turn is open', { session_id: 'nobody' }, undefined],
])('is related to %s', (_, ids, name) => {
  const plugin = working()
  plugin.log('the cache is cold', ids)
  const { lines, nameOf } = finished(plugin)
  expect(lines.map(line => [line.body, line.severity, nameOf(line)])).toEqual([['the cache is cold', 'INFO', name]])
})

test('is related to the span open at its time, though hooks follow at once', () => {
  const plugin = working()
  plugin.log('before', { ...TURN, tool_call_id: 'c2' })
  plugin.emit('pre_tool_call', { ...CALL, tool_call_id: 'c2', tool_name: 'grep' })
  plugin.log('after', { ...TURN, tool_call_id: 'c2' })
  plugin.emit('post_tool_call', { ...CALL, tool_call_id: 'c2', tool_name: 'grep', status: 'ok' })
  const { lines, nameOf } = finished(plugin)
  expect(lines.map(line => [line.body, nameOf(line)])).toEqual([
    ['before', undefined],
    ['after', 'tool.grep'],
  ])
})

test('is related to the span of any traceparent', () => {
  const plugin = createTestPlugin()
  plugin.log('from afar', { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` })
  expect(plugin.logs()[0]?.span).toMatchObject({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 })
})

test('has its turn, its severity and time, and attributes of its own', () => {
  const plugin = working()
  plugin.log('slow', { ...TURN, severity: 'WARN', at: 1_795_256_100_123, attributes: { shard: 3, 'error.type': 'x' } })
  const [line] = finished(plugin).lines
  expect(line).toMatchObject({ severity: 'WARN', at: 1_795_256_100_123 })
  expect(line?.attributes).toMatchObject({ 'hermes.session.id': TURN.session_id, shard: 3 })
  expect(line?.attributes).not.toHaveProperty('event.name')
})

test('has type and message of a thrown value, without its stack', () => {
  const plugin = createTestPlugin()
  plugin.log('it failed', { severity: 'ERROR', error: new TypeError('no such shard') })
  expect(plugin.logs()[0]?.attributes).toEqual({ 'exception.type': 'TypeError', 'exception.message': 'no such shard' })
})

test('has no secrets in the message and in attributes', () => {
  const plugin = createTestPlugin()
  const key = `sk-ant-api03-${'x'.repeat(40)}`
  plugin.log(`with ${key}`, { attributes: { note: `it is ${key}`, api_key: 'short' } })
  expect(JSON.stringify(plugin.logs())).not.toContain('x'.repeat(20))
  expect(JSON.stringify(plugin.logs())).not.toContain('short')
})

test('has no text with content_capture: off, and as attributes only identifiers', () => {
  const plugin = createTestPlugin({ content_capture: 'off' })
  plugin.log('private', { attributes: { where: 'cache-3', what: 'he said no' } })
  const [line] = plugin.logs()
  expect(line).not.toHaveProperty('body')
  expect(line?.attributes).toEqual({ where: 'cache-3' })
})

test.each<[string, unknown, unknown]>([
  ['nothing', undefined, undefined],
  ['an object for a message', { a: 1 }, {}],
  ['a severity that there is not', 'x', { severity: 'LOUD' }],
  [
    'a getter that throws',
    'x',
    {
      get attributes() {
        throw new Error('no')
      },
    },
  ],
  ['a time that is none', 'x', { at: 'now' }],
])('survives %s, and is a line', (_, message, about) => {
  const plugin = createTestPlugin()
  expect(() => plugin.log(message as string, about as object)).not.toThrow()
  expect(plugin.logs().map(({ severity }) => severity)).toEqual(['INFO'])
})

/** The parent of a tool whose call id an answer has named. */
import { describe, expect, test } from 'vitest'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import { createLivePlugin } from './live-plugin.ts'
import { answered, asked, began, only, parentOf, text, used } from './scenes.ts'

const calls = (...ids: string[]): object => ({
  response: { assistant_message: { role: 'assistant', content: 'I look.', tool_calls: ids.map(id => ({ id })) } },
})
const parts = (...ids: string[]): object => ({
  response: { message: { content: [{ type: 'text', text: 'I look.' }, ...ids.map(id => ({ type: 'tool_use', id }))] } },
})
const second = (at: number, end: object = {}): Step[] => asked(at, { api_request_id: 'r2', model: 'other' }, end)

const BELOW_FIRST = text`
  agent OK
    llm.qwen3 OK
      api.qwen3 OK
        tool.terminal OK
      api.other OK
`

describe('a tool that names no request', () => {
  test.each([
    ['its fields', calls('c0', 'c1')],
    ['parts of its content', parts('c1')],
  ])('is below the request whose answer names it in %s', (_what, answer) => {
    const steps = [...began(), ...asked(100, {}, answer), ...used(210), ...second(300), ...answered(500)]
    expect(told(steps).tree()).toBe(BELOW_FIRST)
  })

  test('is below that request although another request has been made since', () => {
    const steps = [...began(), ...asked(100, {}, calls('c1')), ...second(210), ...used(250), ...answered(500)]
    expect(told(steps).tree()).toBe(BELOW_FIRST)
  })

  test('is below that request although the turn is over', () => {
    const plugin = told([...began(), ...asked(100, {}, calls('c1')), ...answered(300)])
    feedSteps(plugin, used(200))
    expect(plugin.tree()).toContain('api.qwen3 OK\n      tool.terminal OK')
  })

  test('is below that request although only the end of the tool was seen', () => {
    const steps = [
      ...began(),
      ...asked(100, {}, calls('c1')),
      ...second(260),
      ...used(210, {}, { duration_ms: 40 }).slice(1),
    ]
    expect(told([...steps, ...answered(500)]).tree()).toContain('api.qwen3 OK\n      tool.terminal OK')
  })

  test('is below that request although only the end of the request was seen', () => {
    const [, ended] = asked(100, {}, { ...calls('c1'), api_duration: 0.1 })
    const steps = [...began(), ended as Step, ...second(210), ...used(250), ...answered(500)]
    expect(told(steps).tree()).toContain('api.qwen3 OK (retroactive)\n      tool.terminal OK')
  })

  test.each(['off', 'preview', 'full'] as const)(
    'is below that request if its record has to wait: content_capture %s',
    async capture => {
      const plugin = createLivePlugin({ content_capture: capture })
      const steps = [...began(), ...asked(100, {}, calls('c1')), ...second(210), ...used(250), ...answered(500)]
      for (const [at, hook, payload] of steps) plugin.emitUntyped(hook, payload, { at: START_AT + at })
      expect(plugin.tree()).toBe(BELOW_FIRST)
      await plugin.shutdown()
    },
  )
})

test('puts a tool that names a request below that one, whatever an answer contains', () => {
  const call = used(320, { api_request_id: 'r2' })
  const steps = [...began(), ...asked(100, {}, calls('c1')), ...second(210), ...call, ...answered(500)]
  expect(told(steps).tree()).toContain('api.other OK\n      tool.terminal OK')
})

test('puts a tool of a call that no answer has named below the loop', () => {
  const steps = [...began(), ...asked(100, {}, calls('c7')), ...used(210), ...answered(500)]
  expect(told(steps).tree()).toContain('  api.qwen3 OK\n    tool.terminal OK')
})

test('does not put a tool that no request has asked for below a running one', () => {
  const steps = [...began(), ...asked(100), ...used(120, { api_call_count: 0 }), ...answered(500)]
  expect(told(steps).tree()).toContain('  api.qwen3 OK\n    tool.terminal OK')
})

describe('a tool inside another tool', () => {
  const parentNameOf = (plugin: TestPlugin, name: string): string | undefined =>
    parentOf(plugin, only(plugin, name))?.name

  test('is not drawn below the request of a tool that runs beside that', async () => {
    const hooks = createTestPlugin()
    await hooks.turn({}, turn =>
      Promise.all([
        turn.tool('b', {}, (_, tool) => tool.request({ model: 'of-b' }, () => tool.tool('in_b', {}, async () => 'x'))),
        turn.tool('a', {}, (_, tool) => tool.tool('in_a', {}, async () => 'x')),
      ]),
    )
    const parents = ['tool.a', 'tool.b', 'tool.in_a', 'tool.in_b'].map(name => parentNameOf(hooks, name))
    expect(parents).toEqual(['llm', 'llm', 'llm', 'api.of-b'])
  })

  test('is below the request that asked for the outer one', async () => {
    const hooks = createTestPlugin()
    await hooks.turn({}, async turn => {
      await turn.request({ model: 'm' }, async () => 'x')
      await turn.tool('a', {}, (_, tool) => tool.tool('in_a', {}, async () => 'x'))
    })
    expect(['tool.a', 'tool.in_a'].map(name => parentNameOf(hooks, name))).toEqual(['api.m', 'api.m'])
  })
})

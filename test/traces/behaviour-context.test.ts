/** How full the context is, who answered in the end, and which tools a request offered. */
import { describe, expect, test } from 'vitest'
import { type Step, told } from '../support/feed.ts'
import { all, answered, asked, attributes, began, TURN } from './scenes.ts'

const USAGE = { prompt_tokens: 50_000, output_tokens: 10 }

describe('the context', () => {
  test('is as full as the input of a request, and the root has that of the last one', () => {
    const plugin = told([
      ...began(),
      ...asked(100, { api_request_id: 'r1' }, { context_length: 200_000, usage: USAGE }),
      ...asked(300, { api_request_id: 'r2' }, { context_length: 200_000, usage: { ...USAGE, prompt_tokens: 66_667 } }),
      ...answered(500),
    ])
    const [first, last] = all(plugin, 'api.qwen3')
    expect(first?.attributes).toMatchObject({ 'hermes.context.max_tokens': 200_000, 'hermes.context.used_ratio': 0.25 })
    const full = { 'hermes.context.max_tokens': 200_000, 'hermes.context.used_ratio': 0.3333 }
    expect(last?.attributes).toMatchObject(full)
    expect(attributes(plugin, 'agent')).toMatchObject(full)
  })

  test('has only a length for a request without usage', () => {
    const plugin = told([...began(), ...asked(100, {}, { context_length: 8192 }), ...answered(300)])
    expect(attributes(plugin, 'api.qwen3')['hermes.context.max_tokens']).toBe(8192)
    for (const name of ['api.qwen3', 'agent'])
      expect(attributes(plugin, name)).not.toHaveProperty('hermes.context.used_ratio')
  })

  test.each([0, -1, 0.5, Number.NaN, 'much', null])('has no length that is %s', context_length => {
    const plugin = told([...began(), ...asked(100, {}, { context_length, usage: USAGE }), ...answered(300)])
    for (const name of ['api.qwen3', 'agent'])
      expect(Object.keys(attributes(plugin, name)).filter(key => key.includes('.context.'))).toEqual([])
  })

  test('excludes a side call from that of the turn', () => {
    const side = { ...TURN, api_request_id: 'a1', aux_task: 'title' }
    const steps: Step[] = [
      [100, 'pre_auxiliary_call', side],
      [150, 'post_auxiliary_call', { ...side, context_length: 8192, usage: USAGE }],
    ]
    const plugin = told([...began(), ...steps, ...answered(300)])
    expect(attributes(plugin, 'aux.title')['hermes.context.max_tokens']).toBe(8192)
    expect(attributes(plugin, 'agent')).not.toHaveProperty('hermes.context.max_tokens')
  })
})

test('names the model that answered behind the provider', () => {
  const plugin = told([...began(), ...asked(100, {}, { response: { upstream_provider: 'together' } })])
  expect(attributes(plugin, 'api.qwen3')['hermes.response.upstream_provider']).toBe('together')
})

describe('the tools that a request offers', () => {
  const tools = [
    { type: 'function', function: { name: 'terminal', description: 'runs', parameters: { type: 'object' } } },
    { type: 'function', name: 'read_file' },
    { name: 'search', input_schema: {} },
    { type: 'web_search' },
    null,
  ]
  const request = { body: { tools } }

  test('is counted if the host does not count them', () => {
    const count = (start: object): unknown =>
      attributes(told([...began(), ...asked(100, start)]), 'api.qwen3')['hermes.request.tool_count']
    expect(count({ request })).toBe(5)
    expect(count({ request, tool_count: 20 })).toBe(20)
    expect(count({ request: { body: { tools: 'none' } } })).toBeUndefined()
  })

  test('has names with content_capture: full, and with nothing else', () => {
    const named = (content_capture: 'full' | 'preview' | 'off'): unknown =>
      attributes(told([...began(), ...asked(100, { request })], { content_capture }), 'api.qwen3')[
        'gen_ai.tool.definitions'
      ]
    expect(JSON.parse(String(named('full')))).toEqual([
      { type: 'function', name: 'terminal' },
      { type: 'function', name: 'read_file' },
      { type: 'function', name: 'search' },
    ])
    expect(named('preview')).toBeUndefined()
    expect(named('off')).toBeUndefined()
  })
})

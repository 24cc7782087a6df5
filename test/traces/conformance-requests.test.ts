import { describe, expect, test } from 'vitest'
import { type Step, told } from '../support/feed.ts'
import { all, answered, asked, attributes, began, only, seriesText, TURN, text } from './scenes.ts'

describe('usage', () => {
  test('case 18: sums the requests of the turn on the root, under names that no backend counts twice', () => {
    const plugin = told([
      ...began(),
      ...asked(100, {}, { usage: { prompt_tokens: 200, output_tokens: 50, cache_read_tokens: 50 } }),
      ...asked(
        300,
        { api_request_id: 'r2' },
        { usage: { prompt_tokens: 300, output_tokens: 60, cache_read_tokens: 100 } },
      ),
      ...answered(500),
    ])
    const root = attributes(plugin, 'agent')
    expect(root).toMatchObject({
      'hermes.turn.tokens.input': 500,
      'hermes.turn.tokens.output': 110,
      'hermes.turn.tokens.total': 610,
      'hermes.turn.tokens.cache_read': 150,
      'hermes.turn.api_call_count': 2,
    })
    for (const name of Object.keys(root)) expect(name).not.toMatch(/^gen_ai\.usage|^llm\.token_count/)
  })

  test('case 19: sets both conventions on the span of the request', () => {
    const usage = { prompt_tokens: 100, output_tokens: 50, total_tokens: 150 }
    expect(attributes(told([...began(), ...asked(100, {}, { usage })]), 'api.qwen3')).toMatchObject({
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 50,
      'llm.token_count.prompt': 100,
      'llm.token_count.completion': 50,
      'llm.token_count.total': 150,
    })
  })

  test('case 20: sets the cache', () => {
    const usage = { prompt_tokens: 100, output_tokens: 50, cache_read_tokens: 30, cache_write_tokens: 15 }
    expect(attributes(told([...began(), ...asked(100, {}, { usage })]), 'api.qwen3')).toMatchObject({
      'llm.token_count.prompt_details.cache_read': 30,
      'llm.token_count.prompt_details.cache_write': 15,
      'gen_ai.usage.cache_read.input_tokens': 30,
      'gen_ai.usage.cache_creation.input_tokens': 15,
      'llm.token_count.total': 150,
    })
  })

  test('case 21: includes reasoning in the output and never adds it to a total', async () => {
    const usage = { prompt_tokens: 100, output_tokens: 80, reasoning_tokens: 60, total_tokens: 180 }
    const plugin = told([...began(), ...asked(100, {}, { usage })])
    expect(attributes(plugin, 'api.qwen3')).toMatchObject({
      'gen_ai.usage.reasoning.output_tokens': 60,
      'llm.token_count.completion_details.reasoning': 60,
      'llm.token_count.total': 180,
    })
    expect(await seriesText(plugin, 'hermes.tokens.reasoning')).toEqual(['model=qwen3 provider=openai part=own → 60'])
    expect(await seriesText(plugin, 'hermes.tokens.output')).toEqual(['model=qwen3 provider=openai part=own → 80'])
  })

  test('case 84: records usage and duration as metrics, without any id', async () => {
    const usage = { prompt_tokens: 100, output_tokens: 50 }
    const plugin = told([...began(), ...asked(100, {}, { usage, api_duration: 0.3, response_model: 'qwen3-0711' })])
    const labels =
      'gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=qwen3 gen_ai.response.model=qwen3-0711'
    expect(await seriesText(plugin, 'gen_ai.client.token.usage')).toEqual([
      `${labels} gen_ai.token.type=input → 100`,
      `${labels} gen_ai.token.type=output → 50`,
    ])
    expect(await seriesText(plugin, 'gen_ai.client.operation.duration')).toEqual([`${labels} → 0.3`])
    expect(await seriesText(plugin, 'hermes.tokens.input')).toEqual(['model=qwen3 provider=openai part=own → 100'])
  })

  test('case 86: keeps only our metrics without those of gen_ai', async () => {
    const usage = { prompt_tokens: 100, output_tokens: 50 }
    const plugin = told([...began(), ...asked(100, {}, { usage }), ...answered(300)], {
      conventions: ['own', 'openinference'],
    })
    const names = new Set((await plugin.metrics()).map(sample => sample.name.split('.')[0]))
    expect([...names].sort()).toEqual(['hermes', 'hookspan'])
  })
})

describe('the request', () => {
  test('case 23: sets the duration from the host', () => {
    const span = attributes(told([...began(), ...asked(100, {}, { api_duration: 0.1234 })]), 'api.qwen3')
    expect(span['llm.response.duration_ms']).toBeCloseTo(123.4, 6)
    expect(span['http.duration_ms']).toBeCloseTo(123.4, 6)
  })

  test('case 24: sets the parameters', () => {
    const parameters = { max_tokens: 2048, temperature: 0.2, top_p: 0.9, stream: true, reasoning_effort: 'high' }
    const span = attributes(told([...began(), ...asked(100, parameters)]), 'api.qwen3')
    expect(span).toMatchObject({
      'gen_ai.request.max_tokens': 2048,
      'gen_ai.request.temperature': 0.2,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.stream': true,
      'hermes.request.reasoning_effort': 'high',
    })
    expect(JSON.parse(String(span['llm.invocation_parameters']))).toEqual(parameters)
  })

  test('case 25: treats a limit of 0 tokens as no limit', () => {
    const span = attributes(told([...began(), ...asked(100, { max_tokens: 0 })]), 'api.qwen3')
    expect(span).not.toHaveProperty('gen_ai.request.max_tokens')
    expect(span).not.toHaveProperty('llm.invocation_parameters')
  })
})

describe('failures', () => {
  const REQUEST = { ...TURN, api_request_id: 'r1', model: 'qwen3', provider: 'openai' }
  const FAILED: Step[] = [
    [100, 'pre_api_request', REQUEST],
    [
      1350,
      'api_request_error',
      {
        ...REQUEST,
        error: { type: 'RateLimitError', message: 'slow down' },
        status_code: 429,
        retry_count: 2,
        max_retries: 5,
        retryable: true,
        reason: 'rate_limit',
        api_duration: 1.25,
      },
    ],
  ]

  test('case 63: sets everything that the host reported on a failed attempt', () => {
    const plugin = told([...began(), ...FAILED])
    const span = only(plugin, 'api.qwen3')
    expect(span).toMatchObject({ status: 'error', statusMessage: 'slow down' })
    expect(span.attributes).toMatchObject({
      'error.type': 'RateLimitError',
      'http.response.status_code': 429,
      'gen_ai.response.status_code': 429,
      'hermes.retry.count': 2,
      'hermes.max_retries': 5,
      'hermes.retryable': true,
      'hermes.error.reason': 'rate_limit',
      'llm.response.duration_ms': 1250,
      'http.duration_ms': 1250,
    })
    expect(span.events.map(({ name, attributes: told }) => [name, told])).toEqual([
      [
        'exception',
        { 'exception.type': 'RateLimitError', 'exception.message': 'slow down', 'exception.escaped': true },
      ],
    ])
  })

  test('case 64: makes the next attempt a sibling, and sets no error on the root', () => {
    const plugin = told([...began(), ...FAILED, ...asked(1500), ...answered(1700)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 ERROR RateLimitError
          api.qwen3 OK
    `)
    expect(attributes(plugin, 'agent')).not.toHaveProperty('error.type')
  })

  test('case 65: sets the error on the root of a turn that failed by it', () => {
    const error = { ...REQUEST, error: { type: 'AuthenticationError', message: 'no key' }, status_code: 401 }
    const plugin = told([
      ...began(),
      [100, 'pre_api_request', REQUEST],
      [200, 'api_request_error', error],
      [300, 'on_session_end', { ...TURN, completed: false, interrupted: false }],
    ])
    expect(only(plugin, 'agent').status).toBe('error')
    expect(attributes(plugin, 'agent')['error.type']).toBe('AuthenticationError')
  })

  test('shows an error without an open request', () => {
    const plugin = told([
      ...began(),
      [200, 'api_request_error', { ...TURN, error: { type: 'ConnectError', message: 'refused' } }],
      ...answered(300),
    ])
    expect(all(plugin, 'api.error')).toHaveLength(1)
    expect(only(plugin, 'api.error')).toMatchObject({ status: 'error', statusMessage: 'refused' })
  })
})

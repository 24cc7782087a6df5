/** Requests, their attempts and their facts. */
import { describe, expect, test } from 'vitest'
import type { StoredSpan, TestPlugin } from '../../src/testing.ts'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import { all, answered, attributes, began, only, parentOf, series, seriesText, TURN, text, used } from './scenes.ts'

const REQUEST = { ...TURN, api_request_id: 'r1', model: 'qwen3', provider: 'openai' }
const pre = (at: number, extra: object = {}): Step => [at, 'pre_api_request', { ...REQUEST, ...extra }]
const post = (at: number, extra: object = {}): Step => [at, 'post_api_request', { ...REQUEST, ...extra }]
const error = (at: number, extra: object = {}): Step => [
  at,
  'api_request_error',
  { ...REQUEST, error: { type: 'Timeout', message: 'no answer' }, ...extra },
]
const ATTEMPT = { attributes: ['hermes.api.attempt'] }

describe('an attempt', () => {
  test('is numbered by the retry count of the host', () => {
    const plugin = told([
      ...began(),
      pre(100, { retry_count: 0 }),
      error(200),
      pre(300, { retry_count: 1 }),
      post(400),
      ...answered(500),
    ])
    expect(plugin.tree(ATTEMPT)).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 ERROR Timeout [hermes.api.attempt=0]
          api.qwen3 OK [hermes.api.attempt=1]
    `)
  })

  test('is numbered by hookspan if the host repeats its ids', () => {
    const plugin = told([...began(), pre(100), error(200), pre(300), error(400), pre(500), post(600), ...answered(700)])
    expect(plugin.tree(ATTEMPT)).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 ERROR Timeout [hermes.api.attempt=0]
          api.qwen3 ERROR Timeout [hermes.api.attempt=1]
          api.qwen3 OK [hermes.api.attempt=2]
    `)
    expect(attributes(plugin, 'agent')).toMatchObject({
      'hermes.turn.api_call_count': 3,
      'hermes.turn.api_error_count': 2,
    })
  })

  test('ends when the next one begins, if the host reports no end', () => {
    const plugin = told([
      ...began(),
      pre(100, { retry_count: 0 }),
      pre(300, { retry_count: 1 }),
      post(400),
      ...answered(500),
    ])
    expect(plugin.tree(ATTEMPT)).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 UNSET (incomplete: superseded) [hermes.api.attempt=0]
          api.qwen3 OK [hermes.api.attempt=1]
    `)
    expect(all(plugin, 'api.qwen3')[0]?.endAt).toBe(START_AT + 300)
  })

  test('stays open at a late end of the first attempt', () => {
    const plugin = told([
      ...began(),
      pre(100, { retry_count: 0 }),
      pre(300, { retry_count: 1 }),
      error(310, { retry_count: 0 }),
      post(400, { retry_count: 1 }),
      ...answered(500),
    ])
    const second = all(plugin, 'api.qwen3').find(span => span.attributes['hermes.api.attempt'] === 1)
    expect(second).toMatchObject({ status: 'ok', startAt: START_AT + 300, endAt: START_AT + 400 })
  })

  test('starts at its own time, whatever started_at contains', () => {
    const started_at = (START_AT + 100) / 1000
    const plugin = told([
      ...began(),
      pre(100, { started_at }),
      error(200, { started_at }),
      pre(300, { started_at }),
      post(400),
    ])
    expect(all(plugin, 'api.qwen3').map(span => span.startAt - START_AT)).toEqual([100, 300])
  })

  test('is kept apart from an attempt at another request at the same time', () => {
    const other = { api_request_id: 'r2', model: 'other' }
    const plugin = told([...began(), pre(100), pre(110, other), post(150), post(200, other), ...answered(300)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 OK
          api.other OK
    `)
  })

  test('is matched by its ordinal in the turn if it has no request id', () => {
    const call = (api_call_count: number) => ({
      api_request_id: undefined,
      api_call_count,
      model: `m${api_call_count}`,
    })
    const plugin = told([
      ...began(),
      pre(100, call(1)),
      pre(110, call(2)),
      post(150, call(1)),
      post(200, call(2)),
      ...answered(300),
    ])
    expect(only(plugin, 'api.m1').endAt).toBe(START_AT + 150)
    expect(only(plugin, 'api.m2').endAt).toBe(START_AT + 200)
  })

  test('is paired with the open attempt if it has no id at all', () => {
    const nameless = { api_request_id: undefined }
    const plugin = told([...began(), pre(100, nameless), post(150, nameless), pre(200, nameless), post(250, nameless)])
    expect(all(plugin, 'api.qwen3').map(span => span.status)).toEqual(['ok', 'ok'])
  })
})

describe('the error of an attempt', () => {
  test('reaches the root only when the turn failed', () => {
    const story = [...began(), pre(100), error(200, { retryable: true })]
    const failed = told([...story, [300, 'on_session_end', { ...TURN, failed: true }]])
    expect(attributes(failed, 'agent')).toMatchObject({ 'error.type': 'Timeout', 'hermes.turn.retry_count': 1 })
    for (const end of [{ completed: true }, { interrupted: true }]) {
      const ended = told([...story, [300, 'on_session_end', { ...TURN, ...end }]])
      expect(attributes(ended, 'agent')).not.toHaveProperty('error.type')
      expect(only(ended, 'agent').status).toBe('ok')
    }
  })

  test.each([
    [{ failed: true }, 'failed'],
    [{}, 'incomplete'],
  ])('is the way a turn ended if no request failed: %j', (said, type) => {
    const plugin = told([...began(), [300, 'on_session_end', { ...TURN, ...said }]])
    expect(only(plugin, 'agent').status).toBe('error')
    expect(attributes(plugin, 'agent')['error.type']).toBe(type)
  })

  test.each([
    ['text', 'it broke', '_OTHER', 'it broke'],
    ['an Error', new TypeError('it broke'), 'TypeError', 'it broke'],
    ['nothing but a reason', undefined, 'overloaded', 'overloaded'],
  ])('may be %s', (_what, given, type, message) => {
    const plugin = told([
      ...began(),
      pre(100),
      error(200, { error: given, reason: given === undefined ? 'overloaded' : undefined }),
    ])
    expect(only(plugin, 'api.qwen3')).toMatchObject({ status: 'error', statusMessage: message })
    expect(attributes(plugin, 'api.qwen3')['error.type']).toBe(type)
  })

  test('is repeated as an event, with an escaped exception', () => {
    const plugin = told([...began(), pre(100), error(200)])
    expect(only(plugin, 'api.qwen3').events).toMatchObject([
      { name: 'exception', at: START_AT + 200, attributes: { 'exception.escaped': true, 'exception.type': 'Timeout' } },
    ])
  })
})

describe('facts of a request', () => {
  test('is below the loop, else below the root', () => {
    const plugin = told([[0, 'on_session_start', { session_id: 's1' }], pre(100), post(200), ...answered(300).slice(1)])
    expect(plugin.tree()).toBe('agent OK\n  api.qwen3 OK')
  })

  test('has the model that was really sent', () => {
    const plugin = told([...began(), pre(100, { request: { method: 'POST', body: { model: 'fallback' } } }), post(200)])
    expect(attributes(plugin, 'api.fallback')).toMatchObject({
      'gen_ai.request.model': 'fallback',
      'llm.model_name': 'fallback',
    })
  })

  test('reads parameters from the body, too', () => {
    const body = {
      temperature: 0,
      top_p: 1,
      top_k: 40,
      stop: ['END', 'STOP'],
      seed: 7,
      n: 1,
      stream: false,
      max_tokens: 10,
    }
    const span = attributes(told([...began(), pre(100, { request: { body } }), post(200)]), 'api.qwen3')
    expect(span).toMatchObject({
      'gen_ai.request.temperature': 0,
      'gen_ai.request.top_p': 1,
      'gen_ai.request.top_k': 40,
      'gen_ai.request.stop_sequences': ['END', 'STOP'],
      'gen_ai.request.seed': 7,
      'gen_ai.request.stream': false,
      'gen_ai.request.max_tokens': 10,
    })
    expect(span).not.toHaveProperty('gen_ai.request.choice.count')
  })

  test('has the counts of the host', () => {
    const counts = { api_mode: 'chat_completions', api_call_count: 3, message_count: 4, tool_count: 5 }
    const more = { approx_input_tokens: 6, request_char_count: 7, n: 2, frequency_penalty: 0.1, presence_penalty: 0.2 }
    const end = {
      assistant_content_chars: 8,
      assistant_tool_call_count: 9,
      finish_reason: 'stop',
      response_id: 'resp-1',
    }
    const plugin = told([...began(), pre(100, { ...counts, ...more }), post(200, { ...counts, ...end })])
    expect(attributes(plugin, 'api.qwen3')).toMatchObject({
      'hermes.api.mode': 'chat_completions',
      'hermes.api.call_count': 3,
      'hermes.request.message_count': 4,
      'hermes.request.tool_count': 5,
      'hermes.request.approx_input_tokens': 6,
      'hermes.request.char_count': 7,
      'gen_ai.request.choice.count': 2,
      'gen_ai.request.frequency_penalty': 0.1,
      'gen_ai.request.presence_penalty': 0.2,
      'hermes.response.content_chars': 8,
      'hermes.response.tool_calls': 9,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.finish_reason': 'stop',
      'llm.finish_reason': 'stop',
      'gen_ai.response.id': 'resp-1',
    })
  })

  test.each([
    ['anthropic', 'anthropic', 'anthropic', 'anthropic'],
    ['bedrock', 'aws.bedrock', 'aws', undefined],
    ['Azure', 'azure.ai.openai', 'azure', 'openai'],
    ['google', 'gcp.gemini', 'google', 'google'],
    ['vertex', 'gcp.vertex_ai', 'google', 'vertexai'],
    ['grok', 'x_ai', 'xai', 'xai'],
    ['mistral', 'mistral_ai', 'mistralai', 'mistralai'],
    ['openrouter', 'openrouter', 'openrouter', undefined],
    ['constructor', 'constructor', 'constructor', undefined],
  ])('converts the provider %s to %s, and to %s and %s for OpenInference', (provider, known, inference, system) => {
    const plugin = told([...began(), pre(100, { provider }), post(200, { provider }), ...answered(300)])
    const span = attributes(plugin, 'api.qwen3')
    expect([span['gen_ai.provider.name'], span['llm.provider'], span['llm.system']]).toEqual([known, inference, system])
    const root = attributes(plugin, 'agent')
    expect([root['gen_ai.provider.name'], root['llm.provider']]).toEqual([known, inference])
  })

  test('has a response model only if the host reported one', () => {
    const plugin = told([...began(), pre(100), post(200)])
    expect(attributes(plugin, 'api.qwen3')).not.toHaveProperty('gen_ai.response.model')
  })

  test.each([
    [150, 0.05],
    [100, 0],
    [90, undefined],
  ])('sets a first chunk at %i to %s s after the start at 100', async (at, seconds) => {
    const plugin = told([...began(), pre(100), post(200, { first_chunk_at: (START_AT + at) / 1000 })])
    const told_ = attributes(plugin, 'api.qwen3')['gen_ai.response.time_to_first_chunk']
    if (seconds === undefined) expect(told_).toBeUndefined()
    else expect(told_).toBeCloseTo(seconds, 6)
    expect(await series(plugin, 'gen_ai.client.operation.time_to_first_chunk')).toHaveLength(
      seconds === undefined ? 0 : 1,
    )
  })

  test('is found by its tools by its id, also among several', () => {
    const plugin = told([
      ...began(),
      pre(100),
      pre(110, { api_request_id: 'r2', model: 'other' }),
      ...used(150, { api_request_id: 'r1' }),
    ])
    feedSteps(plugin, [post(300), post(300, { api_request_id: 'r2', model: 'other' })])
    expect(parentOf(plugin, only(plugin, 'tool.terminal'))?.name).toBe('api.qwen3')
  })

  test("measures a retry by its own time, not in the host's unit", async () => {
    const plugin = told([
      ...began(),
      pre(100, { retry_count: 0 }),
      error(200, { api_duration: 0.1 }),
      pre(2100, { retry_count: 1 }),
      post(2300, { api_duration: 2.2 }),
    ])
    expect(await seriesText(plugin, 'hermes.api.duration')).toEqual(['model=qwen3 provider=openai → 200'])
    const said = all(plugin, 'api.qwen3').map(({ attributes: { 'http.duration_ms': millis } }) => millis)
    expect(said).toEqual([100, 200])
  })

  test('has the duration of its span if the host reports none', () => {
    const span = attributes(told([...began(), pre(100), post(350)]), 'api.qwen3')
    expect(span).toMatchObject({ 'http.duration_ms': 250, 'llm.response.duration_ms': 250 })
  })

  test('has no count over attempts that the host does not number', async () => {
    const plugin = told([
      ...began(),
      pre(100, { api_request_id: undefined }),
      error(196, { api_request_id: undefined, api_duration: 22.643 }),
    ])
    expect(attributes(plugin, 'api.qwen3')).toMatchObject({ 'http.duration_ms': 96, 'llm.response.duration_ms': 96 })
    expect(await seriesText(plugin, 'gen_ai.client.operation.duration')).toEqual([
      expect.stringMatching(/error\.type=Timeout → 0\.096$/),
    ])
  })
})

describe('an attempt that is never answered', () => {
  const first = (extra: object = {}): Step => pre(100, { api_request_id: 'a', api_call_count: 1, ...extra })
  const second = [
    pre(900, { api_request_id: 'b', api_call_count: 2 }),
    post(1000, { api_request_id: 'b', api_call_count: 2 }),
  ]
  const TIMES = { durations: true }

  test('ends when the turn makes its next request', () => {
    expect(told([...began(), first(), ...second, ...answered(1100)]).tree(TIMES)).toBe(text`
      agent OK 1.1 s
        llm.qwen3 OK 1.1 s
          api.qwen3 UNSET 800 ms (incomplete: superseded)
          api.qwen3 OK 100 ms
    `)
  })

  test('ends with an answer that arrives after all', () => {
    const late = post(1050, { api_request_id: 'a', api_call_count: 1 })
    const plugin = told([...began(), first(), ...second, late, ...answered(1100)])
    expect(plugin.tree(TIMES)).toContain('api.qwen3 OK 950 ms')
  })

  test('continues if the host does not report that requests are sequential', () => {
    const plugin = told([
      ...began(),
      first({ api_call_count: undefined }),
      ...second.map(([at, hook, payload]): Step => [at, hook, { ...payload, api_call_count: undefined }]),
      ...answered(1100),
    ])
    expect(plugin.tree(TIMES)).toContain('api.qwen3 UNSET 1.0 s (incomplete: turn_ended)')
  })

  test('ends with its stream', () => {
    const stream = { ...TURN, iteration: 1 }
    const plugin = told([
      ...began(),
      first(),
      [110, 'on_stream_start', stream],
      [400, 'on_stream_end', { ...stream, finished: true, error: null }],
      ...second,
      ...answered(1100),
    ])
    expect(plugin.tree(TIMES)).toContain('api.qwen3 UNSET 300 ms (incomplete: superseded)')
    expect(plugin.stats().hooks).toMatchObject({ ignored: 0 })
  })

  test('has failed with its stream, and is counted so', async () => {
    const plugin = told([
      ...began(),
      first(),
      [400, 'on_stream_end', { ...TURN, iteration: 1, finished: false, error: 'Error code: 500 - overloaded' }],
      ...second,
      ...answered(1100),
    ])
    expect(plugin.tree(TIMES)).toContain('api.qwen3 ERROR _OTHER 300 ms (incomplete: superseded)')
    expect(attributes(plugin, 'agent')['hermes.turn.api_error_count']).toBe(1)
    expect(await seriesText(plugin, 'hermes.api.error.count')).toHaveLength(1)
  })

  test.each<[string, Step]>([
    ['a stream of another request', [400, 'on_stream_end', { ...TURN, iteration: 7, error: 'no' }]],
    ['a stream that is tried again', [400, 'on_stream_start', { ...TURN, iteration: 1 }]],
  ])('does not end with %s', (_what, step) => {
    const failed: Step = [300, 'on_stream_end', { ...TURN, iteration: 7, error: 'no' }]
    const plugin = told([...began(), first(), failed, step, ...second, ...answered(1100)])
    expect(plugin.tree(TIMES)).toContain('api.qwen3 UNSET 800 ms (incomplete: superseded)')
  })

  test('is unaffected by a failed stream if its request is answered after all', () => {
    const plugin = told([
      ...began(),
      first(),
      [400, 'on_stream_end', { ...TURN, iteration: 1, error: 'Error code: 500' }],
      post(500, { api_request_id: 'a', api_call_count: 1 }),
      [600, 'on_stream_end', { ...TURN, iteration: 1, error: null }],
      ...answered(1100),
    ])
    expect(plugin.tree()).not.toContain('ERROR')
    expect(attributes(plugin, 'agent')).not.toHaveProperty('hermes.turn.api_error_count')
  })
})

describe('the success of a retry whose start was not reported', () => {
  const USAGE = { prompt_tokens: 100, completion_tokens: 10 }
  const failing = [pre(100, { retry_count: 0 }), error(200, { retry_count: 0 })]
  const tokens = async (steps: Step[]): Promise<unknown[]> => {
    const plugin = told([...began(), ...steps, ...answered(900)])
    const root = attributes(plugin, 'agent')
    return [
      root['hermes.turn.tokens.total'],
      root['hermes.turn.api_call_count'],
      root['hermes.turn.final_status'],
      ...(await seriesText(plugin, 'hermes.tokens.input')).map(line => line.replace(/.* → /, '')),
    ]
  }

  test.each([
    ['its number', { retry_count: 1, usage: USAGE }],
    ['no number', { usage: USAGE }],
    ['the number of the failure', { retry_count: 0, usage: USAGE }],
  ])('counts once if it has %s', async (_what, said) => {
    expect(await tokens([...failing, post(400, said)])).toEqual([110, 2, 'completed', '100'])
    expect(await tokens([...failing, post(400, said), post(400, said)])).toEqual([110, 2, 'completed', '100'])
  })

  test('is a span if it has a duration, from the end of the failure at the earliest', () => {
    const plugin = told([
      ...began(),
      ...failing,
      post(400, { retry_count: 1, api_duration: 0.3, usage: USAGE }),
      ...answered(900),
    ])
    expect(plugin.tree({ ...ATTEMPT, durations: true })).toBe(text`
      agent OK 910 ms
        llm.qwen3 OK 880 ms
          api.qwen3 ERROR Timeout 100 ms [hermes.api.attempt=0]
          api.qwen3 OK 200 ms (retroactive) [hermes.api.attempt=1]
    `)
  })

  test('is the end of its own late start, too', () => {
    const said = { retry_count: 1, usage: USAGE }
    const plugin = told([...began(), ...failing, post(400, said), pre(300, said), post(400, said), ...answered(900)])
    expect(plugin.tree({ ...ATTEMPT, durations: true })).toBe(text`
      agent OK 910 ms
        llm.qwen3 OK 880 ms
          api.qwen3 ERROR Timeout 100 ms [hermes.api.attempt=0]
          api.qwen3 OK 100 ms [hermes.api.attempt=1]
    `)
    expect(attributes(plugin, 'agent')).toMatchObject({
      'hermes.turn.tokens.total': 110,
      'hermes.turn.api_call_count': 2,
    })
  })

  test('counts for a side call as well', async () => {
    const call = { ...TURN, api_request_id: 'a1', aux_task: 'title', model: 'small' }
    const plugin = told([
      ...began(),
      [100, 'pre_auxiliary_call', { ...call, retry_count: 0 }],
      [200, 'post_auxiliary_call', { ...call, retry_count: 0, error: { type: 'Timeout' } }],
      [400, 'post_auxiliary_call', { ...call, retry_count: 1, usage: USAGE }],
      [400, 'post_auxiliary_call', { ...call, retry_count: 1, usage: USAGE }],
      [500, 'pre_auxiliary_call', { ...call, api_request_id: 'a2', retry_count: 1 }],
      [600, 'post_auxiliary_call', { ...call, api_request_id: 'a2', retry_count: 1, usage: USAGE }],
      [600, 'post_auxiliary_call', { ...call, api_request_id: 'a2', retry_count: 1, usage: USAGE }],
      ...answered(900),
    ])
    expect((await series(plugin, 'hermes.tokens.input')).map(({ value }) => value)).toEqual([200])
  })
})

describe('an end, its late start, and the same end again', () => {
  const USAGE = { prompt_tokens: 100, completion_tokens: 10 }

  test.each([[{}], [{ retry_count: 0 }], [{ retry_count: 1 }], [{ retry_count: 1, api_duration: 0.05 }]])(
    'is one request with %o, counted once and closed',
    async said => {
      const [start, end] = [pre(100, said), post(200, { ...said, usage: USAGE })]
      for (const steps of [
        [end, start],
        [end, start, end],
        [end, start, start, end, end],
      ]) {
        const plugin = told([...began(), ...steps])
        expect(plugin.stats().spansOpen).toBe(2)
        feedSteps(plugin, answered(900))
        expect(all(plugin, 'api.qwen3')).toHaveLength(1)
        expect(only(plugin, 'api.qwen3')).toMatchObject({
          status: 'ok',
          endAt: START_AT + 200,
          attributes: { 'gen_ai.usage.input_tokens': 100 },
        })
        expect(attributes(plugin, 'agent')).toMatchObject({
          'hermes.turn.tokens.total': 110,
          'hermes.turn.api_call_count': 1,
        })
        expect((await series(plugin, 'hermes.tokens.input')).map(({ value }) => value)).toEqual([100])
      }
    },
  )
})

describe('the end of a retry that arrives before its start, while the previous attempt is open', () => {
  const request = { ...TURN, api_request_id: 'r1', model: 'qwen3' }
  const first: Step = [100, 'pre_api_request', { ...request, retry_count: 0 }]
  const start: Step = [300, 'pre_api_request', { ...request, retry_count: 1 }]
  const end = (extra: object = {}): Step => [
    400,
    'post_api_request',
    { ...request, retry_count: 1, usage: { prompt_tokens: 100 }, ...extra },
  ]

  const attempts = (plugin: TestPlugin): StoredSpan[] =>
    all(plugin, 'api.qwen3').sort((one, other) => one.startAt - other.startAt)

  test.each<[string, Step[]]>([
    ['without a duration', [first, end(), start]],
    ['without a duration, and again', [first, end(), start, end()]],
    ['with a duration, and again', [first, end({ api_duration: 0.1 }), start, end({ api_duration: 0.1 })]],
    ['with its start again', [first, end(), start, start, end()]],
  ])('counts once: %s', async (_what, steps) => {
    const plugin = told([...began(), ...steps, ...answered(500)])
    expect(await seriesText(plugin, 'hermes.tokens.input')).toEqual([expect.stringMatching(/→ 100$/)])
    expect(attributes(plugin, 'agent')).toMatchObject({
      'hermes.turn.tokens.input': 100,
      'hermes.turn.api_call_count': 2,
    })
    expect(attempts(plugin).map(span => span.attributes['hermes.api.attempt'])).toEqual([0, 1])
  })

  test('leaves the attempt before it to its own end', async () => {
    const failed: Step = [200, 'api_request_error', { ...request, retry_count: 0, error: 'no', retryable: true }]
    const plugin = told([...began(), first, end(), start, failed, ...answered(500)])
    expect(attempts(plugin).map(span => span.status)).toEqual(['error', 'ok'])
    expect(await seriesText(plugin, 'hermes.api.error.count')).toEqual([expect.stringMatching(/→ 1$/)])
  })
})

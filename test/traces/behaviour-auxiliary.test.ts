/** Side calls of the host, and what other plugins are about to replace. */
import { describe, expect, test } from 'vitest'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import {
  all,
  answered,
  asked,
  attributes,
  began,
  only,
  parentOf,
  series,
  seriesText,
  TURN,
  text,
  used,
} from './scenes.ts'

function side(at: number, start: object = {}, end: object = {}): Step[] {
  const call = { ...TURN, api_request_id: 'aux-1', aux_task: 'title', model: 'tiny', provider: 'openai', ...start }
  return [
    [at, 'pre_auxiliary_call', call],
    [at + 40, 'post_auxiliary_call', { ...call, ...end }],
  ]
}

describe('a side call', () => {
  test('is below the root, also while a request is open', () => {
    const [pre, post] = asked(100) as [Step, Step]
    const plugin = told([...began(), pre, ...side(110), post, ...answered(300)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 OK
        aux.title OK
    `)
  })

  test('has the attributes of a request, and its task', () => {
    const start = { base_url: 'http://127.0.0.1:8099/v1', max_tokens: 20 }
    const end = {
      usage: { prompt_tokens: 10, output_tokens: 2 },
      finish_reason: 'stop',
      response_model: 'tiny-1',
      api_duration: 0.04,
    }
    const plugin = told([...began(), ...side(100, start, end), ...answered(300)])
    expect(attributes(plugin, 'aux.title')).toMatchObject({
      'hermes.aux.task': 'title',
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'tiny',
      'gen_ai.request.max_tokens': 20,
      'gen_ai.response.model': 'tiny-1',
      'gen_ai.provider.name': 'openai',
      'gen_ai.usage.input_tokens': 10,
      'llm.token_count.completion': 2,
      'server.address': '127.0.0.1',
      'http.duration_ms': 40,
    })
  })

  test('is no request of the turn: the sums of the root exclude it', () => {
    const usage = { prompt_tokens: 10, output_tokens: 2 }
    const plugin = told([...began(), ...side(100, {}, { usage }), ...answered(300)])
    for (const name of Object.keys(attributes(plugin, 'agent'))) expect(name).not.toMatch(/turn\.(api|tokens)|provider/)
  })

  test('counts in the metrics of requests', async () => {
    const plugin = told([...began(), ...side(100, {}, { usage: { prompt_tokens: 10, output_tokens: 2 } })])
    expect(await seriesText(plugin, 'hermes.tokens.input')).toEqual(['model=tiny provider=openai part=auxiliary → 10'])
    expect(await series(plugin, 'gen_ai.client.operation.duration')).toHaveLength(1)
  })

  test("joins the trace of its turn after the turn's end", () => {
    const plugin = told([...began(), ...answered(100), ...side(200)])
    expect(parentOf(plugin, only(plugin, 'aux.title'))?.name).toBe('agent')
    expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
  })

  test('joins the only open turn if it has no id', () => {
    const nameless = { session_id: '', turn_id: '', task_id: '' }
    const plugin = told([...began(), ...side(100, nameless), ...answered(300)])
    expect(parentOf(plugin, only(plugin, 'aux.title'))?.name).toBe('agent')
  })

  test('stands alone without a turn, and opens none', () => {
    const plugin = told(side(100, { session_id: undefined, turn_id: undefined }))
    expect(plugin.tree()).toBe('aux.title OK')
    expect(plugin.stats().turnsOpen).toBe(0)
  })

  test('stands alone in a session without an open turn, with the name of the session', async () => {
    const plugin = told(side(100, { turn_id: undefined }))
    expect(plugin.tree({ attributes: ['session.id'] })).toBe('aux.title OK [session.id=s1]')
    expect(await series(plugin, 'hermes.sessions')).toEqual([])
  })

  test.each<[string, object]>([
    ['text', { error: 'quota exceeded', error_type: 'QuotaError' }],
    ['an object', { error: { type: 'QuotaError', message: 'quota exceeded' } }],
  ])('is an error with an event if it failed (%s)', (_what, end) => {
    const plugin = told([...began(), ...side(100, {}, end), ...answered(300)])
    expect(only(plugin, 'aux.title')).toMatchObject({
      status: 'error',
      statusMessage: 'quota exceeded',
      events: [{ name: 'exception', attributes: { 'exception.type': 'QuotaError' } }],
    })
    expect(attributes(plugin, 'aux.title')['error.type']).toBe('QuotaError')
    expect(only(plugin, 'agent').status).toBe('ok')
    expect(attributes(plugin, 'agent')).not.toHaveProperty('error.type')
  })

  test('is kept apart from a second one at the same time', () => {
    const [preA, postA] = side(100, { api_request_id: 'aux-a', aux_task: 'a' }) as [Step, Step]
    const [preB, postB] = side(110, { api_request_id: 'aux-b', aux_task: 'b' }) as [Step, Step]
    const plugin = told([...began(), preA, preB, postA, postB])
    expect(plugin.spans().map(span => [span.name, span.startAt - START_AT, span.endAt - START_AT])).toEqual([
      ['aux.a', 100, 140],
      ['aux.b', 110, 150],
    ])
  })

  test('ends with its turn if it is still open', () => {
    const plugin = told([...began(), side(100)[0] as Step, ...answered(300)])
    expect(plugin.tree()).toContain('aux.title UNSET (incomplete: turn_ended)')
  })

  test('uses no request id of the loop: the same id is two spans', () => {
    const plugin = told([...began(), ...asked(100), ...side(120, { api_request_id: 'r1' }), ...answered(300)])
    expect(all(plugin, 'api.qwen3')).toHaveLength(1)
    expect(all(plugin, 'aux.title')).toHaveLength(1)
  })
})

describe('the event of a transform, without the replaced text', () => {
  const offer = { ...TURN, tool_name: 'terminal', tool_call_id: 'c1', result: 'private text' }
  const [pre, post] = used(100) as [Step, Step]
  const answer = (response: string): Step[] => [
    ...began(),
    [90, 'transform_llm_output', { ...TURN, response_text: 'private text' }],
    ...answered(100, { assistant_response: response }),
  ]

  test('is on the tool if its result differs from the offered one', () => {
    const plugin = told([...began(), pre, [120, 'transform_tool_result', offer], post, ...answered(300)])
    expect(only(plugin, 'tool.terminal').events).toMatchObject([{ at: START_AT + 120 }])
    expect(JSON.stringify(plugin.spans())).not.toContain('private text')
  })

  test('is absent if the result is the same', () => {
    const same = { ...offer, result: 'done' }
    const plugin = told([...began(), pre, [120, 'transform_tool_result', same], post, ...answered(300)])
    expect(plugin.spans().flatMap(span => span.events)).toEqual([])
  })

  test('is never on the turn because the tool is missing', () => {
    const plugin = told([...began(), ...used(100), [160, 'transform_tool_result', offer], ...answered(300)])
    expect(plugin.spans().flatMap(span => span.events)).toEqual([])
    expect(plugin.stats().hooks).toMatchObject({ ignored: 0 })
  })

  test('is on the turn for another answer, and absent for the same one', () => {
    const changed = told(answer('public text'))
    expect(only(changed, 'agent').events).toMatchObject([{ at: START_AT + 90 }])
    expect(JSON.stringify(only(changed, 'agent').events)).not.toContain('text')
    expect(only(told(answer('private text')), 'agent').events).toEqual([])
  })

  test('opens no turn', () => {
    const plugin = told([[0, 'transform_llm_output', TURN]])
    feedSteps(plugin, [[10, 'transform_tool_result', { ...TURN, tool_name: 'x' }]])
    expect(plugin.stats()).toMatchObject({ hooks: { ignored: 2 }, turnsOpen: 0 })
  })
})

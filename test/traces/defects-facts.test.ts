/** The defects that the Python plugin was found to have, the second half: what spans and metrics say. */
import { expect, test } from 'vitest'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import { all, answered, asked, attributes, began, childTurn, delegated, only, TURN, text, used } from './scenes.ts'

test('omits null, undefined and empty values, and never writes them as a word', () => {
  const nothing = { sender_id: null, provider: null, platform: null, profile: '', correlation_id: null, task_id: null }
  const plugin = told(
    [
      ...began(nothing),
      ...asked(100, { ...nothing, base_url: null, api_mode: null, max_tokens: null }, { response_model: null }),
      ...used(250, { ...nothing, tool_call_id: null, args: null }, { result: null, error_type: null }),
      [350, 'api_request_error', { ...TURN, api_request_id: 'r2', model: null, error: null, reason: null }],
      ...answered(400, { assistant_response: null }),
    ],
    { capture_sender_id: true },
  )
  expect(plugin.tree()).toBe(text`
    agent OK
      llm.qwen3 OK
        api.qwen3 OK
        tool.terminal OK
        api.error ERROR _OTHER
  `)
  for (const span of plugin.spans()) {
    expect(JSON.stringify([span.name, span.attributes, span.events])).not.toMatch(/none|null|undefined|NaN|""/i)
  }
})

test('loses at most the arguments if they are no JSON', () => {
  const circle: Record<string, unknown> = { command: 'ls', big: 12n }
  circle['self'] = circle
  const throwing = {
    command: 'ls',
    get boom() {
      throw new Error('no')
    },
    toJSON() {
      throw new Error('no')
    },
  }
  const proxy = new Proxy(
    {},
    {
      get: () => {
        throw new Error('no')
      },
      ownKeys: () => {
        throw new Error('no')
      },
    },
  )
  const plugin = told([
    ...began(),
    ...used(100, { tool_call_id: 'c1', args: circle }, { result: circle }),
    ...used(160, { tool_call_id: 'c2', args: throwing }, { result: throwing }),
    ...used(220, { tool_call_id: 'c3', args: proxy }, { result: proxy }),
    ...used(280, { tool_call_id: 'c4', args: () => 1 }, { result: Symbol('s') }),
    ...answered(400),
  ])
  expect(all(plugin, 'tool.terminal')).toHaveLength(4)
  expect(all(plugin, 'tool.terminal').map(span => span.status)).toEqual(['ok', 'ok', 'ok', 'ok'])
  expect(attributes(plugin, 'agent')['hermes.turn.tool_commands']).toBe('ls')
  expect(plugin.stats().hooks.error).toBe(0)
})

test('leaves no error on the root after a successful retry, only its count', () => {
  const failed = { ...TURN, api_request_id: 'r1', model: 'qwen3', error: { type: 'Timeout' }, retryable: true }
  const [pre] = asked(100) as [Step, Step]
  const plugin = told([
    ...began(),
    pre,
    [150, 'api_request_error', failed],
    ...asked(200, { retry_count: 1 }),
    ...answered(400),
  ])
  expect(
    plugin.tree({ attributes: ['error.type', 'hermes.turn.retry_count', 'hermes.turn.api_error_count'] }),
  ).toBe(text`
    agent OK [hermes.turn.retry_count=1, hermes.turn.api_error_count=1]
      llm.qwen3 OK
        api.qwen3 ERROR Timeout [error.type=Timeout]
        api.qwen3 OK
  `)
})

test('makes the host wait for no hook but the end of a session', async () => {
  const plugin = told([])
  const steps: Step[] = [...began(), ...asked(100), ...used(210), ...answered(300)]
  const given = steps.map(
    ([at, hook, payload]) => [hook, plugin.emitUntyped(hook, payload, { at: START_AT + at })] as const,
  )
  const promised = given.filter(([, result]) => result !== undefined)
  expect(promised.map(([hook]) => hook)).toEqual(['on_session_end'])
  await expect(promised[0]?.[1]).resolves.toBeUndefined()
})

test('uses times of the host: the end of a request, the duration of a tool', () => {
  const [pre, post] = asked(100, {}, { ended_at: (START_AT + 180) / 1000 }) as [Step, Step]
  const late = { ...TURN, tool_name: 'terminal', tool_call_id: 'c1', duration_ms: 35, result: 'ok' }
  const plugin = told([...began(), pre, post, [300, 'post_tool_call', late], ...answered(400)])
  expect(only(plugin, 'api.qwen3').endAt).toBeCloseTo(START_AT + 180, 0)
  expect(only(plugin, 'tool.terminal')).toMatchObject({ startAt: START_AT + 265, endAt: START_AT + 300 })
})

test("sets the hook's data about a failed tool on its span", () => {
  const failed = { status: 'error', error_type: 'tool_error', error_message: 'exit code 1', result: '' }
  const plugin = told([...began(), ...used(100, {}, failed)])
  expect(only(plugin, 'tool.terminal')).toMatchObject({ status: 'error', statusMessage: 'exit code 1' })
  expect(attributes(plugin, 'tool.terminal')).toMatchObject({
    'error.type': 'tool_error',
    'error.message': 'exit code 1',
  })
})

test('makes a request a client span with its server', () => {
  const plugin = told([
    ...began(),
    ...asked(100, { base_url: 'http://127.0.0.1:8099/v1' }),
    ...asked(300, { api_request_id: 'r2', model: 'far', base_url: 'https://api.example.com/v1' }),
    ...answered(500),
  ])
  expect(only(plugin, 'api.qwen3').kind).toBe('client')
  expect(attributes(plugin, 'api.qwen3')).toMatchObject({ 'server.address': '127.0.0.1', 'server.port': 8099 })
  expect(attributes(plugin, 'api.far')).toMatchObject({ 'server.address': 'api.example.com', 'server.port': 443 })
  expect(plugin.spans().filter(span => span.kind === 'client')).toHaveLength(2)
})

test('has no names outside the conventions', () => {
  const usage = { prompt_tokens: 10, output_tokens: 5, cache_read_tokens: 3, reasoning_tokens: 2 }
  const plugin = told([...began(), ...asked(100, {}, { usage, finish_reason: 'stop' }), ...used(250), ...answered(400)])
  const old =
    /gen_ai\.(system$|usage\.(total_tokens|cache_read_input_tokens)|skill)|traceloop|^session_id$|hermes\.session_id/
  for (const { attributes: told } of plugin.spans()) {
    for (const name of Object.keys(told)) expect(name).not.toMatch(old)
    expect(['chat', 'execute_tool', 'invoke_agent', undefined]).toContain(told['gen_ai.operation.name'])
  }
})

test('counts calls apart from names, and errors, retries and the time', () => {
  const error = { ...TURN, api_request_id: 'r1', error: { type: 'Timeout' }, retryable: true }
  const plugin = told([
    ...began(),
    ...asked(100).slice(0, 1),
    [150, 'api_request_error', error],
    ...asked(200, { retry_count: 1 }),
    ...used(310, { tool_call_id: 'c1' }),
    ...used(370, { tool_call_id: 'c2' }, { status: 'error' }),
    ...answered(500),
  ])
  expect(attributes(plugin, 'agent')).toMatchObject({
    'hermes.turn.tool_count': 1,
    'hermes.turn.tool_call_count': 2,
    'hermes.turn.tool_error_count': 1,
    'hermes.turn.api_call_count': 2,
    'hermes.turn.api_error_count': 1,
    'hermes.turn.retry_count': 1,
    'hermes.turn.duration_ms': 510,
  })
})

test('masks secrets everywhere, and sets none without content', () => {
  const secret = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD'
  const steps: Step[] = [
    ...began({ user_message: `my key is ${secret}` }),
    ...used(100, { args: { command: `curl -H "Authorization: Bearer ${secret}"` } }, { result: secret }),
    delegated(200, { child_goal: `use ${secret}` }),
    [210, 'subagent_stop', { child_session_id: 'C', child_status: 'failed', child_summary: secret }],
    [220, 'api_request_error', { ...TURN, error: { type: 'AuthenticationError', message: `bad key ${secret}` } }],
    ...answered(400, { assistant_response: secret }),
  ]
  const masked = told(steps)
  expect(JSON.stringify(masked.spans())).not.toContain('abcdefghijklmnop')
  expect(attributes(masked, 'tool.terminal')).toHaveProperty('hermes.tool.command')
  const silent = told(steps, { content_capture: 'off' })
  for (const { attributes: told } of silent.spans()) {
    for (const name of Object.keys(told)) expect(name).not.toMatch(/command|target|goal|summary|value|messages$/)
  }
})

test('sets the usage of children on the root of the parent, apart from its own', () => {
  const usage = { prompt_tokens: 100, output_tokens: 20 }
  const plugin = told([
    ...began(),
    ...asked(50, {}, { usage: { prompt_tokens: 7, output_tokens: 3 } }),
    delegated(160),
    ...childTurn(200, 'C', 'ct1', usage),
    [310, 'subagent_stop', { child_session_id: 'C', child_status: 'completed' }],
    ...answered(400),
  ])
  const root = all(plugin, 'agent').find(span => span.attributes['hermes.session.id'] === 's1')
  expect(root?.attributes).toMatchObject({ 'hermes.turn.tokens.total': 10, 'hermes.turn.subagent_tokens.total': 120 })
})

test('returns the traceparent of exactly the session or tool that is named', () => {
  const [tool] = used(100) as [Step, Step]
  const plugin = told([...began(), tool])
  expect(plugin.traceparent({ session_id: 'stranger' })).toBeUndefined()
  const named = plugin.traceparent({ ...TURN, tool_call_id: 'c1' })
  feedSteps(plugin, [...used(100).slice(1), ...answered(300)])
  const { traceId, spanId } = only(plugin, 'tool.terminal')
  expect(named).toBe(`00-${traceId}-${spanId}-01`)
})

test.each(['link', 'nest'] as const)('finds a parent in another process by its traceparent (%s)', parent => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  const plugin = told([[0, 'on_session_start', { session_id: 's1', traceparent }], ...answered(100)], { parent })
  const root = only(plugin, 'agent')
  expect(root.links.map(link => link.spanId)).toEqual(parent === 'link' ? ['b'.repeat(16)] : [])
  expect([root.traceId, root.parentSpanId]).toEqual(
    parent === 'nest' ? ['a'.repeat(32), 'b'.repeat(16)] : [expect.not.stringMatching(/^a+$/), undefined],
  )
})

test('separates two prompts without a session', () => {
  const ask = (turn_id: string): object => ({ turn_id, pattern_key: 'rm' })
  const plugin = told([
    ...began(),
    [30, 'pre_llm_call', { session_id: 's2', turn_id: 'u1', model: 'small' }],
    [100, 'pre_approval_request', ask('t1')],
    [110, 'pre_approval_request', ask('u1')],
    [120, 'post_approval_response', { ...ask('u1'), choice: 'deny' }],
    [150, 'post_approval_response', { ...ask('t1'), choice: 'once' }],
  ])
  expect(
    all(plugin, 'approval.rm').map(({ attributes: told }) => [
      told['session.id'],
      told['hermes.approval.choice'],
      told['hermes.approval.duration_ms'],
    ]),
  ).toEqual([
    ['s2', 'deny', 10],
    ['s1', 'once', 50],
  ])
})

test('leaves nothing of a swept turn to the next turn of its session', () => {
  const plugin = told([
    ...began({ user_message: 'old question' }),
    ...asked(100),
    [700_000, 'pre_llm_call', { ...TURN, turn_id: 't2', user_message: 'new question', model: 'qwen3' }],
    ...asked(700_100, { turn_id: 't2', api_request_id: 'r2' }),
    ...answered(700_300, { turn_id: 't2' }),
  ])
  const [swept, next] = all(plugin, 'agent')
  expect(swept?.attributes).toMatchObject({ 'hermes.turn.final_status': 'timed_out', 'input.value': 'old question' })
  expect(next?.attributes).toMatchObject({
    'hermes.turn.final_status': 'completed',
    'hermes.turn.api_call_count': 1,
    'input.value': 'new question',
  })
})

test.each(['success', 'ok', 'done', 'SUCCESS'])('treats a result that contains "%s" as completed', status => {
  const plugin = told([...began(), ...used(100, {}, { status: undefined, result: { status } })])
  expect(attributes(plugin, 'tool.terminal')['hermes.tool.outcome']).toBe('completed')
})

/** What a real run does not show at will; the rest is in the captures, and in the live suite. */
import { describe, expect, test } from 'vitest'
import { DELETE, PARIS, Scene, whole } from './scene.ts'

const FAILED = { name: 'AI_APICallError', message: 'on fire', statusCode: 500, isRetryable: true }

function outlineOf(tree: string): string {
  return tree.replace(/ \[.*?\]$/gm, '')
}

const statuses = (tree: string): readonly string[] =>
  [...tree.matchAll(/final_status=(\w+)/g)].map(([, status]) => status ?? '')

describe('a request', () => {
  test('has two attempts if it breaks off within its stream and is repeated', async () => {
    const scene = new Scene().starts('a').asks('a').requests('a').answers('a').ends('a')
    expect(outlineOf((await scene.play()).tree)).toBe(`agent OK
  llm.fake-1 OK
    api.fake-1 ERROR incomplete
    api.fake-1 OK`)
    const starts = scene.records().filter(({ hook }) => hook === 'pre_api_request')
    expect(starts.map(({ payload }) => payload)).toMatchObject([
      { api_request_id: 'a:1', retry_count: 0 },
      { api_request_id: 'a:1', retry_count: 1 },
    ])
  })

  test('has no announced retry if its retries are used up', async () => {
    const scene = new Scene().starts('a', { maxRetries: 1 }).asks('a')
    const failed = scene.says('a', 'attemptError', { error: FAILED }).waits(2000).says('a', 'attemptStart')
    const errors = failed.says('a', 'attemptError', { error: FAILED }).records()
    expect(errors.filter(({ hook }) => hook === 'api_request_error').map(({ payload }) => payload)).toMatchObject([
      { retry_count: 0, retryable: true, status_code: 500 },
      { retry_count: 1, retryable: false, status_code: 500 },
    ])
  })

  test.each([
    ['openai.responses', 'openai'],
    ['google.generative-ai', 'gcp.gemini'],
    ['google.vertex.chat', 'gcp.vertex_ai'],
    ['amazon-bedrock', 'aws.bedrock'],
    ['anthropic.messages', 'anthropic'],
    ['my-own.chat', 'my-own'],
  ])('maps %s to %s', async (provider, expected) => {
    const scene = new Scene().starts('a', { provider }).says('a', 'onStepStart')
    scene.says('a', 'onLanguageModelCallStart', { provider, modelId: 'm' }).answers('a').ends('a')
    const { plugin } = await scene.play()
    const api = plugin.spans().find(span => span.name === 'api.m')
    expect(api?.attributes['gen_ai.provider.name']).toBe(expected)
  })

  test('counts the tokens of older spellings as well, and none twice', async () => {
    const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110, cachedInputTokens: 40, reasoningTokens: 4 }
    const scene = new Scene().starts('a').asks('a').says('a', 'onLanguageModelCallEnd', { usage, content: [] })
    const { plugin } = await scene.ends('a').play()
    const api = plugin.spans().find(span => span.name === 'api.fake-1')
    expect(api?.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.cache_read.input_tokens': 40,
      'gen_ai.usage.output_tokens': 10,
      'gen_ai.usage.reasoning.output_tokens': 4,
    })
  })

  test('has its messages and those of its tools by the names that are known everywhere', async () => {
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', ...PARIS },
        ],
      },
      { role: 'tool', content: [{ type: 'tool-result', ...PARIS, output: { type: 'text', value: 'sunny' } }] },
    ]
    const tools = [{ type: 'function', name: 'get_weather', inputSchema: {} }]
    const scene = new Scene().starts('a', { messages }).says('a', 'onStepStart')
    scene.says('a', 'onLanguageModelCallStart', { modelId: 'm', messages, tools }).answers('a').ends('a')
    const { plugin } = await scene.play()
    const api = plugin.spans().find(span => span.name === 'api.m')
    expect(JSON.parse(String(api?.attributes['gen_ai.input.messages']))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'Hi' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'text', content: 'I look.' },
          { type: 'tool_call', id: 'c1', name: 'get_weather', arguments: '{"city":"Paris"}' },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'sunny' }] },
    ])
    expect(api?.attributes['gen_ai.tool.definitions']).toBe('[{"type":"function","name":"get_weather"}]')
    expect(plugin.spans().find(span => span.name === 'agent')?.attributes['input.value']).toBe('Hi')
  })
})

describe('a session', () => {
  test('continues with a call that begins when the previous one is over', async () => {
    const scene = new Scene()
    for (const id of ['a', 'b']) {
      scene
        .starts(id, { runtimeContext: { sessionId: 's' } })
        .asks(id)
        .answers(id)
        .ends(id)
    }
    const { plugin } = await scene.play()
    const roots = plugin.spans().filter(span => span.name === 'agent')
    expect(roots.map(span => span.attributes['session.id'])).toEqual(['s', 's'])
    expect(roots.map(span => span.attributes['hermes.turn.number'])).toEqual([1, 2])
  })

  test('is treated as abandoned after ten minutes of silence', async () => {
    const scene = new Scene()
      .starts('a', { runtimeContext: { sessionId: 's' } })
      .asks('a')
      .waits(600_001)
    scene
      .starts('b', { runtimeContext: { sessionId: 's' } })
      .asks('b')
      .answers('b')
      .ends('b')
    const { plugin, tree } = await scene.play()
    expect(statuses(tree)).toEqual(['interrupted', 'completed'])
    const roots = plugin.spans().filter(span => span.name === 'agent')
    expect(roots.map(span => span.attributes['session.id'])).toEqual(['s', 's'])
  })

  test('keeps its call while a tool of it runs, however long', async () => {
    const scene = new Scene().starts('a', { runtimeContext: { sessionId: 's' } }).calls('a', PARIS)
    scene.says('a', 'onToolExecutionStart', { toolCall: PARIS }).waits(600_001)
    scene
      .starts('b', { runtimeContext: { sessionId: 's' } })
      .asks('b')
      .answers('b')
      .ends('b')
    const toolOutput = { type: 'tool-result', output: 'ok' }
    scene.says('a', 'onToolExecutionEnd', { toolCall: PARIS, toolOutput }).asks('a').answers('a').ends('a')
    const { plugin, tree } = await scene.play()
    expect(statuses(tree)).toEqual(['completed', 'completed'])
    const tool = plugin.spans().find(span => span.name === 'tool.get_weather')
    expect((tool?.endAt ?? 0) - (tool?.startAt ?? 0)).toBeGreaterThan(600_000)
  })

  test('is the call itself if none is named, and only a name counts as one', async () => {
    const { plugin } = await whole('a', { runtimeContext: { sessionId: {} } }).play()
    expect(plugin.spans()[0]?.attributes['session.id']).toBe('a')
  })

  test('has the other scalar data of the call, and no object', async () => {
    const runtimeContext = { sessionId: 's', userId: 7, tags: ['a', 3], plan: 'free', nested: { a: 1 }, seats: 3 }
    const { plugin } = await whole('a', { runtimeContext }).play()
    const root = plugin.spans().find(span => span.name === 'agent')
    expect(root?.attributes).toMatchObject({
      'user.id': '7',
      'tag.tags': ['a'],
      metadata: '{"plan":"free","seats":3}',
    })
    expect(plugin.reported).toEqual([])
  })
})

describe('a call in a tool', () => {
  test('is in it, also when two tools run at once', async () => {
    const scene = new Scene().starts('a').calls('a', PARIS, DELETE)
    for (const toolCall of [PARIS, DELETE]) scene.says('a', 'onToolExecutionStart', { toolCall })
    scene.starts('b', { functionId: 'inner' }, { callId: 'a', toolCallId: 'c2' }).asks('b').answers('b').ends('b')
    for (const toolCall of [PARIS, DELETE]) scene.says('a', 'onToolExecutionEnd', { toolCall, toolOutput: {} })
    const { tree } = await scene.ends('a').play()
    expect(outlineOf(tree)).toBe(`agent OK
  llm.fake-1 OK
    api.fake-1 OK
      tool.get_weather OK
      tool.delete_file OK
        subagent.inner OK
          agent OK
            llm.fake-1 OK
              api.fake-1 OK`)
  })

  test('stands alone if its own call is not reported', async () => {
    const scene = new Scene().starts('b', {}, { callId: 'untold', toolCallId: 'c1' }).asks('b').answers('b').ends('b')
    expect(outlineOf((await scene.play()).tree)).toBe(`agent OK
  llm.fake-1 OK
    api.fake-1 OK`)
  })
})

describe('a tool', () => {
  test('is two tools if its id is repeated in a call', async () => {
    const scene = new Scene().starts('a').calls('a', PARIS).tool('a', PARIS).says('a', 'onStepEnd', { content: [] })
    const { tree, plugin } = await scene.calls('a', PARIS).tool('a', PARIS).asks('a').answers('a').ends('a').play()
    expect(tree.match(/tool\.get_weather OK/g)).toHaveLength(2)
    expect(plugin.stats().hooks.duplicate).toBe(0)
  })

  test('has not failed by JSON that it writes', async () => {
    const scene = new Scene().starts('a').calls('a', PARIS).says('a', 'onToolExecutionStart', { toolCall: PARIS })
    const toolOutput = { type: 'tool-result', output: '{"status":"error"}' }
    const ended = scene.says('a', 'onToolExecutionEnd', { toolCall: PARIS, toolOutput }).ends('a')
    expect((await ended.play()).tree).toContain('tool.get_weather OK')
  })

  test.each([
    ['TimeoutError', 'timeout'],
    ['AbortError', 'cancelled'],
    ['TypeError', 'error'],
  ])('is mapped by its end: %s: %s', async (name, outcome) => {
    const scene = new Scene().starts('a').calls('a', PARIS).says('a', 'onToolExecutionStart', { toolCall: PARIS })
    const toolOutput = { type: 'tool-error', error: { name, message: 'no' } }
    const ended = scene.says('a', 'onToolExecutionEnd', { toolCall: PARIS, toolOutput }).ends('a')
    expect((await ended.play()).tree).toContain(`hermes.tool.outcome=${outcome}`)
  })
})

test('interrupts the turn if a reader leaves a stream with a single consumer', async () => {
  // Read from `experimental_streamTextLowMemory` of `ai` 7.0.173, on Node 24.
  const error = { name: 'TypeError', message: 'Invalid state: Controller is already closed' }
  const scene = new Scene().starts('a', { operationId: 'ai.streamText' }).asks('a')
  const { tree, leftOpen } = await scene.says('a', 'onStepError', { error }).says('a', 'onError', { error }).play()
  expect(leftOpen).toBe(0)
  expect(tree).toContain('hermes.turn.final_status=interrupted, hermes.turn.exit_reason=stream_left')
  expect(tree).toContain('api.fake-1 OK [gen_ai.response.finish_reason=aborted]')
})

test('is no error if the caller aborts it, and interrupts the turn', async () => {
  const { tree } = await new Scene().starts('a').asks('a').says('a', 'onAbort').play()
  expect(tree).toContain('hermes.turn.final_status=interrupted, hermes.turn.exit_reason=aborted')
  expect(tree).toContain('api.fake-1 OK [gen_ai.response.finish_reason=aborted]')
  expect(tree).not.toContain('ERROR')
})

describe('an approval', () => {
  const request = { type: 'tool-approval-request', approvalId: 'p1', toolCall: DELETE }
  const answered = (approved: boolean) => [
    { role: 'user', content: 'Hi' },
    { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'p1', approved }] },
  ]

  test('is answered in the session that asked for it if the next call names none', async () => {
    const scene = new Scene()
      .starts('a')
      .calls('a', DELETE)
      .says('a', 'onStepEnd', { content: [request] })
    scene
      .says('a', 'onEnd', { text: '' })
      .waits(5000)
      .starts('b', { messages: answered(true) })
      .tool('b', DELETE)
    const { plugin, tree } = await scene.asks('b').answers('b').ends('b').play()
    expect(statuses(tree)).toEqual(['interrupted', 'completed'])
    const approval = plugin.spans().find(span => span.name === 'approval.delete_file')
    expect((approval?.endAt ?? 0) - (approval?.startAt ?? 0)).toBeGreaterThan(5000)
    expect(new Set(plugin.spans().map(span => span.attributes['session.id']))).toEqual(new Set(['a']))
  })

  test('is ignored if it is unknown', async () => {
    const scene = new Scene()
      .starts('b', { messages: answered(false) })
      .asks('b')
      .answers('b')
      .ends('b')
    expect((await scene.play()).tree).not.toContain('approval')
  })

  test('has no user if a rule granted it', async () => {
    const automatic = { ...request, isAutomatic: true }
    const content = [automatic, { type: 'tool-approval-response', approved: true, toolCall: DELETE }]
    const scene = new Scene().starts('a').calls('a', DELETE).tool('a', DELETE).says('a', 'onStepEnd', { content })
    const { tree } = await scene.asks('a').answers('a').ends('a').play()
    expect(statuses(tree)).toEqual(['completed'])
    expect(tree).not.toContain('approval')
    expect(tree).toContain('tool.delete_file OK [hermes.tool.outcome=completed]')
  })
})

describe('the end of a call', () => {
  test('is a failure if the second step fails, whatever follows', async () => {
    const scene = new Scene().starts('a').calls('a', PARIS).tool('a', PARIS).says('a', 'onStepEnd', { content: [] })
    scene.asks('a').says('a', 'onError', { error: FAILED }).says('a', 'onStepError', { error: FAILED })
    const { tree, plugin } = await scene.says('a', 'onEnd', { text: 'half' }).play()
    expect(statuses(tree)).toEqual(['failed'])
    expect(plugin.stats().hooks).toMatchObject({ ignored: 0, duplicate: 0, error: 0 })
  })

  test('has the error of a call without any step', async () => {
    const { tree } = await new Scene()
      .starts('a')
      .says('a', 'onError', { error: { name: 'TypeError' } })
      .play()
    expect(tree).toContain('hermes.turn.final_status=failed, hermes.turn.exit_reason=TypeError')
  })

  test('counts once when repeated', async () => {
    const once = whole('a')
    const twice = new Scene()
    twice.events.push(...once.events.flatMap(event => (event.event.startsWith('on') ? [event, event] : [event])))
    expect(statuses((await twice.play()).tree)).toEqual(statuses((await once.play()).tree))
  })
})

test('has an error on a side call that fails, and its call continues', async () => {
  const scene = new Scene().starts('a').calls('a', PARIS).says('a', 'onToolExecutionStart', { toolCall: PARIS })
  scene.starts('e', { operationId: 'ai.rerank' }, { callId: 'a', toolCallId: 'c1' })
  scene.says('e', 'onError', { error: FAILED })
  const { tree } = await scene.says('a', 'onToolExecutionEnd', { toolCall: PARIS, toolOutput: {} }).ends('a').play()
  expect(tree).toContain('aux.rerank ERROR AI_APICallError')
  expect(statuses(tree)).toEqual(['completed'])
})

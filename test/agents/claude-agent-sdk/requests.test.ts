import { expect, test } from 'vitest'
import { play } from './play.ts'
import { Scene } from './scene.ts'

const TOKENS = ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens', 'gen_ai.response.finish_reason']

async function treeOf(scene: Scene): Promise<string> {
  return (await play(scene.events, TOKENS)).tree
}

test('merges messages that share an id, and counts usage once', async () => {
  const scene = new Scene().prompted('go')
  scene
    .answer('m1', { text: 'Well.' })
    .answer('m1', { calls: { t1: 'Bash' } })
    .answer('m1', { calls: { t2: 'Bash' } })
  scene.tool('t1').tool('t2').batch('t1', 't2')
  scene.answer('m2', { text: 'done' }).stop().result({ input_tokens: 20, output_tokens: 9 })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK
          tool.Bash OK
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=8, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('adds tokens of the result to the last request', async () => {
  const scene = new Scene().prompted('go').answer('m1', { text: 'done', usage: { input_tokens: 10, output_tokens: 5 } })
  scene.stop().result({ input_tokens: 8, output_tokens: 30 })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=30, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('counts each result for its own turn', async () => {
  const scene = new Scene()
    .prompted('one')
    .answer('m1', { text: 'done' })
    .stop()
    .result({ input_tokens: 10, output_tokens: 7 })
  scene.prompted('two', 'p2').answer('m2', { text: 'done' }).stop().result({ input_tokens: 10, output_tokens: 8 })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=7, gen_ai.response.finish_reason=end_turn]

    agent OK
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=8, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('includes the cache in the input', async () => {
  const usage = { input_tokens: 3, cache_read_input_tokens: 20, cache_creation_input_tokens: 100, output_tokens: 4 }
  const scene = new Scene().prompted('go').answer('m1', { text: 'done', usage }).stop().result(usage)
  const { plugin } = await play(scene.events)
  const request = plugin.spans().find(span => span.name === 'api.claude')
  expect(request?.attributes).toMatchObject({
    'gen_ai.usage.input_tokens': 123,
    'gen_ai.usage.cache_read.input_tokens': 20,
    'gen_ai.usage.cache_creation.input_tokens': 100,
  })
})

test('starts a request after its batch of tools and ends it with its answer', async () => {
  const scene = new Scene()
    .prompted('go')
    .answer('m1', { calls: { t1: 'Bash' } })
    .tool('t1')
    .batch('t1')
  const batchAt = scene.events.at(-1)?.at ?? 0
  scene.after(500).answer('m2', { text: 'done' })
  const answer = scene.events.at(-1)
  scene.stop().result()
  const writtenAt = batchAt + 300
  const events = scene.events.map(event => {
    const timestamp = new Date(writtenAt).toISOString()
    return event === answer ? { ...event, data: { ...(event.data as object), timestamp } } : event
  })
  const [, second] = (await play(events)).plugin.spans().filter(span => span.name === 'api.claude')
  expect([second?.startAt, second?.endAt]).toEqual([batchAt, writtenAt])
})

test('numbers attempts after a retry', async () => {
  const scene = new Scene().prompted('go')
  scene.message('system.api_retry', {
    attempt: 1,
    max_retries: 10,
    retry_delay_ms: 400,
    error_status: 529,
    error: 'overloaded',
  })
  scene.after(600).answer('m1', { text: 'done' }).stop().result()
  const { plugin } = await play(scene.events)
  const requests = plugin.spans().filter(span => span.name === 'api.claude')
  expect(requests.map(span => span.attributes['hermes.api.attempt'])).toEqual([0, 1])
  expect(requests[0]?.attributes).toMatchObject({ 'http.response.status_code': 529, 'error.type': 'overloaded' })
  expect((requests[1]?.startAt ?? 0) - (requests[0]?.endAt ?? 0)).toBe(400)
})

test('dates a late retry before the pending answer', async () => {
  const scene = new Scene().prompted('go').toolStarts('t1')
  scene.message('system.api_retry', { retry_delay_ms: 5, error_status: 500, error: 'server_error' })
  scene
    .answer('m1', { calls: { t1: 'Bash' } })
    .toolEnds('t1')
    .batch('t1')
    .answer('m2', { text: 'done' })
    .stop()
    .result()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude ERROR server_error (inferred)
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('records a cut-off answer as failed', async () => {
  const scene = new Scene().prompted('go').answer('m1', { text: 'Once up' })
  scene.message('system.api_retry', { retry_delay_ms: 5, error_status: null, error: 'unknown' })
  scene.answer('m2', { text: 'done' }).stop().result()
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude ERROR unknown (inferred)
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('ignores synthetic messages other than errors', async () => {
  const synthetic = { model: '<synthetic>', id: 'x', content: [{ type: 'text', text: 'API Error: 500' }] }
  const scene = new Scene()
    .prompted('go')
    .answer('m1', { calls: { t1: 'Bash' } })
    .tool('t1')
    .batch('t1')
  scene.message('assistant', { message: { ...synthetic, content: [] } })
  scene.message('assistant', { message: synthetic, error: 'server_error', api_error_status: 500 })
  scene.hook('StopFailure', { error: 'server_error' })
  scene.result({ input_tokens: 10, output_tokens: 3 }, { is_error: true, terminal_reason: 'api_error' })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent ERROR server_error
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=3, gen_ai.response.finish_reason=end_turn]
          tool.Bash OK
        api.claude ERROR server_error (inferred)"
  `)
})

test('starts no turn for the answer to a command', async () => {
  const scene = new Scene().message('system.init', { model: 'claude' })
  scene.message('assistant', { message: { model: '<synthetic>', id: 'x', content: [] } }).result()
  expect(await treeOf(scene)).toBe('')
})

test('records exact times and usage with partial messages', async () => {
  const part = (event: object, more: object = {}): readonly [string, object] => ['stream_event', { event, ...more }]
  const scene = new Scene().prompted('go').after(200)
  const usage = { input_tokens: 10, output_tokens: 1 }
  scene.message(...part({ type: 'message_start', message: { id: 'm1', model: 'claude', usage } }, { ttft_ms: 50 }))
  scene.after(100).answer('m1', { calls: { t1: 'Bash' } })
  scene.message(...part({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 17 } }))
  scene
    .message(...part({ type: 'message_stop' }))
    .tool('t1')
    .batch('t1')
  scene.answer('m2', { text: 'done' }).stop().result({ input_tokens: 20, output_tokens: 40 })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=23, gen_ai.response.finish_reason=end_turn]"
  `)
  const [first] = (await play(scene.events)).plugin.spans().filter(span => span.name === 'api.claude')
  expect(first?.attributes).toMatchObject({ 'gen_ai.response.time_to_first_chunk': 0.05 })
})

test('starts a request for a hook that precedes its message', async () => {
  const scene = new Scene().prompted('go').tool('t1').batch('t1').tool('t2').batch('t2').stop()
  scene
    .answer('m1', { calls: { t1: 'Bash' } })
    .answer('m2', { calls: { t2: 'Bash' } })
    .answer('m3', { text: 'done' })
  scene.result({ input_tokens: 30, output_tokens: 9 })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=7, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('emits tokens that are in no message as an auxiliary call', async () => {
  const scene = new Scene().prompted('go').answer('m1', { text: 'done' }).stop()
  const models = { claude: { inputTokens: 10, outputTokens: 5 }, little: { inputTokens: 200, outputTokens: 20 } }
  scene.result({ input_tokens: 10, output_tokens: 5 }, { model_usage_since_last_result: models })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred) [gen_ai.usage.input_tokens=10, gen_ai.usage.output_tokens=5, gen_ai.response.finish_reason=end_turn]
      aux.unlisted OK (inferred) [gen_ai.usage.input_tokens=200, gen_ai.usage.output_tokens=20]"
  `)
})

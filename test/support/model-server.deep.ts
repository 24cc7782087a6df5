import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { APIS, ask, asking, type Json, PATHS, post, serve, stream } from './model-server/client.ts'
import { type ModelReply, startModelServer } from './model-server.mjs'

const PARALLEL: ModelReply = {
  toolCalls: [
    { name: 'read', arguments: { path: 'a' } },
    { name: 'exec', arguments: { command: 'ls' }, id: 'mine' },
  ],
}

describe('chat completions', () => {
  test('sends a text', async () => {
    const server = await serve(() => ({ text: 'hello', thinking: 'hm' }))
    const { choices, usage, object, model } = await ask(server, 'chat', asking('chat', 'hi'))
    expect({ object, model }).toEqual({ object: 'chat.completion', model: 'm' })
    expect(choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { role: 'assistant', content: 'hello', reasoning_content: 'hm' },
    })
    expect(usage).toEqual({
      prompt_tokens: 120,
      completion_tokens: 17,
      total_tokens: 137,
      prompt_tokens_details: { cached_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 3 },
    })
  })

  test('sends parallel tool calls', async () => {
    const server = await serve(() => PARALLEL)
    const { choices } = await ask(server, 'chat', asking('chat', 'hi'))
    expect(choices[0].finish_reason).toBe('tool_calls')
    expect(choices[0].message).toMatchObject({ content: null })
    expect(choices[0].message.tool_calls).toEqual([
      { id: 'call1x0', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
      { id: 'mine', type: 'function', function: { name: 'exec', arguments: '{"command":"ls"}' } },
    ])
  })

  test('streams both', async () => {
    const server = await serve(() => ({ text: 'hello', ...PARALLEL }))
    const { data, names } = await stream(server, 'chat', asking('chat', 'hi'))
    expect(new Set(names)).toEqual(new Set([undefined]))
    const deltas = data.flatMap(chunk => chunk.choices).map(choice => choice.delta)
    expect(deltas.map(delta => delta.content ?? '').join('')).toBe('hello')
    const calls = ['', '']
    for (const call of deltas.flatMap(delta => delta.tool_calls ?? [])) {
      calls[call.index] += (call.id ?? '') + (call.function.name ?? '') + call.function.arguments
    }
    expect(calls).toEqual(['call1x0read{"path":"a"}', 'mineexec{"command":"ls"}'])
    expect(data.at(-2)?.choices[0].finish_reason).toBe('tool_calls')
    expect(data.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 120, completion_tokens: 17 } })
  })

  test('sends arguments that are no JSON, and a refusal', async () => {
    const server = await serve(({ prompt }) =>
      prompt === 'bad' ? { toolCalls: [{ name: 'read', arguments: '{"pa' }] } : { refusal: 'I will not.' },
    )
    const bad = await ask(server, 'chat', asking('chat', 'bad'))
    expect(bad.choices[0].message.tool_calls[0].function.arguments).toBe('{"pa')
    const refused = await ask(server, 'chat', asking('chat', 'other'))
    expect(refused.choices[0].message).toMatchObject({ content: null, refusal: 'I will not.' })
  })
})

describe('responses', () => {
  test('sends a text and parallel tool calls', async () => {
    const server = await serve(() => ({ text: 'hello', ...PARALLEL }))
    const { output, usage, status } = await ask(server, 'responses', asking('responses', 'hi'))
    expect(status).toBe('completed')
    expect(output[0].content).toEqual([{ type: 'output_text', text: 'hello', annotations: [] }])
    expect(output.slice(1).map((item: Json) => [item.type, item.call_id, item.name, item.arguments])).toEqual([
      ['function_call', 'call1x0', 'read', '{"path":"a"}'],
      ['function_call', 'mine', 'exec', '{"command":"ls"}'],
    ])
    expect(usage).toEqual({
      input_tokens: 120,
      input_tokens_details: { cached_tokens: 20 },
      output_tokens: 17,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 137,
    })
  })

  test('ends every added item of a stream, and the last event has all of it', async () => {
    const server = await serve(() => ({ text: 'hello', thinking: 'hm', ...PARALLEL }))
    const { data, names } = await stream(server, 'responses', asking('responses', 'hi'))
    expect(names).toEqual(data.map(event => event.type))
    expect(names[0]).toBe('response.created')
    expect(names.at(-1)).toBe('response.completed')
    const texts = data.filter(event => event.type === 'response.output_text.delta').map(event => event.delta)
    expect(texts.join('')).toBe('hello')
    const done = data.filter(event => event.type === 'response.output_item.done').map(event => event.item)
    expect(done.map(item => item.type)).toEqual(['reasoning', 'message', 'function_call', 'function_call'])
    expect(data.at(-1)?.response.output).toEqual(done)
    expect(data.map(event => event.sequence_number)).toEqual(data.map((_, index) => index))
  })

  test('sends a refusal', async () => {
    const server = await serve(() => ({ refusal: 'I will not.' }))
    const { output } = await ask(server, 'responses', { model: 'm', input: 'hi' })
    expect(output[0].content).toEqual([{ type: 'refusal', refusal: 'I will not.' }])
    const { names } = await stream(server, 'responses', { model: 'm', input: 'hi' })
    expect(names).toContain('response.refusal.done')
  })
})

describe('messages', () => {
  test('sends a text and parallel tool calls', async () => {
    const server = await serve(() => ({ text: 'hello', thinking: 'hm', ...PARALLEL }))
    const { content, stop_reason, usage } = await ask(server, 'messages', asking('messages', 'hi'))
    expect(stop_reason).toBe('tool_use')
    expect(content.slice(1)).toEqual([
      { type: 'text', text: 'hello' },
      { type: 'tool_use', id: 'call1x0', name: 'read', input: { path: 'a' } },
      { type: 'tool_use', id: 'mine', name: 'exec', input: { command: 'ls' } },
    ])
    expect(usage).toMatchObject({ input_tokens: 100, cache_read_input_tokens: 20, output_tokens: 17 })
  })

  test('begins and ends every block of a stream, and counts the output last', async () => {
    const server = await serve(() => ({ text: 'hello', ...PARALLEL }))
    const { data, names } = await stream(server, 'messages', asking('messages', 'hi'))
    expect(names).toEqual(data.map(event => event.type))
    expect(data[0]?.message.usage).toMatchObject({ input_tokens: 100, cache_read_input_tokens: 20, output_tokens: 1 })
    const started = data.filter(event => event.type === 'content_block_start')
    expect(started.map(event => event.index)).toEqual([0, 1, 2])
    const deltas = data.filter(event => event.type === 'content_block_delta')
    const written = (index: number): string =>
      deltas
        .filter(event => event.index === index)
        .map(({ delta }) => delta.text ?? delta.partial_json)
        .join('')
    expect([0, 1, 2].map(written)).toEqual(['hello', '{"path":"a"}', '{"command":"ls"}'])
    expect(data.at(-2)).toMatchObject({ delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 17 } })
    expect(names.at(-1)).toBe('message_stop')
  })

  test('sends a refusal', async () => {
    const server = await serve(() => ({ refusal: 'I will not.' }))
    expect(await ask(server, 'messages', asking('messages', 'hi'))).toMatchObject({ stop_reason: 'refusal' })
  })

  test('counts a written cache outside plain input', async () => {
    const server = await serve(() => ({ usage: { prompt: 50, cached: 10, cacheWrite: 30, completion: 5 } }))
    const { usage } = await ask(server, 'messages', asking('messages', 'hi'))
    expect(usage).toEqual({
      input_tokens: 10,
      cache_read_input_tokens: 10,
      cache_creation_input_tokens: 30,
      output_tokens: 5,
    })
  })
})

describe('an answer at its token limit', () => {
  const reply = (): ModelReply => ({ text: 'hel', isCutOff: true })

  test('is marked in chat completions', async () => {
    const server = await serve(reply)
    const { choices } = await ask(server, 'chat', asking('chat', 'hi'))
    expect(choices[0]).toMatchObject({ finish_reason: 'length', message: { content: 'hel' } })
    const { data } = await stream(server, 'chat', asking('chat', 'hi'))
    expect(data.at(-2)?.choices[0].finish_reason).toBe('length')
  })

  test('is marked in responses', async () => {
    const server = await serve(reply)
    expect(await ask(server, 'responses', asking('responses', 'hi'))).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      usage: { output_tokens: 17 },
    })
    const { names } = await stream(server, 'responses', asking('responses', 'hi'))
    expect(names.at(-1)).toBe('response.incomplete')
  })

  test('is marked in messages', async () => {
    const server = await serve(reply)
    expect(await ask(server, 'messages', asking('messages', 'hi'))).toMatchObject({ stop_reason: 'max_tokens' })
  })
})

describe.each(APIS)('%s', api => {
  test('sends a default text if the script has none', async () => {
    const server = await serve(() => undefined)
    expect(JSON.stringify(await ask(server, api, asking(api, 'hi')))).toContain('Hello from the model.')
  })

  test('fails once and then succeeds, for each prompt', async () => {
    const server = await serve(({ attempt }) => (attempt === 1 ? { status: 500, error: 'no luck' } : { text: 'yes' }))
    const statuses: number[] = []
    for (const prompt of ['one', 'one', 'two', 'two'])
      statuses.push((await post(server, api, asking(api, prompt))).status)
    expect(statuses).toEqual([500, 200, 500, 200])
  })

  test('has the error in the shape of the protocol', async () => {
    const server = await serve(() => ({ status: 429, error: 'slow down' }))
    expect(await ask(server, api, asking(api, 'hi'))).toMatchObject({
      error: { type: 'rate_limit_error', message: 'slow down' },
    })
  })

  test('begins a stream well that is cut in the middle, and then fails', async () => {
    const server = await serve(() => ({ text: 'hello', truncate: true }))
    const response = await post(server, api, { ...asking(api, 'hi'), stream: true })
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  })

  test('cuts an answer in the middle', async () => {
    const server = await serve(() => ({ truncate: true }))
    await expect(ask(server, api, asking(api, 'hi'))).rejects.toThrow()
  })

  test('sends headers before a late first chunk', async () => {
    const server = await serve(() => ({ firstChunkDelayMillis: 50 }))
    const order: string[] = []
    await new Promise<void>(resolve => {
      const request = httpRequest(server.url + PATHS[api], { method: 'POST' }, response => {
        order.push('headers')
        // Not before the headers have been seen: what comes with them comes now.
        response.once('data', () => order.push('data')).once('end', resolve)
        setImmediate(() => order.push('idle'))
      })
      request.end(JSON.stringify({ ...asking(api, 'hi'), stream: true }))
    })
    expect(order.slice(0, 2)).toEqual(['headers', 'idle'])
  })

  test('keeps the request, with its headers', async () => {
    const server = await serve(() => ({}))
    const tools = [{ name: 'read' }, { type: 'function', function: { name: 'exec' } }]
    await post(server, api, { ...asking(api, 'hi'), tools }, { traceparent: '00-aa-bb-01' })
    expect(server.requests).toHaveLength(1)
    expect(server.requests[0]).toMatchObject({
      api,
      model: 'm',
      stream: false,
      prompt: 'hi',
      tools: ['read', 'exec'],
      attempt: 1,
    })
    expect(server.requests[0]?.headers['traceparent']).toBe('00-aa-bb-01')
  })
})

describe('other cases', () => {
  test('serves models, counts of tokens, and unknown paths', async () => {
    const server = await serve(() => ({}))
    const models = (await (await fetch(`${server.url}/v1/models`)).json()) as Json
    expect(models.data[0]).toMatchObject({ id: 'fake-1', object: 'model' })
    const count = await fetch(`${server.url}/v1/messages/count_tokens`, { method: 'POST', body: '{}' })
    expect(await count.json()).toEqual({ input_tokens: 42 })
    expect((await fetch(`${server.url}/v1/files`)).status).toBe(404)
    expect(server.requests).toEqual([])
    expect(server.others.map(({ path }) => path)).toEqual(['/v1/models', '/v1/messages/count_tokens', '/v1/files'])
  })

  test('distinguishes a script that throws from a model that fails', async () => {
    const server = await startModelServer(() => {
      throw new Error('a slip')
    })
    expect((await post(server, 'chat', asking('chat', 'hi'))).status).toBe(400)
    await expect(server.close()).rejects.toThrow('a slip')
  })

  test('survives a client that leaves while it waits', async () => {
    const server = await serve(() => ({ firstChunkDelayMillis: 20 }))
    const gone = new AbortController()
    const init = {
      method: 'POST',
      body: JSON.stringify({ ...asking('chat', 'hi'), stream: true }),
      signal: gone.signal,
    }
    await fetch(server.url + PATHS.chat, init)
    gone.abort()
    expect(await ask(server, 'chat', asking('chat', 'hi'))).toMatchObject({ object: 'chat.completion' })
  })
})

import { describe, expect, test } from 'vitest'
import { bash, recordsOf, Scene, treeOf } from './scene.ts'

describe('a model request', () => {
  test('begins with its headers and has the data that were sent', () => {
    const scene = new Scene().prompted('Hi').answers()
    const headersAt = scene.events.find(({ event }) => event === 'before_provider_headers')?.at
    const start = recordsOf(scene.events).find(({ hook }) => hook === 'pre_api_request')
    expect(start).toMatchObject({
      at: headersAt,
      payload: { request: { body: { model: 'fake-1' } }, message_count: 1 },
    })
  })

  test('is seen by its headers and its answer if a model client does not report its request', () => {
    const scene = new Scene().prompted('Hi').answers()
    const [headers] = scene.events.filter(({ event }) => event === 'before_provider_headers')
    const silent = scene.events.filter(({ event }) => event !== 'before_provider_request')
    const starts = recordsOf(silent).filter(({ hook }) => hook === 'pre_api_request')
    expect(starts).toEqual([expect.objectContaining({ at: headers?.at })])
  })

  test('keeps its id when it is repeated, with the number of the attempt', () => {
    const scene = new Scene()
      .prompted('Try')
      .fails()
      .ends()
      .runs()
      .fails()
      .ends()
      .runs()
      .calls(bash)
      .answers()
      .settles()
    const starts = recordsOf(scene.events).filter(({ hook }) => hook === 'pre_api_request')
    const ids = starts.map(({ payload }) => (payload as { api_request_id: string }).api_request_id.replace(/.*:/, '#'))
    expect(ids).toEqual(['#1', '#1', '#1', '#2'])
    expect(starts.map(({ payload }) => Reflect.get(payload, 'retry_count'))).toEqual([0, 1, 2, 0])
  })

  test('has its first chunk when the first content arrives, not when the answer is announced', () => {
    const scene = new Scene()
      .prompted('Hi')
      .asksModel()
      .waits(500)
      .says('message_update', { message: { role: 'assistant' } })
    const updateAt = scene.events.at(-1)?.at ?? 0
    scene.says('message_update', { message: { role: 'assistant' } }).modelSays({ content: [] })
    const end = recordsOf(scene.events).find(({ hook }) => hook === 'post_api_request')
    expect(end?.payload).toMatchObject({ first_chunk_at: updateAt / 1000 })
  })

  test('counts the cache as input', () => {
    const end = recordsOf(new Scene().prompted('Hi').answers().events).find(({ hook }) => hook === 'post_api_request')
    expect(end?.payload).toMatchObject({
      usage: {
        prompt_tokens: 120,
        output_tokens: 17,
        cache_read_tokens: 20,
        cache_write_tokens: 0,
        reasoning_tokens: 3,
      },
    })
  })

  test.each([
    ['500: {"message":"no"}', 500, true],
    ['429 {"type":"error"}', 429, true],
    ['OpenAI API error (503): overloaded', 503, true],
    ['400: bad', 400, false],
    ['429: {"code":"insufficient_quota"}', 429, false],
    ['fetch failed', undefined, true],
    ['Stream ended, nobody knows why', undefined, undefined],
  ])('is mapped from the error %j to status %s, retryable %s', (message, statusCode, retryable) => {
    const end = recordsOf(new Scene().prompted('Hi').fails(message).events).find(
      ({ hook }) => hook === 'api_request_error',
    )
    expect(end?.payload).toMatchObject({ error: { message } })
    expect(Reflect.get(end?.payload ?? {}, 'status_code')).toBe(statusCode)
    expect(Reflect.get(end?.payload ?? {}, 'retryable')).toBe(retryable)
  })

  test('is excluded from the loop if it only keeps a cache warm', () => {
    const warm = new Scene()
      .prompted('Wait')
      .calls(bash)
      .toolStarts(bash)
      .says('cache_warming_decision', { action: 'warm' })
      .says('before_provider_headers', { headers: {} })
      .says('before_provider_request', { payload: {} })
      .toolRan(bash)
      .answers()
      .settles()
    expect(treeOf(warm)).toBe(treeOf(new Scene().prompted('Wait').calls(bash).tool(bash).answers().settles()))
  })
})

describe('a run that the user stops', () => {
  test('ends during a request', () => {
    const aborted = { content: [], stopReason: 'aborted', errorMessage: 'Request was aborted' }
    expect(treeOf(new Scene().prompted('Go').asksModel().modelSays(aborted).settles())).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=interrupted]
        llm.fake-1 OK
          api.fake-1 ERROR aborted"
    `)
  })

  test("ends during a tool: Pi's synthetic answer is no request", () => {
    const scene = new Scene()
      .prompted('Go')
      .calls(bash)
      .toolStarts(bash)
      .toolEnds(bash, 'gone', true, { aborted: true })
    const message = { role: 'assistant', content: [], stopReason: 'error', errorMessage: 'This operation was aborted' }
    scene.says('message_start', { message }, { aborted: true }).says('message_end', { message }, { aborted: true })
    expect(treeOf(scene.settles())).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=interrupted]
        llm.fake-1 OK
          api.fake-1 OK
            tool.bash OK [hermes.tool.outcome=cancelled]"
    `)
  })

  test('ends while it waits for the next attempt', () => {
    const scene = new Scene().prompted('Go').fails().settles({ aborted: true })
    expect(treeOf(scene)).toContain('agent OK [hermes.turn.final_status=interrupted]')
  })
})

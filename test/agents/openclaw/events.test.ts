import { describe, expect, test } from 'vitest'
import { OpenClawMachine } from '../../../src/agents/openclaw/events.ts'
import { type Call, exec, played, recordsOf, Scene, treeOf } from './scene.ts'

const read: Call = { id: 'call_2', name: 'read' }

describe('a turn', () => {
  test('lasts from the prompt until the run is over', () => {
    expect(treeOf(new Scene().prompted('Look').calls(exec).tool(exec).answers().ends())).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
            tool.exec OK [hermes.tool.outcome=completed]
          api.fake-1 OK"
    `)
  })

  test('continues when the host tries again, though each attempt ends with a success', () => {
    const scene = new Scene().prompted('Try').fails().retries().fails().retries().answers().ends()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 ERROR server_error
          api.fake-1 ERROR server_error
          api.fake-1 OK"
    `)
  })

  test('has failed when its last attempt has', () => {
    const scene = new Scene().prompted('Try').fails().retries().fails().givesUp()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent ERROR server_error [hermes.turn.final_status=failed]
        llm.fake-1 OK
          api.fake-1 ERROR server_error
          api.fake-1 ERROR server_error"
    `)
  })

  test('has failed, too, if its end is never reported', () => {
    const [, , , error, answer, end] = recordsOf(new Scene().prompted('Try').fails().waits(60_000).events)
    expect(error).toMatchObject({ hook: 'api_request_error', payload: { status_code: 500, max_retries: undefined } })
    expect(answer?.payload).not.toHaveProperty('assistant_response', expect.anything())
    expect(end).toMatchObject({ hook: 'on_session_end', payload: { failed: true, completed: false } })
    // When it was last heard of, not when somebody noticed.
    expect(end?.at).toBeLessThan((error?.at ?? 0) + 1000)
  })

  test('has failed if its last call has, whatever its end contains', () => {
    expect(treeOf(new Scene().prompted('Try').fails().ends())).toMatch(/^agent ERROR server_error/)
  })

  test('ends when the next one of its session begins', () => {
    const scene = new Scene().prompted('Try').fails().prompted('Never mind').answers().ends()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent ERROR server_error [hermes.turn.final_status=failed]
        llm.fake-1 OK
          api.fake-1 ERROR server_error

      agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK"
    `)
  })

  test('stops its tools, too, when stopped', () => {
    expect(treeOf(new Scene().prompted('Wait').calls(exec).toolStarts(exec).aborts())).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=interrupted]
        llm.fake-1 OK
          api.fake-1 OK
            tool.exec OK [hermes.tool.outcome=cancelled]"
    `)
  })

  test('may fail before its first request', () => {
    const scene = new Scene('s1', { without: ['conversation'] }).prompted('Try').givesUp()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent ERROR failed [hermes.turn.final_status=failed]
        llm OK"
    `)
  })

  test('is opened by its first event if its beginning was missed', () => {
    const { events } = new Scene().prompted('Look').calls(exec).tool(exec).answers().ends()
    const missed = events.slice(events.findIndex(({ event }) => event === 'model_call_ended'))
    expect(treeOf(missed)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK (retroactive) (inferred)
            tool.exec OK [hermes.tool.outcome=completed]
          api.fake-1 OK"
    `)
  })

  test('is not opened again by late events', () => {
    const { events } = new Scene().prompted('Look').calls(exec).tool(exec).answers().ends()
    expect(recordsOf([...events, ...events])).toEqual(recordsOf(events))
  })

  test('is closed by the gateway that stops', () => {
    const scene = new Scene().prompted('Look').calls(exec).toolStarts(exec).says('gateway_stop', { reason: 'restart' })
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=interrupted]
        llm.fake-1 OK
          api.fake-1 OK
            tool.exec OK [hermes.tool.outcome=cancelled]"
    `)
  })
})

describe('a host with missing data', () => {
  const story = (scene: Scene): Scene =>
    scene.prompted('Look').fails().retries().calls(exec).tool(exec, 'blocked', 'Tool call blocked because').answers()

  test('gives the same tree without the permission for conversations, and no text of them', () => {
    const seen = story(new Scene()).ends()
    const unseen = story(new Scene('s1', { without: ['conversation'] })).ends()
    expect(treeOf(unseen)).toBe(treeOf(seen))
    expect(JSON.stringify(recordsOf(unseen.events))).not.toMatch(/Look|Done/)
    expect(JSON.stringify(recordsOf(seen.events))).toMatch(/Look.*Done/)
  })

  test('has the tokens of the last call as those of the run without messages', () => {
    const scene = new Scene('s1', { without: ['message'] }).prompted('Look').calls(exec).tool(exec).answers().ends()
    const posts = recordsOf(scene.events).filter(({ hook }) => hook === 'post_api_request')
    expect(posts.map(({ payload, correlation }) => [Reflect.get(payload, 'usage')?.total_tokens, correlation])).toEqual(
      [
        [undefined, undefined],
        [274, 'inferred'],
      ],
    )
  })
})

describe('a model call', () => {
  test('has the tokens of its message, the cache among the input', () => {
    const records = recordsOf(new Scene().prompted('Look').answers().ends().events)
    const { payload, correlation } = records.find(({ hook }) => hook === 'post_api_request') ?? {}
    expect(correlation).toBeUndefined()
    expect(payload).toMatchObject({
      usage: { prompt_tokens: 120, output_tokens: 17, cache_read_tokens: 20, reasoning_tokens: 3, total_tokens: 137 },
      finish_reason: 'stop',
      response_id: 'r1',
      response: { message: { role: 'assistant', content: 'Done.' } },
    })
  })

  test('ends at its own time, not at that of its message', () => {
    const scene = new Scene().prompted('Look').asks().stops()
    const endedAt = scene.now
    scene
      .waits(5000)
      .message([{ type: 'text', text: 'Done.' }], 'stop')
      .ends()
    const post = recordsOf(scene.events).find(({ hook }) => hook === 'post_api_request')
    expect(post?.at).toBe(endedAt)
  })

  test('may have its message before its end', () => {
    const scene = new Scene()
      .prompted('Look')
      .asks()
      .message([{ type: 'text', text: 'Done.' }], 'stop')
      .stops()
      .ends()
    expect(treeOf(scene)).toBe(treeOf(new Scene().prompted('Look').answers().ends()))
  })

  test('has the reason of its failure from its message, and the retry from the next events', () => {
    const errors = recordsOf(new Scene().prompted('Try').fails().retries().fails(400).givesUp().events)
      .filter(({ hook }) => hook === 'api_request_error')
      .map(({ payload }) => payload)
    expect(errors).toMatchObject([
      { status_code: 500, retryable: true, max_retries: 8, reason: 'server_error', retry_count: 0 },
      { status_code: 400, retry_count: 1, error: { type: 'server_error', message: '400 fake boom' } },
    ])
    expect(errors[1]).toHaveProperty('retryable', undefined)
  })

  test('shows the conversation that it was sent', () => {
    const scene = new Scene().prompted('Look').calls(exec).tool(exec, 'completed', 'a.txt').answers().ends()
    const second = recordsOf(scene.events).filter(({ hook }) => hook === 'pre_api_request')[1]
    expect(second?.payload).toMatchObject({
      system_prompt: 'Be brief',
      tool_count: 2,
      request_messages: expect.any(Array),
    })
    const [span] = played(scene.events)
      .spans()
      .filter(({ name }) => name === 'api.fake-1')
      .slice(-1)
    expect(span?.attributes['llm.input_messages.0.message.content']).toBe('Be brief')
    expect(span?.attributes['llm.input_messages.1.message.content']).toBe('Look')
    expect(span?.attributes['llm.input_messages.2.message.tool_calls.0.tool_call.function.name']).toBe('exec')
    expect(span?.attributes['llm.input_messages.3.message.role']).toBe('tool')
    expect(span?.attributes['llm.output_messages.0.message.content']).toBe('Done.')
  })
})

describe('a tool', () => {
  test.each([
    ['completed', 'hi', 'completed'],
    ['failed', 'File not found', 'error'],
    ['blocked', 'not in this house', 'blocked'],
  ])('has the outcome of one that is %s', (status, text, outcome) => {
    const scene = new Scene().prompted('Look').calls(exec).tool(exec, status, text).answers().ends()
    expect(treeOf(scene)).toContain(`[hermes.tool.outcome=${outcome}]`)
  })

  test.each([
    [{ status: 'blocked', deniedReason: 'plugin-before-tool-call' }, 'blocked'],
    [{ status: 'failed', timedOut: true }, 'timeout'],
    [{ status: 'failed', exitCode: 3 }, 'error'],
  ])('is mapped by its result without other data: %j', (details, outcome) => {
    const scene = new Scene('s1', { without: ['agent'] }).prompted('Look').calls(exec).toolStarts(exec)
    scene.toolEnds(exec, 'failed', 'no', details).answers().ends()
    expect(treeOf(scene)).toContain(`[hermes.tool.outcome=${outcome}]`)
  })

  test('is not mapped by the content of a file that it read', () => {
    const scene = new Scene()
      .prompted('Look')
      .calls(exec)
      .tool(exec, 'completed', '{"status":"error"}')
      .answers()
      .ends()
    expect(treeOf(scene)).toContain('[hermes.tool.outcome=completed]')
  })

  test('belongs to the call that asked for it, also beside others', () => {
    const scene = new Scene().prompted('Look').calls(exec, read).toolStarts(exec).toolStarts(read)
    scene.toolEnds(read, 'failed', 'not there').toolEnds(exec, 'completed', 'hi').answers().ends()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
            tool.exec OK [hermes.tool.outcome=completed]
            tool.read ERROR tool_error [hermes.tool.outcome=error]
          api.fake-1 OK"
    `)
  })

  test('is one call if another tool calls it', () => {
    const inner: Call = { id: 'inner', name: 'sessions_list' }
    const outer: Call = { id: 'call_1', name: 'tool_call' }
    const scene = new Scene().prompted('Look').calls(outer).toolStarts(outer).toolStarts(inner, 'call_1')
    scene.toolEnds(inner, 'completed', 'none').toolEnds(outer, 'completed', 'none').answers().ends()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
            tool.tool_call OK [hermes.tool.outcome=completed]
            tool.sessions_list OK [hermes.tool.outcome=completed]
          api.fake-1 OK"
    `)
  })

  test('ends with the next call if only its result was recorded', () => {
    const { events } = new Scene().prompted('Look').calls(exec).tool(exec).answers().ends()
    const fewer = events.filter(({ event }) => event !== 'after_tool_call')
    expect(treeOf(fewer)).toBe(treeOf(events))
  })

  test('is approved by the user', () => {
    const asked = { kind: 'exec', title: 'Command approval requested', toolCallId: 'call_1', command: 'rm -rf /' }
    const scene = new Scene().prompted('Delete').calls(exec).toolStarts(exec)
    scene
      .agent('approval', { ...asked, phase: 'requested', status: 'pending', host: 'gateway' })
      .agent('approval', { ...asked, phase: 'resolved', status: 'denied' })
      .toolEnds(exec, 'blocked', 'denied')
      .answers()
      .ends()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
            tool.exec OK [hermes.tool.outcome=blocked]
              approval.exec OK [hermes.approval.choice=deny]
          api.fake-1 OK"
    `)
  })
})

test('ignores an event of another name', () => {
  const machine = new OpenClawMachine()
  expect(machine.accept({ event: 'before_something_new', at: 1 })).toBeUndefined()
  expect(machine.accept({ event: 'message_sent', at: 1 })).toEqual([])
  expect(machine.accept({ event: 'AGENT_EVENT', at: 1, data: { stream: 'assistant' } })).toEqual([])
})

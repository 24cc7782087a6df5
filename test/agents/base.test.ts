import { describe, expect, test } from 'vitest'
import { type EventHandlers, EventMachine, eventHandlers, plausibleTime } from '../../src/agents/base/event-machine.ts'
import { LimitedMap } from '../../src/agents/base/limited-map.ts'
import { looksLikeJson, plainText } from '../../src/agents/base/messages.ts'
import { RecordScope, Records } from '../../src/agents/base/records.ts'
import { ModelRequest, RequestCounter } from '../../src/agents/base/requests.ts'
import { Approval, DelegatedTask, Tool } from '../../src/agents/base/tool.ts'
import { usageOf } from '../../src/agents/base/usage.ts'

class Machine extends EventMachine {
  protected readonly events: EventHandlers = eventHandlers(
    { heard: ({ at }) => this.records.addRecord('on_session_start', at, { session_id: 's' }) },
    ['quiet'],
  )

  protected endSessions(at: number): void {
    this.records.addRecord('on_session_finalize', at, { session_id: 's' })
  }
}

const records = new Records()
const turn = new RecordScope(records, 's', 't')
const told = (): [string, number, object][] => records.drain().map(({ hook, at = 0, payload }) => [hook, at, payload])

describe('a machine', () => {
  test('dispatches by its table and distinguishes unknown from quiet events', () => {
    const machine = new Machine()
    expect(machine.accept({ event: 'new' })).toBeUndefined()
    expect(machine.accept({ event: 'quiet' })).toEqual([])
    expect([machine.isQuiet('quiet'), machine.isQuiet('heard'), machine.isQuiet('new')]).toEqual([true, false, false])
    expect(machine.accept({ event: 'heard', at: 7 })).toMatchObject([{ hook: 'on_session_start', at: 7 }])
    expect(machine.end(9)).toMatchObject([{ hook: 'on_session_finalize', at: 9 }])
  })

  test('dates an event without a time like the previous one', () => {
    const machine = new Machine()
    machine.accept({ event: 'quiet', at: 5 })
    expect(machine.accept({ event: 'heard' })).toMatchObject([{ at: 5 }])
    expect(machine.accept({ event: 'heard', at: Number.NaN })).toMatchObject([{ at: 5 }])
  })
})

describe('a request', () => {
  test('shares its id with its retries', () => {
    const requests = new RequestCounter(turn)
    const first = requests.nextRequest(1)
    requests.failures = 1
    const again = requests.nextRequest(2)
    requests.failures = 0
    const second = requests.nextRequest(3)
    expect([first, again, second].map(({ id, retry }) => [id, retry])).toEqual([
      ['t:1', 0],
      ['t:1', 1],
      ['t:2', 0],
    ])
  })

  test('counts failed attempts if each attempt has an id', () => {
    const requests = new RequestCounter(turn)
    requests.nextRequest(1, { keepsId: false })
    requests.failures = 1
    expect(requests.nextRequest(2, { keepsId: false })).toMatchObject({ id: 't:2', ordinal: 2, retry: 1 })
  })

  test('is emitted with all ids, and starts once', () => {
    const request = new RequestCounter(turn).nextRequest(1000)
    for (const model of ['m', 'n']) request.emitStart({ model })
    request.firstChunkAt = 1500
    request.emitAnswer(2000, {})
    const ids = { session_id: 's', turn_id: 't', api_request_id: 't:1', retry_count: 0 }
    expect(told()).toEqual([
      ['pre_api_request', 1000, { model: 'm', ...ids, api_call_count: 1 }],
      ['post_api_request', 2000, { ...ids, first_chunk_at: 1.5 }],
    ])
  })

  test('is an auxiliary call outside the loop, also if it fails', () => {
    const request = new ModelRequest(new RecordScope(records, 's'), 1, { id: 'x', task: 'title' })
    request.emitStart({})
    request.emitFailure(2, { error_type: 'no_title' })
    expect(told().map(([hook]) => hook)).toEqual(['pre_auxiliary_call', 'post_auxiliary_call'])
  })
})

test('emits the start and end of a tool once', () => {
  const tool = new Tool(turn, 'c', 'bash', 1)
  for (const at of [2, 3]) tool.emitStart() ?? tool.emitEnd(at, { status: 'ok' })
  expect(told().map(([hook, at]) => [hook, at])).toEqual([
    ['pre_tool_call', 1],
    ['post_tool_call', 2],
  ])
})

test('emits the response to an approval once, never before the request', () => {
  const approval = new Approval(turn, 'c', 'bash', 10)
  approval.emitRequest({})
  for (const choice of ['once', 'deny']) approval.emitResponse(4, choice)
  expect(told()).toMatchObject([
    ['pre_approval_request', 10, {}],
    ['post_approval_response', 10, { choice: 'once', tool_call_id: 'c' }],
  ])
})

test('emits the end of a delegated task once, with the ids of its start', () => {
  const delegation = new DelegatedTask(new RecordScope(records, 's'), 1, { child_session_id: 'k' })
  delegation.emitStart('look')
  for (const status of ['completed', 'failed']) delegation.emitEnd(2, { status })
  expect(told()).toMatchObject([
    ['subagent_start', 1, { child_session_id: 'k', child_goal: 'look' }],
    ['subagent_stop', 2, { child_session_id: 'k', child_status: 'completed' }],
  ])
})

test('normalises usage: prompts include the cache, output includes reasoning', () => {
  const counts = { input: 10, output: 5, cacheRead: 20, cacheWrite: '3', reasoning: 2 }
  expect(usageOf(counts)).toMatchObject({ prompt_tokens: 10, output_tokens: 5, total_tokens: 15 })
  const outside = usageOf(counts, { cacheIsOutside: true, reasoningIsOutside: true })
  expect(outside).toMatchObject({ prompt_tokens: 33, output_tokens: 7, total_tokens: 40, cache_write_tokens: 3 })
  expect(usageOf({ input: 0, output: -1, cacheRead: 4 })).toBeUndefined()
})

test('drops the oldest entry of a limited map', () => {
  const map = new LimitedMap<string, number>(2)
  for (const key of ['a', 'b', 'a', 'c']) map.set(key, 1)
  expect([...map.keys()]).toEqual(['b', 'c'])
})

test('accepts a reported time only if it is plausible', () => {
  const day = 86_400_000
  expect([90, 101, 100 - day, undefined].map(said => plausibleTime(said, 100))).toEqual([90, 100, 100, 100])
})

test('joins the text of parts and recognises JSON', () => {
  expect(plainText([{ text: 'a' }, { image: 1 }, { text: 'b' }])).toBe('a\nb')
  expect(['{}', ' {', '[1]', 'no', '', ' '.repeat(65)].map(looksLikeJson)).toEqual([
    true,
    true,
    false,
    false,
    false,
    true,
  ])
})

import { expect, test } from 'vitest'
import { AGENT_TURNS, agentsRun } from './agents.ts'
import { canonicalUsage } from './canonical-usage.ts'
import { totalsOf } from './totals.ts'
import type { WorkloadRecord } from './workload-record.ts'

const TURN = { session_id: 's', turn_id: 't' }

function told(...steps: readonly (readonly [string, object, object?])[]): WorkloadRecord[] {
  return steps.map(([hook, payload, meta], at) => ({ hook, payload: { ...payload }, meta: { at, host: 'h', ...meta } }))
}

test.each([
  [
    'the contract',
    { prompt_tokens: 100, output_tokens: 20, cache_read_tokens: 60, cache_write_tokens: 10, reasoning_tokens: 5 },
  ],
  [
    'OpenAI: the cache is inside',
    {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 120,
      prompt_tokens_details: { cached_tokens: 60 },
      completion_tokens_details: { reasoning_tokens: 5 },
      cache_write_tokens: 10,
    },
  ],
  [
    'Anthropic: the cache is outside',
    {
      input_tokens: 30,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 10,
      output_tokens: 20,
      reasoning_tokens: 5,
    },
  ],
  [
    'Hermes: both at once',
    {
      input_tokens: 30,
      prompt_tokens: '100',
      output_tokens: 20,
      cache_read_tokens: 60,
      cache_write_tokens: 10,
      reasoning_tokens: 5,
    },
  ],
])('reads the same tokens in the spelling of %s', (_who, usage) => {
  const expected = { input: 100, output: 20, total: 120, cacheRead: 60, cacheWrite: 10, reasoning: 5 }
  expect(canonicalUsage(usage)).toEqual(expected)
})

test('treats no report as no usage', () => {
  for (const usage of [undefined, null, 'much', {}, { prompt_tokens: 0, output_tokens: 0 }, { input_tokens: true }]) {
    expect(canonicalUsage(usage)).toBeUndefined()
  }
})

test('counts each attempt once, however often it is reported', () => {
  const request = { ...TURN, api_request_id: 'r', model: 'm', provider: 'p' }
  const usage = { prompt_tokens: 10, output_tokens: 1 }
  const records = told(
    ['pre_api_request', request],
    ['api_request_error', { ...request, retryable: true, usage }],
    ['pre_api_request', request],
    ['post_api_request', { ...request, usage, response: { usage } }],
    ['post_api_request', { ...request, usage }],
    ['on_session_end', { ...TURN, completed: true, usage }],
    ['subagent_stop', { parent_session_id: 's', parent_turn_id: 't', child_session_id: 'c', usage }],
  )
  const { overall, byModel } = totalsOf([...records, ...records])
  expect(overall).toMatchObject({ turns: 1, attempts: 2, failedAttempts: 1, retries: 1, childrenReturned: 1 })
  expect(overall.tokens).toMatchObject({ input: 10, output: 1, total: 11 })
  expect([...byModel.values()]).toMatchObject([{ model: 'm', provider: 'p', answered: 1, tokens: { total: 11 } }])
})

test('finds a repeat by its delivery, or by equal data with an id', () => {
  const tool = { ...TURN, tool_name: 'ls' }
  const numbered = told(['pre_tool_call', tool, { delivery_id: 'd' }])
  expect(totalsOf([...numbered, ...numbered]).overall.toolCalls).toBe(1)
  const named = told(['pre_tool_call', { ...tool, tool_call_id: 'c' }])
  expect(totalsOf([...named, ...named]).overall.toolCalls).toBe(1)
  const alike = told(['pre_tool_call', tool])
  expect(totalsOf([...alike, ...alike]).overall.toolCalls).toBe(2)
})

test('assigns prompts to their session, also when its id changes and when a child continues in another', () => {
  const usage = { prompt_tokens: 5, output_tokens: 1 }
  const ask = (session_id: string, turn_id: string, api_request_id: string): (readonly [string, object])[] => {
    const ids = { session_id, turn_id, api_request_id }
    return [
      ['pre_api_request', ids],
      ['post_api_request', { ...ids, usage }],
    ]
  }
  const records = told(
    ...ask('s', 't', 'r1'),
    ['subagent_start', { parent_session_id: 's', parent_turn_id: 't', child_session_id: 'c' }],
    ...ask('c', 'ct', 'r2'),
    ['on_session_end', { session_id: 'c', turn_id: 'ct' }],
    ...ask('rotated', 't', 'r3'),
    ['on_session_end', { session_id: 'rotated', turn_id: 't' }],
  )
  const { bySession, byTurn, childTokens } = totalsOf(records)
  expect([...bySession].map(([id, { turns, tokens }]) => [id, turns, tokens.total])).toEqual([
    ['s', 1, 6],
    ['c', 1, 6],
    ['rotated', 0, 6],
  ])
  expect([...byTurn].map(([id, { turnTokens }]) => [id, turnTokens.total])).toEqual([
    ['t', 12],
    ['ct', 6],
  ])
  expect(Object.fromEntries(childTokens)).toEqual({ ct: 0, t: 6 })
})

test('agrees with the scripts that the agents follow', () => {
  const { lanes, fed } = agentsRun()
  const steps = lanes.flat().map(({ at, record: { hook, payload } }) => ({
    hook,
    payload: { ...(payload as object) },
    meta: { at, host: 'h' },
  }))
  const { overall } = totalsOf(steps)
  expect(overall.turns).toBe(AGENT_TURNS)
  expect(fed).toEqual({
    turns: overall.turns,
    input: overall.tokens.input,
    output: overall.tokens.output,
    cacheRead: overall.tokens.cacheRead,
    cacheWrite: overall.tokens.cacheWrite,
    reasoning: overall.tokens.reasoning,
    apiErrors: overall.failedAttempts + overall.failedSideCalls,
    toolCalls: Object.values(overall.toolsByOutcome).reduce((sum, calls) => sum + calls, 0),
    subagents: overall.childrenReturned,
    approvals: Object.values(overall.approvalsByChoice).reduce((sum, choices) => sum + choices, 0),
    hookRuns: 0,
  })
})

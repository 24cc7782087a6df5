/** What the root adds up. */
import { describe, expect, test } from 'vitest'
import { feedSteps, type Step, told } from '../support/feed.ts'
import { all, answered, asked, attributes, began, childTurn, delegated, TURN, used } from './scenes.ts'

function summaryOf(steps: readonly Step[], options = {}) {
  const plugin = told([...began(), ...steps, ...answered(9000)], options)
  return all(plugin, 'agent').find(root => root.attributes['hermes.session.id'] === 's1')?.attributes ?? {}
}

const call = (index: number, start: object, end: object = {}): Step[] =>
  used(100 + index * 10, { tool_call_id: `c${index}`, ...start }, end)

test('has an end and a duration for a turn without any events', () => {
  const told_ = Object.keys(summaryOf([])).filter(name => name.startsWith('hermes.turn.'))
  expect(told_.sort()).toEqual([
    'hermes.turn.duration_ms',
    'hermes.turn.final_status',
    'hermes.turn.id',
    'hermes.turn.number',
  ])
})

test('has an outcome and no duration for a turn that took no time', () => {
  const plugin = told([
    [0, 'on_session_start', { session_id: 's1' }],
    [0, 'on_session_end', { session_id: 's1', completed: true }],
  ])
  expect(attributes(plugin, 'agent')).not.toHaveProperty('hermes.turn.duration_ms')
  expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe('completed')
})

test('has every sum of a full turn', () => {
  const usage = {
    prompt_tokens: 10,
    output_tokens: 4,
    cache_read_tokens: 3,
    cache_write_tokens: 2,
    reasoning_tokens: 1,
  }
  const ask = { ...TURN, pattern_key: 'rm' }
  const steps: Step[] = [
    ...asked(30, {}, { usage }),
    ...asked(140, { api_request_id: 'r2' }, { usage }),
    [250, 'pre_api_request', { ...TURN, api_request_id: 'r3' }],
    [260, 'api_request_error', { ...TURN, api_request_id: 'r3', error: { type: 'E' }, retryable: false }],
    ...used(300, { tool_name: 'z', tool_call_id: 'c1', args: { path: '/b', command: 'x' } }),
    ...used(360, { tool_name: 'a', tool_call_id: 'c2', args: { path: '/a' } }, { status: 'error' }),
    ...used(420, { tool_name: 'a', tool_call_id: 'c3', args: { path: '/b' } }, { status: 'blocked' }),
    ...used(480, { tool_name: 'skill_view', tool_call_id: 'c4', args: { name: 'zoo' } }),
    ...used(540, { tool_name: 'skill_view', tool_call_id: 'c5', args: { name: 'ant' } }),
    [600, 'pre_approval_request', ask],
    [650, 'post_approval_response', { ...ask, choice: 'once' }],
    delegated(700),
    ...childTurn(710, 'C', 'ct1', usage),
    [820, 'subagent_stop', { child_session_id: 'C', child_status: 'completed' }],
  ]
  expect(summaryOf(steps)).toMatchObject({
    'hermes.turn.tool_count': 3,
    'hermes.turn.tools': 'a,skill_view,z',
    'hermes.turn.tool_call_count': 5,
    'hermes.turn.tool_error_count': 1,
    'hermes.turn.tool_targets': '/b|/a',
    'hermes.turn.tool_commands': 'x',
    'hermes.turn.tool_outcomes': 'blocked,completed,error',
    'hermes.turn.skill_count': 2,
    'hermes.turn.skills': 'ant,zoo',
    'hermes.turn.api_call_count': 3,
    'hermes.turn.api_error_count': 1,
    'hermes.turn.tokens.input': 20,
    'hermes.turn.tokens.output': 8,
    'hermes.turn.tokens.total': 28,
    'hermes.turn.tokens.cache_read': 6,
    'hermes.turn.tokens.cache_write': 4,
    'hermes.turn.tokens.reasoning': 2,
    'hermes.turn.subagent_count': 1,
    'hermes.turn.subagent_tokens.total': 14,
    'hermes.turn.approval_count': 1,
    'hermes.turn.approval_wait_ms': 50,
    'hermes.turn.duration_ms': 9010,
    'hermes.turn.final_status': 'completed',
  })
  expect(summaryOf(steps)).not.toHaveProperty('hermes.turn.retry_count')
})

test('counts tools that were created from their duration, too', () => {
  const late = { ...TURN, tool_name: 'late', tool_call_id: 'c1', args: { path: '/x' }, duration_ms: 5, status: 'error' }
  expect(summaryOf([[100, 'post_tool_call', late]])).toMatchObject({
    'hermes.turn.tool_call_count': 1,
    'hermes.turn.tool_error_count': 1,
    'hermes.turn.tool_targets': '/x',
  })
})

describe('a list', () => {
  test('is cut at 500 characters, ellipsis included', () => {
    const many = Array.from({ length: 100 }, (_, index) =>
      call(index, { args: { path: `/some/long/path/${index}` } }),
    ).flat()
    const targets = String(summaryOf(many)['hermes.turn.tool_targets'])
    expect(targets).toHaveLength(500)
    expect(targets.endsWith('...')).toBe(true)
    expect(targets.startsWith('/some/long/path/0|/some/long/path/1|')).toBe(true)
  })

  test('counts all names, also if they are cut', () => {
    const many = Array.from({ length: 100 }, (_, index) => call(index, { tool_name: `tool-number-${index}` })).flat()
    expect(summaryOf(many)).toMatchObject({ 'hermes.turn.tool_count': 100, 'hermes.turn.tool_call_count': 100 })
    expect(String(summaryOf(many)['hermes.turn.tools'])).toHaveLength(500)
  })

  test('has a limit in a turn that never ends', () => {
    const plugin = told(began())
    for (let index = 0; index < 1000; index++) feedSteps(plugin, call(index, { args: { command: `echo ${index}` } }))
    feedSteps(plugin, answered(90_000))
    expect(attributes(plugin, 'agent')['hermes.turn.tool_call_count']).toBe(1000)
    expect(String(attributes(plugin, 'agent')['hermes.turn.tool_commands'])).toHaveLength(500)
  })

  test('has names and numbers without content, but no targets and commands', () => {
    const told_ = summaryOf(call(0, { args: { path: '/x', command: 'ls' } }), { content_capture: 'off' })
    expect(told_).toMatchObject({ 'hermes.turn.tools': 'terminal', 'hermes.turn.tool_call_count': 1 })
    expect(told_).not.toHaveProperty('hermes.turn.tool_targets')
    expect(told_).not.toHaveProperty('hermes.turn.tool_commands')
  })
})

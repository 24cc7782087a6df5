/** When spans start and end, and what becomes of those that come late, twice or never. */
import { describe, expect, test } from 'vitest'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import {
  all,
  answered,
  asked,
  attributes,
  began,
  childTurn,
  delegated,
  only,
  parentOf,
  series,
  seriesText,
  TURN,
  text,
  used,
} from './scenes.ts'

describe('a second start under the same key', () => {
  test('ends the first tool', async () => {
    const [first] = used(100, { args: { command: 'first' } }) as [Step, Step]
    const plugin = told([...began(), first, ...used(200, { args: { command: 'second' } }), ...answered(300)])
    expect(plugin.tree({ attributes: ['hermes.tool.command'] })).toBe(text`
      agent OK
        llm.qwen3 OK
          tool.terminal UNSET (incomplete: superseded) [hermes.tool.command=first]
          tool.terminal OK [hermes.tool.command=second]
    `)
    expect(all(plugin, 'tool.terminal')[0]?.endAt).toBe(START_AT + 200)
    expect(await seriesText(plugin, 'hookspan.spans.incomplete')).toEqual(['reason=superseded → 1'])
  })

  test('ends the first loop', () => {
    const plugin = told([...began(), [100, 'pre_llm_call', { ...TURN, model: 'other' }], ...answered(300)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 UNSET (incomplete: superseded)
        llm.other OK
    `)
  })

  test('ends the first approval', () => {
    const ask = { ...TURN, tool_call_id: 'c1', pattern_key: 'rm' }
    const plugin = told([
      ...began(),
      [100, 'pre_approval_request', ask],
      [200, 'pre_approval_request', ask],
      [300, 'post_approval_response', { ...ask, choice: 'once' }],
    ])
    expect(all(plugin, 'approval.rm').map(span => span.attributes['hermes.span.incomplete'])).toEqual([
      'superseded',
      undefined,
    ])
    expect(all(plugin, 'approval.rm')[1]?.attributes['hermes.approval.duration_ms']).toBe(100)
  })

  test('ends the first delegation', () => {
    const plugin = told([
      ...began(),
      delegated(100),
      delegated(200),
      [300, 'subagent_stop', { child_session_id: 'C', child_status: 'completed' }],
    ])
    expect(all(plugin, 'subagent.researcher').map(span => span.status)).toEqual(['unset', 'ok'])
    expect(plugin.stats().spansOpen).toBe(2)
  })
})

describe('a late record', () => {
  test('puts a tool below its ended request', () => {
    const plugin = told([
      ...began(),
      ...asked(100),
      ...asked(300, { api_request_id: 'r2' }),
      ...used(500, { api_request_id: 'r1' }),
    ])
    const [first] = all(plugin, 'api.qwen3')
    expect(parentOf(plugin, only(plugin, 'tool.terminal'))?.spanId).toBe(first?.spanId)
  })

  test('puts a tool that names its finished turn below the request that asked for it', () => {
    const plugin = told([...began(), ...asked(100), ...answered(300), ...used(400, { api_request_id: 'r1' })])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 OK
            tool.terminal OK
    `)
    expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
  })

  test('puts a tool that names its finished turn and no request below the root', () => {
    const plugin = told([...began(), ...answered(100), ...used(400)])
    expect(parentOf(plugin, only(plugin, 'tool.terminal'))?.name).toBe('agent')
  })

  test("accepts a record from before the turn's end that arrives after it, without a turn id", () => {
    const [pre, post] = used(80, { turn_id: undefined }) as [Step, Step]
    const plugin = told([...began(), ...answered(100), pre, [105, ...post.slice(1)] as unknown as Step])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
        tool.terminal OK
    `)
  })

  test('accepts a delegation of a finished turn, and its child', () => {
    const plugin = told([
      ...began(),
      ...answered(100),
      delegated(150),
      ...childTurn(200),
      [400, 'subagent_stop', { child_session_id: 'C', child_status: 'completed' }],
    ])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
        subagent.researcher OK
          agent OK
            llm.small OK
              api.small OK
    `)
    expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
  })

  test('accepts a failed request and an approval of a finished turn', () => {
    const ask = { ...TURN, pattern_key: 'rm' }
    const plugin = told([
      ...began(),
      ...answered(100),
      [200, 'api_request_error', { ...TURN, api_request_id: 'r9', error: { type: 'Timeout' } }],
      [300, 'pre_approval_request', ask],
      [310, 'post_approval_response', { ...ask, choice: 'deny' }],
    ])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
        api.error ERROR Timeout
        approval.rm OK
    `)
  })

  test('continues a turn that was given up', () => {
    const plugin = told([...began(), ...asked(100)])
    feedSteps(plugin, [
      [700_000, 'on_session_start', { session_id: 'other' }],
      ...used(701_000, { api_request_id: 'r1' }),
    ])
    const [root] = all(plugin, 'agent')
    expect(root?.attributes['hermes.turn.final_status']).toBe('timed_out')
    expect(only(plugin, 'tool.terminal').traceId).toBe(root?.traceId)
  })
})

describe('a repeated record', () => {
  const [PRE, POST] = used(100) as [Step, Step]

  test.each([
    ['the start of a tool', [PRE, PRE, POST]],
    ['the end of a tool', [PRE, POST, POST]],
    ['the start of a tool that has ended', [PRE, POST, PRE]],
    ['the end of a tool without a start', [POST, POST]],
  ])('counts once: %s', async (_what, steps) => {
    const plugin = told([...began(), ...steps, ...answered(300)])
    expect(all(plugin, 'tool.terminal').length).toBeLessThanOrEqual(1)
    expect(plugin.stats().spansOpen).toBe(0)
    expect(await seriesText(plugin, 'hermes.tool.calls')).toEqual(['tool_name=terminal outcome=completed → 1'])
    expect(attributes(plugin, 'agent')['hermes.turn.tool_call_count']).toBe(1)
  })

  test('counts the end of the turn once', async () => {
    const plugin = told([...began(), ...answered(100), ...answered(100).slice(1)])
    expect(await seriesText(plugin, 'hermes.sessions')).toEqual(['kind=session final_status=completed → 1'])
  })

  test('counts a delivery id once; another host may use it, too', () => {
    const plugin = told(began())
    const call = { ...TURN, tool_name: 'ls' }
    for (const host of ['hermes', 'hermes', 'pi']) {
      plugin.on('post_tool_call', { ...call, duration_ms: 5 }, { at: START_AT + 100, delivery_id: 'd1', host })
    }
    expect(plugin.stats().hooks.duplicate).toBe(1)
  })
})

describe('an end without a start', () => {
  test('creates a request from its duration', () => {
    const plugin = told([
      ...began(),
      [500, 'post_api_request', { ...TURN, api_request_id: 'r1', model: 'qwen3', api_duration: 0.2 }],
      ...answered(600),
    ])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 OK (retroactive)
    `)
    expect(only(plugin, 'api.qwen3').startAt).toBeCloseTo(START_AT + 300, 3)
  })

  test('creates a delegation from its duration', () => {
    const stop = { parent_session_id: 's1', child_session_id: 'C', child_role: 'researcher', duration_ms: 100 }
    const plugin = told([...began(), [300, 'subagent_stop', stop], ...answered(400)])
    expect(plugin.tree()).toContain('subagent.researcher OK (retroactive)')
  })

  test('creates a tool of an unknown session, and its root', () => {
    const plugin = told([
      [500, 'post_tool_call', { ...TURN, tool_name: 'terminal', tool_call_id: 'c1', duration_ms: 100 }],
      [600, 'on_session_end', { ...TURN, completed: true }],
    ])
    expect(plugin.tree({ attributes: ['hermes.session.synthesized'] })).toBe(text`
      agent OK [hermes.session.synthesized=true]
        tool.terminal OK (retroactive)
    `)
    expect(only(plugin, 'agent').startAt).toBe(START_AT + 400)
  })

  test('shows a failed request of an unknown session, without creating a turn for it', () => {
    const error = { ...TURN, model: 'qwen3', error: { type: 'Timeout', message: 'no answer' }, api_duration: 0.1 }
    const plugin = told([[500, 'api_request_error', error]])
    expect(plugin.tree()).toBe('api.qwen3 ERROR Timeout (retroactive)')
    expect(plugin.stats().turnsOpen).toBe(0)
  })

  test('counts an answer as received, and no more', async () => {
    const plugin = told([[0, 'on_session_start', { session_id: 's1' }], ...answered(100)])
    expect(plugin.tree()).toBe('agent OK')
    expect(attributes(plugin, 'agent')['output.value']).toBe('hi there')
    expect(await series(plugin, 'hookspan.spans.incomplete')).toEqual([])
  })
})

test('ends open spans innermost first at the end of the turn, all at that moment', () => {
  const [request] = asked(100) as [Step, Step]
  const [one] = used(110, { tool_call_id: 'c1', tool_name: 'one', api_request_id: 'r1' }) as [Step, Step]
  const [two] = used(120, { tool_call_id: 'c2', tool_name: 'two', api_request_id: 'r1' }) as [Step, Step]
  const plugin = told([
    ...began(),
    request,
    one,
    two,
    [130, 'pre_approval_request', { ...TURN, tool_call_id: 'c1', pattern_key: 'rm' }],
    [400, 'on_session_end', { ...TURN, failed: true, turn_exit_reason: 'interrupted_during_api_call' }],
  ])
  expect(plugin.spans().map(span => span.name)).toEqual([
    'approval.rm',
    'tool.two',
    'tool.one',
    'api.qwen3',
    'llm.qwen3',
    'agent',
  ])
  expect(new Set(plugin.spans().map(span => span.endAt))).toEqual(new Set([START_AT + 400]))
  expect(only(plugin, 'agent')).toMatchObject({ status: 'error', statusMessage: 'interrupted_during_api_call' })
})

test('changes nothing at a repeated start of a session', () => {
  const plugin = told([
    ...began(),
    [50, 'on_session_start', { session_id: 's1', platform: 'web', model: 'other', profile: 'work' }],
    ...answered(100, { model: undefined }),
  ])
  expect(attributes(plugin, 'agent')).toMatchObject({
    'hermes.platform': 'cli',
    'gen_ai.request.model': 'qwen3',
    'hermes.profile': 'work',
    'hermes.turn.number': 1,
  })
})

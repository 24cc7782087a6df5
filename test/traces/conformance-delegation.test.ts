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
  series,
  seriesText,
  TURN,
  text,
  used,
} from './scenes.ts'

describe('approvals', () => {
  const ASK = { ...TURN, tool_call_id: 'c1', pattern_key: 'rm_rf', pattern_keys: ['rm_rf', 'sudo'], surface: 'cli' }

  test('case 68: puts an approval inside its tool', () => {
    const [pre, post] = used(100) as [Step, Step]
    const plugin = told([
      ...began(),
      pre,
      [110, 'pre_approval_request', ASK],
      [140, 'post_approval_response', { ...ASK, choice: 'once' }],
      post,
      ...answered(300),
    ])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          tool.terminal OK
            approval.rm_rf OK
    `)
    expect(attributes(plugin, 'approval.rm_rf')).toMatchObject({
      'hermes.approval.choice': 'once',
      'hermes.approval.granted': true,
      'hermes.approval.timed_out': false,
      'hermes.approval.surface': 'cli',
      'hermes.approval.duration_ms': 30,
      'gen_ai.tool.call.id': 'c1',
    })
  })

  test.each([
    ['once', true],
    ['session', true],
    ['always', true],
    ['smart_approve', true],
    ['deny', false],
    ['smart_deny', false],
    ['timeout', false],
    ['cancelled', false],
    ['notify_failed', false],
  ])('case 68: reads %s as granted: %s, and never as an error', (choice, granted) => {
    const plugin = told([
      ...began(),
      [110, 'pre_approval_request', ASK],
      [140, 'post_approval_response', { ...ASK, choice }],
    ])
    expect(only(plugin, 'approval.rm_rf').status).toBe('ok')
    expect(attributes(plugin, 'approval.rm_rf')).toMatchObject({
      'hermes.approval.granted': granted,
      'hermes.approval.timed_out': choice === 'timeout',
    })
  })

  test('case 71: finds an approval by its turn if it has no session', () => {
    const { session_id: _, ...withoutSession } = ASK
    const plugin = told([
      ...began(),
      [110, 'pre_approval_request', withoutSession],
      [140, 'post_approval_response', { ...withoutSession, choice: 'once' }],
    ])
    expect(attributes(plugin, 'approval.rm_rf')['session.id']).toBe('s1')
  })

  test('case 72: accepts the decision of a guardian model', () => {
    const decision = { ...ASK, choice: 'smart_approve', decided_by: 'aux_llm' }
    const plugin = told([...began(), [110, 'pre_approval_request', ASK], [140, 'post_approval_response', decision]])
    expect(attributes(plugin, 'approval.rm_rf')).toMatchObject({
      'hermes.approval.granted': true,
      'hermes.approval.decided_by': 'aux_llm',
    })
  })
})

describe('child agents', () => {
  const STOP: Step = [
    4360,
    'subagent_stop',
    {
      parent_session_id: 's1',
      child_session_id: 'C',
      child_role: 'researcher',
      child_status: 'completed',
      child_summary: 'found it',
      duration_ms: 4200,
    },
  ]

  test('case 73: puts the child into the one trace, below the delegation', () => {
    const [pre, post] = asked(100) as [Step, Step]
    const plugin = told([
      ...began(),
      pre,
      delegated(160, { child_goal: 'find it', child_subagent_id: 'sa-0' }),
      ...childTurn(300),
      STOP,
      [4400, ...post.slice(1)] as unknown as Step,
      ...answered(4500),
    ])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 OK
            subagent.researcher OK
              agent OK
                llm.small OK
                  api.small OK
    `)
    expect(attributes(plugin, 'subagent.researcher')).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'researcher',
      'hermes.subagent.role': 'researcher',
      'hermes.subagent.child_session_id': 'C',
      'hermes.subagent.parent_session_id': 's1',
      'hermes.subagent.parent_turn_id': 't1',
      'hermes.subagent.child_id': 'sa-0',
      'hermes.subagent.goal': 'find it',
      'input.value': 'find it',
      'hermes.subagent.status': 'completed',
      'hermes.subagent.duration_ms': 4200,
      'hermes.subagent.summary': 'found it',
      'output.value': 'found it',
    })
    const child = all(plugin, 'agent').find(span => span.attributes['hermes.session.id'] === 'C')
    expect(child?.attributes).toMatchObject({
      'hermes.session.is_subagent': true,
      'hermes.subagent.role': 'researcher',
      'hermes.subagent.parent_session_id': 's1',
    })
  })

  test.each([
    ['failed', 'error'],
    ['ERROR', 'error'],
    ['Timed_Out', 'error'],
    ['cancelled', 'error'],
    ['canceled', 'error'],
    ['interrupted', 'ok'],
    ['whatever', 'ok'],
    ['', 'ok'],
    [undefined, 'ok'],
  ])('case 74: maps the status %s to %s', (child_status, status) => {
    const plugin = told([...began(), delegated(100), [200, 'subagent_stop', { child_session_id: 'C', child_status }]])
    expect(only(plugin, 'subagent.researcher').status).toBe(status)
  })

  test('case 74: describes a failure by the summary', () => {
    const failed = { child_session_id: 'C', child_status: 'failed', child_summary: 'no network' }
    const plugin = told([...began(), delegated(100), [200, 'subagent_stop', failed]])
    expect(only(plugin, 'subagent.researcher').statusMessage).toBe('no network')
  })

  test('case 75: links a parent known only as a remote context', () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const [start, ...rest] = childTurn(0) as [Step, ...Step[]]
    const remote: Step = [0, 'on_session_start', { ...start[2], traceparent, parent_session_id: 'elsewhere' }]
    const root = only(told([remote, ...rest]), 'agent')
    expect(root).not.toHaveProperty('parentSpanId')
    expect(root.links).toMatchObject([{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }])
    expect(root.attributes['hermes.subagent.parent_session_id']).toBe('elsewhere')
  })

  test('case 78: creates no spans for a delegation or a stop without a child', () => {
    const plugin = told([
      ...began(),
      delegated(100, { child_session_id: undefined }),
      [200, 'subagent_stop', { parent_session_id: 's1', parent_turn_id: 't1', child_session_id: 'X' }],
      ...answered(300),
    ])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
    `)
  })

  test('case 79: records the metrics', async () => {
    const stop = { child_session_id: 'C', child_status: 'completed', duration_ms: 3000 }
    const plugin = told([...began(), delegated(100), [200, 'subagent_stop', stop]])
    expect(await seriesText(plugin, 'hermes.subagent.count')).toEqual(['role=researcher status=ok → 1'])
    expect(await series(plugin, 'hermes.subagent.duration')).toMatchObject([
      { labels: { role: 'researcher' }, value: 3000, count: 1 },
    ])
  })
})

describe('turns that never end', () => {
  test('case 80: ends a dead turn at the next record of another one, with a limit of 0', () => {
    const plugin = told(
      [
        [0, 'on_session_start', { session_id: 'dead' }],
        [10, 'on_session_start', { session_id: 'live' }],
      ],
      { root_span_ttl_ms: 0 },
    )
    expect(only(plugin, 'agent')).toMatchObject({ status: 'ok', endAt: START_AT })
    expect(attributes(plugin, 'agent')).toMatchObject({
      'session.id': 'dead',
      'hermes.turn.final_status': 'timed_out',
      'hermes.span.incomplete': 'orphaned',
    })
    expect(plugin.stats().turnsOpen).toBe(1)
  })

  test('case 81: ends the open request with its root', () => {
    const [pre] = asked(100) as [Step, Step]
    const plugin = told([...began(), pre], { root_span_ttl_ms: 1000, open_work_ttl_ms: 1000 })
    feedSteps(plugin, [[10_000, 'on_session_start', { session_id: 'live' }]])
    expect(plugin.tree({ attributes: ['hermes.turn.final_status', 'hermes.turn.api_call_count'] })).toBe(text`
      agent OK (incomplete: orphaned) [hermes.turn.final_status=timed_out, hermes.turn.api_call_count=1]
        llm.qwen3 UNSET (incomplete: orphaned)
          api.qwen3 UNSET (incomplete: orphaned)
    `)
    expect(only(plugin, 'agent').endAt).toBe(START_AT + 100)
  })

  test('case 82: ends nothing within the limit, and does not sweep ended turns', () => {
    const plugin = told(
      [
        [0, 'on_session_start', { session_id: 'a' }],
        [10, 'on_session_start', { session_id: 'b' }],
        [20, 'on_session_end', { session_id: 'a', completed: true }],
        [3_500_000, 'on_session_start', { session_id: 'c' }],
        [3_500_010, 'on_session_end', { session_id: 'c', completed: true }],
        [3_600_011, 'on_session_start', { session_id: 'd' }],
      ],
      { root_span_ttl_ms: 3_600_000 },
    )
    expect(all(plugin, 'agent').map(root => root.attributes['hermes.turn.final_status'])).toEqual([
      'completed',
      'completed',
      'timed_out',
    ])
    expect(plugin.stats().turnsOpen).toBe(1)
  })
})

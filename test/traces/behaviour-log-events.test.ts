/** What somebody would be told of, as log events: which there are, what they are about, and what they say. */
import { describe, expect, test } from 'vitest'
import type { LogEvent, TestPlugin } from '../../src/testing.ts'
import { START_AT, type Step, told } from '../support/feed.ts'
import { all, answered, asked, began, TURN, used } from './scenes.ts'

const REQUEST = { ...TURN, api_request_id: 'r1', model: 'qwen3', provider: 'ollama' }
const ASKED = { ...TURN, tool_call_id: 'c1', pattern_key: 'rm', command: 'rm -rf x' }
const GUARD = { ...TURN, tool_call_id: 'c1', hook_run_id: 'h1', hook_name: 'no-rm', hook_phase: 'before_tool' }

function failing(at: number, error: object): Step[] {
  return [
    [at, 'pre_api_request', REQUEST],
    [at + 20, 'api_request_error', { ...REQUEST, status_code: 429, ...error }],
  ]
}

function approval(choice: string, more: object = {}): Step[] {
  return [
    [110, 'pre_approval_request', { ...ASKED, ...more }],
    [190, 'post_approval_response', { ...ASKED, ...more, choice }],
  ]
}

function judged(end: object): Step[] {
  return [
    [110, 'pre_control_hook', GUARD],
    [115, 'post_control_hook', { ...GUARD, ...end }],
  ]
}

/** What happens in a turn that then goes well. */
function inTurn(...steps: Step[]): TestPlugin {
  return told([...began(), ...steps, ...answered(900)])
}

function shown({ name, severity, at }: LogEvent): string {
  return `${at - START_AT} ${severity} ${name}`
}

const RETRIED = { retryable: true, error: { type: 'RateLimitError', message: 'slow down' } }

test.each([
  ['nothing went wrong', [...asked(30), ...used(100)], []],
  ['a tool fails', used(100, {}, { status: 'error' }), ['150 WARN hermes.tool.failed']],
  ['a tool is blocked', used(100, {}, { status: 'blocked' }), []],
  ['a tool takes too long', used(100, {}, { status: 'timeout' }), []],
  ['a request is retried', [...failing(30, RETRIED), ...asked(60)], ['50 WARN hermes.request.retried']],
  ['an approval is denied', approval('deny'), ['190 INFO hermes.approval.denied']],
  ['an approval times out', approval('timeout'), ['190 WARN hermes.approval.timed_out']],
  ['an approval is given', approval('once'), []],
  ['a guardian passes it on', approval('escalated', { surface: 'smart' }), []],
  ['a question is answered', approval('blue', { kind: 'clarify' }), []],
  ['a guard blocks', judged({ verdict: 'block', action: 'blocked' }), ['115 WARN hermes.hook.blocked']],
  ['a guard lets pass', judged({ verdict: 'allow', action: 'none' }), []],
])('emits the right events if %s', (_what, steps, events) => {
  expect(
    inTurn(...(steps as Step[]))
      .logs()
      .map(shown),
  ).toEqual(events)
})

const FAILED_TURN: Step[] = [...began(), ...failing(30, { retryable: false, error: { type: 'AuthError' } })]

describe('a turn that fails', () => {
  test('is one event, about its root, at its end', () => {
    const plugin = told([...FAILED_TURN, [200, 'on_session_end', { ...TURN, failed: true }]])
    const [root] = all(plugin, 'agent')
    const [event, ...others] = plugin.logs()
    expect(others).toEqual([])
    expect(event).toMatchObject({
      name: 'hermes.turn.failed',
      severity: 'ERROR',
      at: START_AT + 200,
      span: { traceId: root?.traceId, spanId: root?.spanId },
      attributes: {
        'event.name': 'hermes.turn.failed',
        'hermes.turn.final_status': 'failed',
        'hermes.session.id': 's1',
        'session.id': 's1',
        'error.type': 'AuthError',
      },
    })
  })

  test('is no event when the process ends in the middle of it, because the outcome is unknown', async () => {
    const plugin = told(began())
    await plugin.shutdown()
    expect(plugin.logs()).toEqual([])
  })
})

test("refers to the span that it names, with the span's attributes", () => {
  const error = { status: 'error', error_type: 'ENOENT', error_message: 'no such file' }
  const plugin = inTurn(...used(100, { tool_name: 'read_file' }, { tool_name: 'read_file', ...error }))
  const [span] = all(plugin, 'tool.read_file')
  const [event] = plugin.logs()
  expect(event?.span).toMatchObject({ traceId: span?.traceId, spanId: span?.spanId, traceFlags: 1 })
  expect(event?.attributes).toMatchObject({
    'gen_ai.tool.name': 'read_file',
    'gen_ai.tool.call.id': 'c1',
    'error.type': 'ENOENT',
    'error.message': 'no such file',
    'hermes.turn.id': 't1',
  })
})

test('has no secret in an event, and uses the configured namespace', () => {
  const key = `sk-ant-api03-${'a1B2'.repeat(20)}`
  const steps = used(100, {}, { status: 'error', error_message: `refused with ${key}` })
  const plugin = told([...began(), ...steps, ...answered(900)], { namespace: 'acme' })
  expect(JSON.stringify(plugin.logs())).not.toContain(key)
  expect(plugin.logs()).toMatchObject([{ name: 'acme.tool.failed', attributes: { 'event.name': 'acme.tool.failed' } }])
})

test('emits an event of an unsampled span, with its flags', () => {
  const plugin = told([...began(), ...used(100, {}, { status: 'error' })], { sample_rate: 0 })
  expect(plugin.spans()).toEqual([])
  expect(plugin.logs()).toMatchObject([{ name: 'hermes.tool.failed', span: { traceFlags: 0 } }])
})

test('emits one event for a repeated end', () => {
  const [start, end] = used(100, {}, { status: 'error' }) as [Step, Step]
  expect(inTurn(start, end, end).logs()).toHaveLength(1)
})

import { expect, test } from 'vitest'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { feed, recording, START_AT } from '../support/feed.ts'
import { all, only, seriesText, text } from './scenes.ts'

const RECORDS = recording('hermes-turn.jsonl')
const PARENT = '20261121_101500_7c41de'
const CHILD = '20261121_101507_sub_1b90aa'

function recordedTurn(): TestPlugin {
  const plugin = createTestPlugin({ host: 'hermes' })
  feed(plugin, RECORDS)
  return plugin
}

/** The spans of the parent's requests, in order. */
function requests(plugin: TestPlugin) {
  return all(plugin, 'api.qwen3-coder-30b').sort((a, b) => a.startAt - b.startAt)
}

test('builds one connected trace from the recorded turn', () => {
  expect(recordedTurn().tree()).toBe(text`
    agent OK
      llm.qwen3-coder-30b OK
        api.qwen3-coder-30b ERROR RateLimitError
        api.qwen3-coder-30b OK
          tool.terminal OK
            approval.rm_rf OK
          tool.read_file OK
          tool.delegate_task OK
            subagent.leaf OK
              agent OK
                llm.claude-sonnet-4-6 OK
                  api.claude-sonnet-4-6 OK
        api.qwen3-coder-30b OK
  `)
})

test('accepts every record, reports nothing, and leaves nothing open', () => {
  const plugin = recordedTurn()
  expect(plugin.stats()).toMatchObject({
    hooks: { ok: 28, ignored: 0, duplicate: 0, error: 0 },
    spansOpen: 0,
    turnsOpen: 0,
  })
  expect(plugin.reported).toEqual([])
  expect(new Set(plugin.spans().map(span => span.traceId)).size).toBe(1)
})

test('gives every span the times of the records', () => {
  const spans = [...recordedTurn().spans()].sort((a, b) => a.startAt - b.startAt)
  const since = (at: number): number => Math.round(at - START_AT)
  expect(spans.map(span => `${span.name} ${since(span.startAt)}–${since(span.endAt)}`)).toEqual([
    'agent 0–14150',
    'llm.qwen3-coder-30b 20–14130',
    'api.qwen3-coder-30b 50–410',
    'api.qwen3-coder-30b 2450–4300',
    'tool.terminal 4330–10060',
    'tool.read_file 4340–4390',
    'approval.rm_rf 4360–9900',
    'tool.delegate_task 10080–12720',
    'subagent.leaf 10210–12700',
    'agent 10250–12630',
    'llm.claude-sonnet-4-6 10260–12620',
    'api.claude-sonnet-4-6 10280–12600',
    'api.qwen3-coder-30b 12800–14100',
  ])
})

test('starts the second attempt at its own time, not at the started_at that the host repeats', () => {
  const [first, second] = requests(recordedTurn())
  const repeated = RECORDS.filter(record => record.hook === 'pre_api_request').map(
    record => (record.payload as { started_at: number }).started_at,
  )
  expect(repeated[0]).toBe(repeated[1])
  expect(first?.attributes['hermes.api.attempt']).toBe(0)
  expect(second?.attributes['hermes.api.attempt']).toBe(1)
  expect(second?.startAt).toBe(START_AT + 2450)
  // 2830 − 2450: to this attempt's own first chunk, not from the first attempt's start.
  expect(second?.attributes['gen_ai.response.time_to_first_chunk']).toBeCloseTo(0.38, 3)
})

test('sets the reason of the failed attempt as attributes, as status and as an event', () => {
  const [failed] = requests(recordedTurn())
  expect(failed?.attributes).toMatchObject({
    'error.type': 'RateLimitError',
    'http.response.status_code': 429,
    'gen_ai.response.status_code': 429,
    'hermes.retry.count': 0,
    'hermes.max_retries': 3,
    'hermes.retryable': true,
    'hermes.error.reason': 'rate_limit',
    'http.duration_ms': 360,
    'llm.response.duration_ms': 360,
  })
  expect(failed?.statusMessage).toBe('Error code: 429 - rate limit reached, retry in 2s')
  expect(failed?.events).toEqual([
    {
      name: 'exception',
      at: expect.closeTo(START_AT + 410, 1),
      attributes: {
        'exception.type': 'RateLimitError',
        'exception.message': 'Error code: 429 - rate limit reached, retry in 2s',
        'exception.escaped': true,
      },
    },
  ])
})

test("puts the wait for its approval into the terminal span, and excludes it from the tool's own time", () => {
  const plugin = recordedTurn()
  const terminal = only(plugin, 'tool.terminal').attributes
  const approval = only(plugin, 'approval.rm_rf').attributes
  expect(terminal['hermes.tool.duration_ms']).toBe(5715)
  expect(approval['hermes.approval.duration_ms']).toBe(5540)
  expect(approval).toMatchObject({
    'hermes.approval.choice': 'once',
    'hermes.approval.granted': true,
    'hermes.approval.timed_out': false,
    'hermes.approval.surface': 'cli',
    'hermes.approval.command': 'rm -rf ./build',
    'gen_ai.tool.call.id': 'call_a1',
  })
})

test('ends the read of the README before the approval was answered', () => {
  const plugin = recordedTurn()
  expect(only(plugin, 'tool.read_file').endAt).toBeLessThan(only(plugin, 'approval.rm_rf').endAt)
  expect(only(plugin, 'tool.read_file').attributes['hermes.tool.target']).toBe('README.md')
})

test('sums the turn on the root, and the tokens of the child apart', () => {
  const root = recordedTurn().spans().at(-1)
  expect(root?.attributes).toMatchObject({
    'hermes.turn.tokens.input': 1840 + 2310,
    'hermes.turn.tokens.output': 148 + 58,
    'hermes.turn.tokens.total': 1988 + 2368,
    'hermes.turn.tokens.cache_read': 1228 + 1840,
    'hermes.turn.tokens.reasoning': 64,
    'hermes.turn.subagent_count': 1,
    'hermes.turn.subagent_tokens.total': 1176,
    'hermes.turn.api_call_count': 3,
    'hermes.turn.api_error_count': 1,
    'hermes.turn.retry_count': 1,
    'hermes.turn.tools': 'delegate_task,read_file,terminal',
    'hermes.turn.tool_call_count': 3,
    'hermes.turn.approval_count': 1,
    'hermes.turn.approval_wait_ms': 5540,
    'hermes.turn.duration_ms': 14150,
    'hermes.turn.final_status': 'completed',
    'hermes.turn.exit_reason': 'text_response(stop)',
  })
  expect(root?.attributes).not.toHaveProperty('hermes.turn.tokens.cache_write')
  expect(root?.attributes).not.toHaveProperty('error.type')
  expect(root?.attributes).not.toHaveProperty('gen_ai.usage.input_tokens')
})

test('marks the child, and counts it for itself', () => {
  const plugin = recordedTurn()
  const child = plugin.spans().find(span => span.name === 'agent' && span.attributes['hermes.session.id'] === CHILD)
  expect(child?.attributes).toMatchObject({
    'hermes.session.is_subagent': true,
    'hermes.subagent.role': 'leaf',
    'hermes.subagent.parent_session_id': PARENT,
    'hermes.turn.tokens.input': 1080,
    'hermes.turn.tokens.cache_write': 1066,
    'gen_ai.provider.name': 'anthropic',
  })
  expect(only(plugin, 'subagent.leaf').attributes).toMatchObject({
    'session.id': PARENT,
    'hermes.subagent.child_session_id': CHILD,
    'hermes.subagent.child_id': 'sa-0-5d3e9b10',
    'hermes.subagent.status': 'completed',
    'hermes.subagent.duration_ms': 2410,
  })
})

test('records the same figures as metrics and in the trace', async () => {
  const plugin = recordedTurn()
  expect(await seriesText(plugin, 'hermes.sessions')).toEqual(['kind=session final_status=completed → 2'])
  expect(await seriesText(plugin, 'hermes.tokens.input')).toEqual([
    'model=claude-sonnet-4-6 provider=anthropic part=subagent → 1080',
    'model=qwen3-coder-30b provider=custom part=own → 4150',
  ])
  expect(await seriesText(plugin, 'hermes.tool.duration')).toEqual([
    'tool_name=delegate_task outcome=completed → 2640',
    'tool_name=read_file outcome=completed → 41',
    'tool_name=terminal outcome=completed → 5715',
  ])
  expect(await seriesText(plugin, 'hermes.api.error.count')).toEqual([
    'error_type=RateLimitError status_class=4xx retryable=true → 1',
  ])
  expect(await seriesText(plugin, 'hookspan.spans.incomplete')).toEqual([])
})

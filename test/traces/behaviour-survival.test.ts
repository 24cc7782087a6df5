/** Whatever arrives, the host does not notice, and the next turn is drawn as ever. */
import { describe, expect, test } from 'vitest'
import { HOOK_NAMES } from '../../src/index.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { feed, feedSteps, recording, START_AT, told } from '../support/feed.ts'
import { SAMPLED, sample } from '../support/sample.ts'
import { all, answered, asked, attributes, began, only, TURN, text, used } from './scenes.ts'

function boom(): never {
  throw new Error('boom')
}

const circle: Record<string, unknown> = {}
circle['self'] = circle
const hostileProxy = new Proxy({}, { get: boom, has: boom, ownKeys: boom, getOwnPropertyDescriptor: boom })

/** Values that a field can hold although no host should send them. */
const ODD: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['a number', 42],
  ['NaN', Number.NaN],
  ['a bigint', 2n ** 80n],
  ['a boolean', true],
  ['a list', [1, [2, [3]]]],
  ['an object', { a: { b: 'c' } }],
  ['a circle', circle],
  ['a function', () => 1],
  ['a symbol', Symbol('s')],
  ['an object whose every trap throws', hostileProxy],
  ['an object whose toJSON and toString throw', { toJSON: boom, toString: boom, [Symbol.toPrimitive]: boom }],
  ['half a character', 'a\ud83d'],
  ['control characters', 'a\u0000b\u001b[2Jc'],
  ['5 million characters', 'x'.repeat(5_000_000)],
  ['an empty text', ''],
  ['blanks', '  \n '],
]

const FIELDS = (
  'session_id turn_id task_id api_request_id api_call_count tool_call_id parent_session_id child_session_id child_subagent_id ' +
  'model platform provider session_type job_id agent_name profile sender_id correlation_id traceparent user_message ' +
  'conversation_history retry_count base_url api_mode message_count max_tokens temperature stop started_at request ' +
  'request_messages messages system_prompt api_duration ended_at first_chunk_at finish_reason response_model usage response ' +
  'status_code max_retries retryable reason error tool_name args result duration_ms status error_type error_message ' +
  'assistant_response completed failed turn_exit_reason child_role child_goal child_summary child_status command description ' +
  'pattern_key pattern_keys surface choice decided_by aux_task old_session_id new_session_id response_text'
).split(' ')

const HEALTHY_TREE = text`
  agent OK
    llm.qwen3 OK
      api.qwen3 OK
      tool.terminal OK
`

function isStillHealthy(plugin: ReturnType<typeof createTestPlugin>): void {
  const healthy = { session_id: 'healthy', turn_id: 'healthy-1' }
  const steps = [...began(healthy), ...asked(100, healthy), ...used(210, healthy), ...answered(300, healthy)]
  feedSteps(plugin, steps)
  expect(plugin.tree().split('\n\n')).toContain(HEALTHY_TREE)
}

describe(`every field of every hook, ${SAMPLED}`, () => {
  test.each(sample(ODD, 4))('may be %s', (_what, value) => {
    for (const content_capture of ['off', 'preview', 'full'] as const) {
      const plugin = createTestPlugin({ content_capture, capture_sender_id: true, capture_conversation_history: true })
      const odd = Object.fromEntries(FIELDS.map(field => [field, value]))
      for (const [index, hook] of HOOK_NAMES.entries()) {
        plugin.on(hook, odd, { at: START_AT - 1000 + index })
        plugin.on(hook, { ...odd, ...TURN }, { at: START_AT - 500 + index })
      }
      isStillHealthy(plugin)
      expect(plugin.stats().hooks.error).toBe(0)
    }
  })

  test.each(ODD)('may be missing, with a payload that is %s', (_what, payload) => {
    const plugin = createTestPlugin()
    for (const [index, hook] of HOOK_NAMES.entries()) plugin.emitUntyped(hook, payload, { at: START_AT - 1000 + index })
    isStillHealthy(plugin)
  })

  test('may throw when it is read, and then costs one line for all of them', () => {
    const plugin = createTestPlugin()
    const throwing = Object.defineProperties(
      {},
      Object.fromEntries(FIELDS.map(field => [field, { get: boom, enumerable: true }])),
    )
    for (let round = 0; round < 3; round++) {
      for (const hook of HOOK_NAMES) expect(plugin.on(hook, throwing, { at: START_AT - 1000 })).toBeUndefined()
    }
    expect(plugin.reported.length).toBeLessThanOrEqual(HOOK_NAMES.length)
    isStillHealthy(plugin)
  })
})

describe('around a payload', () => {
  test.each([undefined, null, 42, '', 'no_such_hook', '__proto__', 'constructor', 'toString', {}])(
    'ignores and counts the hook %s',
    hook => {
      const plugin = createTestPlugin()
      plugin.emitUntyped(hook as string, TURN)
      expect(plugin.stats().hooks).toEqual({ ok: 0, ignored: 1, duplicate: 0, error: 0 })
      isStillHealthy(plugin)
    },
  )

  test.each([
    undefined,
    null,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    0,
    -1,
    1_795_256_100,
    1_795_256_100_000_000,
    'now',
    {},
  ])('replaces a time that is %s by now', at => {
    const plugin = createTestPlugin()
    const before = Date.now()
    plugin.on('on_session_start', { session_id: 's1' }, { at } as never)
    plugin.on('on_session_end', { session_id: 's1', completed: true }, { at } as never)
    const { startAt, endAt } = only(plugin, 'agent')
    expect(startAt).toBeGreaterThanOrEqual(before)
    expect(endAt).toBeGreaterThanOrEqual(startAt)
    expect(endAt).toBeLessThanOrEqual(Date.now())
  })

  test('accepts fractions in a time', () => {
    const plugin = told([...began().slice(0, 1), [100.25, 'on_session_end', { session_id: 's1', completed: true }]])
    expect(only(plugin, 'agent').endAt).toBeCloseTo(START_AT + 100.25, 3)
  })

  test('makes no negative duration of an end before its start', () => {
    const [pre, post] = used(500)
    const plugin = told(began())
    if (pre !== undefined && post !== undefined) feedSteps(plugin, [pre, [400, post[1], post[2] as object]])
    for (const span of plugin.spans()) expect(span.endAt).toBeGreaterThanOrEqual(span.startAt)
  })

  test('treats names of properties that every object has as names', () => {
    const odd = JSON.parse('{"__proto__": {"path": "/etc"}, "constructor": "x", "path": "/tmp/a"}')
    const plugin = told([
      ...began(),
      ...used(100, { tool_name: '__proto__', tool_call_id: 'constructor', args: odd }),
      ...answered(300),
    ])
    expect(attributes(plugin, 'tool.__proto__')['hermes.tool.target']).toBe('/tmp/a')
    expect(attributes(plugin, 'agent')['hermes.turn.tools']).toBe('__proto__')
  })

  test('does not change or keep a value of the host', () => {
    const args = Object.freeze({ command: 'ls', list: Object.freeze([1, 2]) })
    const payload = Object.freeze({ ...TURN, tool_name: 'terminal', tool_call_id: 'c1', args })
    const plugin = told([...began(), [100, 'pre_tool_call', payload], [150, 'post_tool_call', payload]])
    expect(all(plugin, 'tool.terminal')).toHaveLength(1)
    expect(plugin.stats().hooks.error).toBe(0)
  })
})

test('gives the same ids for the same records, with derived ids', () => {
  const [first, second] = [0, 1].map(() => {
    const plugin = createTestPlugin({ host: 'hermes', deterministic_ids: true })
    feed(plugin, recording('hermes-turn.jsonl'))
    return plugin.spans().map(span => [span.traceId, span.spanId, span.parentSpanId])
  })
  expect(second).toEqual(first)
  expect(new Set(first?.map(([, spanId]) => spanId)).size).toBe(13)
  expect(new Set(first?.map(([traceId]) => traceId)).size).toBe(1)
})

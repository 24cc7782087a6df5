/** Names, kinds, statuses, and which conventions are written. */
import { describe, expect, test } from 'vitest'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { feed, feedSteps, recording, START_AT, type Step, told } from '../support/feed.ts'
import { all, answered, asked, attributes, began, childTurn, delegated, only, TURN, text, used } from './scenes.ts'

const AUXILIARY = { ...TURN, api_request_id: 'a1', aux_task: 'title', model: 'tiny' }
const ASK = { ...TURN, tool_call_id: 'c1', pattern_key: 'rm_rf' }

/** One span of every kind. */
const EVERY_KIND: readonly Step[] = [
  ...began({ agent_name: 'scout' }),
  ...asked(100),
  ...used(210, { tool_name: 'skill_view', args: { name: 'deploy' } }),
  [270, 'pre_approval_request', ASK],
  [280, 'post_approval_response', { ...ASK, choice: 'once' }],
  delegated(300),
  ...childTurn(310),
  [420, 'subagent_stop', { child_session_id: 'C', child_status: 'completed' }],
  [430, 'pre_auxiliary_call', AUXILIARY],
  [440, 'post_auxiliary_call', AUXILIARY],
  ...answered(500),
]

function ofKind(plugin: TestPlugin, kind: string) {
  return plugin.spans().filter(span => span.attributes['hermes.span.kind'] === kind)
}

test('names spans in our own scheme', () => {
  expect(told(EVERY_KIND).tree({ status: false })).toBe(text`
    agent
      llm.qwen3
        api.qwen3
        tool.skill_view
        approval.rm_rf
        subagent.researcher
          agent
            llm.small
              api.small
      skill.deploy
      aux.title
  `)
})

test('names spans by the semantic conventions', () => {
  expect(told(EVERY_KIND, { span_names: 'semconv', agent_name: 'bot' }).tree({ status: false })).toBe(text`
    invoke_agent scout
      turn qwen3
        chat qwen3
        execute_tool skill_view
        approval rm_rf
        invoke_agent researcher
          invoke_agent bot
            turn small
              chat small
      skill deploy
      chat tiny
  `)
})

test.each<[string, Step[], string, string]>([
  [
    'a cron root',
    [[0, 'on_session_start', { session_id: 's1', trigger: 'CRON daily' }], ...answered(100).slice(1)],
    'cron',
    'invoke_agent bot',
  ],
  [
    'a failed request without a model',
    [[100, 'api_request_error', { ...TURN, error: { type: 'Timeout' } }]],
    'api.error',
    'chat',
  ],
  [
    'a delegation without a role',
    [...began(), delegated(100, { child_role: undefined }), [200, 'subagent_stop', { child_session_id: 'C' }]],
    'subagent',
    'invoke_agent',
  ],
  [
    'an approval without a pattern',
    [...began(), [100, 'pre_approval_request', TURN], [110, 'post_approval_response', TURN]],
    'approval',
    'approval',
  ],
])('names %s', (_what, steps, own, conventional) => {
  expect(told(steps, { agent_name: 'bot' }).spans()[0]?.name).toBe(own)
  expect(told(steps, { agent_name: 'bot', span_names: 'semconv' }).spans()[0]?.name).toBe(conventional)
})

test.each([
  ['session', 'AGENT', 'internal', 'invoke_agent'],
  ['llm', 'CHAIN', 'internal', undefined],
  ['api', 'LLM', 'client', 'chat'],
  ['tool', 'TOOL', 'internal', 'execute_tool'],
  ['subagent', 'AGENT', 'internal', 'invoke_agent'],
  ['approval', 'CHAIN', 'internal', undefined],
  ['skill', 'CHAIN', 'internal', undefined],
  ['auxiliary', 'LLM', 'client', 'chat'],
])('maps kind %s to OpenInference %s, OpenTelemetry %s, operation %s', (kind, inference, otel, operation) => {
  const spans = ofKind(told(EVERY_KIND), kind)
  expect(spans.length).toBeGreaterThan(0)
  for (const span of spans) {
    expect(span.attributes['openinference.span.kind']).toBe(inference)
    expect(span.kind).toBe(otel)
    expect(span.attributes['gen_ai.operation.name']).toBe(operation)
  }
})

test('marks every span with its agent and the session of its trace', () => {
  for (const span of told(EVERY_KIND).spans()) {
    const id = span.attributes['hermes.session.id']
    expect(['s1', 'C']).toContain(id)
    expect(span.attributes).toMatchObject({ 'session.id': 's1', 'gen_ai.conversation.id': id })
    expect(span.attributes['hermes.turn.id']).toBe(id === 's1' ? 't1' : 'ct1')
  }
})

test('creates every span in our scope, with a version', () => {
  for (const { scope } of told(EVERY_KIND).spans()) {
    expect(scope.name).toBe('hookspan')
    expect(scope.version).toMatch(/^\d+\.\d+\.\d+/)
  }
})

describe('conventions', () => {
  const OWN =
    /^(hermes\.|correlation\.id$|http\.duration_ms|llm\.response\.duration_ms|gen_ai\.(content\.completion|response\.(finish_reason|status_code))$)/
  const GEN_AI = /^gen_ai\.(?!content\.completion$|response\.finish_reason$|response\.status_code$)/
  const INFERENCE = /^(openinference\.|input\.|output\.|tool\.|llm\.(?!response\.duration_ms))/

  const attributeNames = (conventions: readonly ('own' | 'gen_ai' | 'openinference')[]): Set<string> => {
    const plugin = createTestPlugin({ conventions, content_capture: 'full', project_name: 'p' })
    feedSteps(plugin, EVERY_KIND)
    feed(
      plugin,
      recording('hermes-turn.jsonl').map(record => ({ ...record, at: (record.at ?? 0) + 10_000 })),
    )
    return new Set(plugin.spans().flatMap(span => Object.keys(span.attributes)))
  }

  const ALL = attributeNames(['own', 'gen_ai', 'openinference'])

  test('has all of them by default', () => {
    const plugin = told(EVERY_KIND)
    const names = new Set(plugin.spans().flatMap(span => Object.keys(span.attributes)))
    for (const pattern of [OWN, GEN_AI, INFERENCE]) expect([...names].some(name => pattern.test(name))).toBe(true)
  })

  test.each([
    ['own', ['gen_ai', 'openinference'], OWN],
    ['gen_ai', ['own', 'openinference'], GEN_AI],
    ['openinference', ['own', 'gen_ai'], INFERENCE],
  ] as const)('lacks exactly the names of %s without it', (_off, left, pattern) => {
    expect([...attributeNames(left)].sort()).toEqual([...ALL].filter(name => !pattern.test(name)).sort())
  })

  test('leaves the general names without any convention, and no empty name', () => {
    const names = [...attributeNames([])].sort()
    expect(names).not.toContain('')
    expect(names).toEqual([...ALL].filter(name => ![OWN, GEN_AI, INFERENCE].some(pattern => pattern.test(name))).sort())
    expect(names).toContain('session.id')
  })
})

test('puts its own names in the configured namespace, metrics too', async () => {
  const plugin = told(EVERY_KIND, { namespace: 'acme' })
  for (const span of plugin.spans()) {
    for (const name of Object.keys(span.attributes)) expect(name).not.toMatch(/^hermes\./)
    expect(span.attributes).toHaveProperty(['acme.span.kind'])
  }
  const metrics = new Set((await plugin.metrics()).map(sample => sample.name))
  expect(metrics).toContain('acme.sessions')
  expect([...metrics].some(name => name.startsWith('hermes.'))).toBe(false)
})

describe('status', () => {
  const STORY: readonly Step[] = [...EVERY_KIND.slice(0, 4), ...used(210, {}, { status: 'error' }), ...answered(500)]

  test('is OK where nothing went wrong', () => {
    expect(
      told(STORY)
        .spans()
        .map(span => span.status),
    ).toEqual(['ok', 'error', 'ok', 'ok'])
  })

  test.each([
    [{ failed: true, completed: true }, 'error', 'failed'],
    [{ failed: true, interrupted: true }, 'error', 'failed'],
    [{ completed: true, interrupted: true }, 'ok', 'interrupted'],
    [{ interrupted: true }, 'ok', 'interrupted'],
    [{ completed: false }, 'error', 'incomplete'],
    [{}, 'error', 'incomplete'],
    [{ completed: 'yes' }, 'error', 'incomplete'],
  ])('maps the end %o of a turn to %s, %s', (end, status, finalStatus) => {
    const plugin = told([...began(), [100, 'on_session_end', { ...TURN, ...end }]])
    expect(only(plugin, 'agent').status).toBe(status)
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe(finalStatus)
  })
})

describe('values', () => {
  test('cuts an id of any length to 200 characters, ellipsis included', () => {
    const plugin = told([[0, 'on_session_start', { session_id: 's'.repeat(900), model: 'm'.repeat(900) }]])
    plugin.on('on_session_end', { session_id: 's'.repeat(900), completed: true }, { at: START_AT + 10 })
    const root = attributes(plugin, 'agent')
    expect(root['session.id']).toBe(`${'s'.repeat(197)}...`)
    expect(String(root['gen_ai.request.model'])).toHaveLength(200)
  })

  test('omits invalid numbers', () => {
    const odd = {
      temperature: Number.NaN,
      top_p: Number.POSITIVE_INFINITY,
      top_k: 'ten',
      message_count: null,
      max_tokens: -1,
    }
    const span = attributes(told([...began(), ...asked(100, odd, { api_duration: Number.NaN })]), 'api.qwen3')
    for (const value of Object.values(span)) if (typeof value === 'number') expect(value).toBeGreaterThanOrEqual(0)
    for (const name of Object.keys(span)) expect(name).not.toMatch(/temperature|top_|message_count|max_tokens/)
  })

  test('puts the text of a model on one line in the name of its span', () => {
    const plugin = told([...began({ model: 'two\nlines' }), ...answered(100)])
    expect(all(plugin, 'llm.two lines')).toHaveLength(1)
  })
})

test('names a turn and a request by a model that only their ends report', () => {
  const model = 'm1'
  const plugin = told([
    [0, 'pre_llm_call', TURN],
    [10, 'pre_api_request', { ...TURN, api_request_id: 'r1' }],
    [20, 'post_api_request', { ...TURN, api_request_id: 'r1', model }],
    [30, 'post_llm_call', { ...TURN, model }],
    [40, 'on_session_end', { ...TURN, completed: true }],
  ])
  expect(plugin.tree({ status: false, attributes: ['gen_ai.request.model'] })).toBe(text`
    agent
      llm.m1
        api.m1 [gen_ai.request.model=m1]
  `)
})

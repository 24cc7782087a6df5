/** Chapter 3: every instrument, its labels and its values. */
import { describe, expect, test } from 'vitest'
import { METRIC } from '../../src/contract/semconv/metrics.ts'
import type { TestPlugin } from '../../src/testing.ts'
import { INSTRUMENTS } from '../../src/tracker/instrument-table.ts'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import { answered, asked, began, delegated, series, seriesText, TURN, used } from './scenes.ts'

const USAGE = {
  prompt_tokens: 100,
  output_tokens: 50,
  cache_read_tokens: 30,
  cache_write_tokens: 20,
  reasoning_tokens: 10,
}
const ASK = { ...TURN, pattern_key: 'rm_rf' }
const GUARD = { ...TURN, tool_call_id: 'c2', hook_name: 'no-rm', hook_phase: 'before_tool' }

/** A turn in which everything happens once, and a second one that fails. */
const STORY: readonly Step[] = [
  ...began({ agent_name: 'scout' }),
  ...asked(
    100,
    {},
    {
      usage: USAGE,
      cost: 0.25,
      api_duration: 0.1,
      response_model: 'qwen3-0711',
      first_chunk_at: (START_AT + 125) / 1000,
    },
  ),
  ...used(210, { tool_name: 'skill_view', args: { name: 'deploy' } }),
  ...used(300, { tool_call_id: 'c2' }, { status: 'error', error_type: 'tool_error', duration_ms: 40 }),
  [310, 'post_control_hook', { ...GUARD, hook_run_id: 'h1', verdict: 'block', duration_ms: 4 }],
  [312, 'post_control_hook', { ...GUARD, hook_run_id: 'h2', verdict: 'failed', failure: 'threw', duration_ms: 2.5 }],
  [360, 'pre_approval_request', ASK],
  [400, 'post_approval_response', { ...ASK, choice: 'once' }],
  delegated(410),
  [450, 'subagent_stop', { child_session_id: 'C', child_status: 'failed', duration_ms: 30 }],
  [460, 'pre_api_request', { ...TURN, api_request_id: 'r2', model: 'qwen3', provider: 'openai' }],
  [
    480,
    'api_request_error',
    {
      ...TURN,
      api_request_id: 'r2',
      error: { type: 'RateLimitError' },
      status_code: 429,
      retryable: true,
      api_duration: 0.02,
    },
  ],
  ...answered(490),
  [500, 'on_session_start', { session_id: 's2', trigger: 'cron' }],
  [600, 'on_session_end', { session_id: 's2', failed: true }],
  [610, 'on_coffee_break', {}],
]

const AI = 'gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=qwen3'

const EXPECTED: { readonly [Name in keyof typeof METRIC]?: readonly string[] } = {
  sessions: ['kind=cron final_status=failed → 1', 'kind=session final_status=completed → 1'],
  turnDuration: ['kind=cron final_status=failed → 0.1', 'kind=session final_status=completed → 0.5'],
  samplingTurns: ['reason=error early=false → 2'],
  toolCalls: ['tool_name=skill_view outcome=completed → 1', 'tool_name=terminal outcome=error → 1'],
  toolDuration: ['tool_name=skill_view outcome=completed → 50', 'tool_name=terminal outcome=error → 40'],
  tokensInput: ['model=qwen3 provider=openai part=own → 100'],
  tokensOutput: ['model=qwen3 provider=openai part=own → 50'],
  tokensCacheRead: ['model=qwen3 provider=openai part=own → 30'],
  tokensCacheWrite: ['model=qwen3 provider=openai part=own → 20'],
  tokensReasoning: ['model=qwen3 provider=openai part=own → 10'],
  cost: ['model=qwen3 provider=openai agent=scout → 0.25'],
  apiDuration: ['model=qwen3 provider=openai → 100'],
  apiErrorCount: ['error_type=RateLimitError status_class=4xx retryable=true → 1'],
  retryCount: ['model=qwen3 provider=openai → 1'],
  subagentCount: ['role=researcher status=error → 1'],
  subagentDuration: ['role=researcher → 30'],
  approvalCount: ['choice=once pattern_key=rm_rf → 1'],
  approvalDuration: ['choice=once pattern_key=rm_rf → 40'],
  hookRuns: [
    'hook_name=no-rm phase=before_tool verdict=block → 1',
    'hook_name=no-rm phase=before_tool verdict=failed failure=threw → 1',
  ],
  hookDuration: ['hook_name=no-rm phase=before_tool → 6.5'],
  skillInferred: ['skill_name=deploy source=skill_view → 1'],
  genAiTokenUsage: [
    `${AI} gen_ai.response.model=qwen3-0711 gen_ai.token.type=input → 100`,
    `${AI} gen_ai.response.model=qwen3-0711 gen_ai.token.type=output → 50`,
  ],
  genAiOperationDuration: [
    `${AI} gen_ai.response.model=qwen3 error.type=RateLimitError → 0.02`,
    `${AI} gen_ai.response.model=qwen3-0711 → 0.1`,
  ],
  genAiTimeToFirstChunk: [`${AI} gen_ai.response.model=qwen3-0711 → 0.025`],
  genAiExecuteToolDuration: [
    'gen_ai.tool.name=skill_view → 0.05',
    'gen_ai.tool.name=terminal error.type=tool_error → 0.04',
  ],
  genAiInvokeAgentDuration: ['error.type=failed → 0.1', 'gen_ai.agent.name=scout → 0.5'],
  spansIncomplete: [],
  spansOpen: ['→ 0'],
  turnsOpen: ['→ 0'],
}

function nameOf(key: keyof typeof METRIC): string {
  return METRIC[key].replace('{ns}', 'hermes')
}

test.each(Object.entries(EXPECTED))('records %s', async (key, expected) => {
  expect(await seriesText(told(STORY, { keep: true } as object), nameOf(key as keyof typeof METRIC))).toEqual(expected)
})

test('counts every record by its result', async () => {
  const told_ = await seriesText(told(STORY, { keep: true } as object), 'hookspan.hooks')
  expect(told_).toContain('hook=pre_tool_call result=ok → 2')
  expect(told_).toContain('hook=unknown result=ignored → 1')
  const sum = (await series(told(STORY, { keep: true } as object), 'hookspan.hooks')).reduce(
    (total, { value }) => total + value,
    0,
  )
  expect(sum).toBe(STORY.length)
})

test('records every instrument of the table, except for those of the delivery', () => {
  const told_ = [...Object.keys(EXPECTED), 'hooks', 'exportSpans', 'spoolBytes']
  expect(told_.sort()).toEqual(Object.keys(METRIC).sort())
})

test('gives every series the labels of its row', async () => {
  const rows = new Map(Object.entries(INSTRUMENTS).map(([key, row]) => [nameOf(key as keyof typeof METRIC), row]))
  for (const { name, labels } of await told(STORY, { keep: true } as object).metrics()) {
    for (const label of Object.keys(labels)) expect(rows.get(name)?.labels).toContain(label)
  }
})

test('has the kinds and units of the specification', () => {
  const seconds = [
    'turnDuration',
    'genAiOperationDuration',
    'genAiTimeToFirstChunk',
    'genAiExecuteToolDuration',
    'genAiInvokeAgentDuration',
  ]
  const millis = ['toolDuration', 'apiDuration', 'subagentDuration', 'approvalDuration', 'hookDuration']
  const histograms = Object.entries(INSTRUMENTS).filter(([, row]) => row.kind === 'histogram')
  expect(Object.fromEntries(histograms.map(([key, row]) => [key, row.unit]))).toEqual({
    ...Object.fromEntries(seconds.map(key => [key, 's'])),
    ...Object.fromEntries(millis.map(key => [key, 'ms'])),
    genAiTokenUsage: '{token}',
  })
})

test.each<[keyof typeof METRIC, number, number, number]>([
  ['genAiOperationDuration', 14, 0.01, 81.92],
  ['genAiTimeToFirstChunk', 14, 0.01, 81.92],
  ['genAiExecuteToolDuration', 14, 0.01, 81.92],
  ['turnDuration', 13, 0.1, 409.6],
  ['genAiInvokeAgentDuration', 13, 0.1, 409.6],
  ['genAiTokenUsage', 14, 1, 67_108_864],
  ['toolDuration', 15, 1, 60_000],
  ['apiDuration', 13, 10, 120_000],
  ['approvalDuration', 9, 100, 600_000],
  ['subagentDuration', 9, 1000, 1_800_000],
  ['hookDuration', 15, 0.1, 10_000],
])('gives %s %i buckets from %d to %d', (key, count, first, last) => {
  const { buckets } = INSTRUMENTS[key]
  expect([buckets?.length, buckets?.[0], buckets?.at(-1)]).toEqual([count, first, last])
})

describe('labels', () => {
  const call = (name: string, index: number): Step[] => used(100 + index, { tool_name: name, tool_call_id: name })

  test('replaces values beyond a hundred by "other", and keeps the first ones', async () => {
    const plugin = told(began())
    feedSteps(plugin, Array.from({ length: 130 }, (_, index) => call(`tool-${index}`, index)).flat())
    feedSteps(plugin, used(300, { tool_name: 'tool-0', tool_call_id: 'again' }))
    const calls = await series(plugin, 'hermes.tool.calls')
    expect(calls).toHaveLength(101)
    expect(calls.find(({ labels }) => labels['tool_name'] === 'other')?.value).toBe(30)
    expect(calls.find(({ labels }) => labels['tool_name'] === 'tool-0')?.value).toBe(2)
  })

  test.each<[unknown, string]>([
    [undefined, 'network'],
    [0, 'network'],
    [-1, 'network'],
    ['rubbish', 'network'],
    [101, '1xx'],
    [429, '4xx'],
    ['503', '5xx'],
    [600, 'other'],
  ])('maps the status %o to the class %s', async (status_code, statusClass) => {
    const plugin = told([
      ...began(),
      [100, 'api_request_error', { ...TURN, error: { type: 'E' }, status_code, retryable: false }],
    ])
    expect(await seriesText(plugin, 'hermes.api.error.count')).toEqual([
      `error_type=E status_class=${statusClass} retryable=false → 1`,
    ])
    expect(await series(plugin, 'hermes.retry.count')).toEqual([])
  })
})

describe('records without a span', () => {
  const count = async (plugin: TestPlugin, name: string) =>
    (await series(plugin, name)).reduce((sum, { value }) => sum + value, 0)

  test('counts an approval and a delegation that only ended', async () => {
    const plugin = told([
      ...began(),
      [100, 'post_approval_response', { ...ASK, choice: 'deny' }],
      [110, 'subagent_stop', { parent_session_id: 's1', child_session_id: 'X', child_status: 'completed' }],
    ])
    expect(await count(plugin, 'hermes.approval.count')).toBe(1)
    expect(await count(plugin, 'hermes.subagent.count')).toBe(1)
    expect(await series(plugin, 'hermes.approval.duration')).toEqual([])
    expect(await series(plugin, 'hermes.subagent.duration')).toEqual([])
  })

  test('measures a duration and no tokens for a request that succeeded without usage', async () => {
    const plugin = told([...began(), ...asked(100)])
    expect(await count(plugin, 'hermes.api.duration')).toBe(100)
    expect(await series(plugin, 'hermes.tokens.input')).toEqual([])
  })

  test('counts open spans and turns while they are open', async () => {
    const plugin = told([...began(), asked(100)[0] as Step])
    expect(await seriesText(plugin, 'hookspan.spans.open')).toEqual(['→ 3'])
    expect(await seriesText(plugin, 'hookspan.turns.open')).toEqual(['→ 1'])
    expect(plugin.stats()).toMatchObject({
      spansOpen: 3,
      turnsOpen: 1,
      hooks: { ok: 3, ignored: 0, duplicate: 0, error: 0 },
    })
  })
})

/** Trajectories, events, messages and tables of traces: by the rules of their formats, of every run there is. */
import { describe, expect, test } from 'vitest'
import { exportAtif } from '../../src/reading/export-atif.ts'
import { exportAtof } from '../../src/reading/export-atof.ts'
import { exportCsv } from '../../src/reading/export-csv.ts'
import { exportMessages } from '../../src/reading/export-messages.ts'
import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { RUNS } from '../conventions/runs.ts'
import { type Step, told } from '../support/feed.ts'
import { SAMPLED, sample } from '../support/sample.ts'
import { answered, asked, began, delegated, TURN, used } from '../traces/scenes.ts'
import { atifProblems } from './atif-rules.ts'

interface AtofLine {
  readonly uuid: string
  readonly parent_uuid: string | null
  readonly scope_category: 'start' | 'end'
  readonly timestamp: number
  readonly category: string
  readonly category_profile: Readonly<Record<string, unknown>> | null
  readonly data: unknown
  readonly metadata: Readonly<Record<string, unknown>>
}

type Json = Readonly<Record<string, unknown>>

function treesOf(plugin: TestPlugin): readonly TraceTree[] {
  return buildForest(plugin.spans())
}

function atof(trees: readonly TraceTree[]): AtofLine[] {
  return exportAtof(trees).map(line => JSON.parse(line) as AtofLine)
}

/** Id, parent and start of each span, as the events have them. */
function scopesOf(lines: readonly AtofLine[]): unknown {
  const spanIds = new Map(lines.map(({ uuid, metadata }) => [uuid, metadata['span_id']]))
  const scopes = lines.filter(({ scope_category }) => scope_category === 'start')
  return byId(
    scopes.map(({ metadata, parent_uuid, timestamp }) => [
      String(metadata['span_id']),
      parent_uuid === null ? undefined : spanIds.get(parent_uuid),
      Math.round(timestamp / 1000),
    ]),
  )
}

function spansOf(plugin: TestPlugin): unknown {
  const known = new Set(plugin.spans().map(({ spanId }) => spanId))
  return byId(
    plugin
      .spans()
      .map(({ spanId, parentSpanId, startAt }) => [
        spanId,
        parentSpanId !== undefined && known.has(parentSpanId) ? parentSpanId : undefined,
        Math.round(startAt),
      ]),
  )
}

function byId(rows: readonly (readonly unknown[])[]): readonly (readonly unknown[])[] {
  return [...rows].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
}

/** A call that was asked for by a request, and one step behind it a failed attempt that is answered in the end. */
const STORY: readonly Step[] = [
  ...began({ agent_name: 'scout' }),
  ...asked(
    30,
    {
      request_messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hello' },
      ],
    },
    {
      usage: { prompt_tokens: 100, output_tokens: 10, cached_tokens: 40 },
      cost: 0.5,
      response: {
        assistant_message: {
          content: 'I look.',
          tool_calls: [{ id: 'c1', function: { name: 'terminal', arguments: '{"command":"ls"}' } }],
        },
      },
    },
  ),
  ...used(140),
  delegated(150),
  [155, 'on_session_start', { session_id: 'C', model: 'small' }],
  [160, 'pre_llm_call', { session_id: 'C', turn_id: 'ct', model: 'small', user_message: 'look there' }],
  [165, 'pre_api_request', { session_id: 'C', turn_id: 'ct', api_request_id: 'cr', model: 'small' }],
  [
    170,
    'post_api_request',
    { session_id: 'C', turn_id: 'ct', api_request_id: 'cr', usage: { prompt_tokens: 5, output_tokens: 1 } },
  ],
  [175, 'post_llm_call', { session_id: 'C', turn_id: 'ct', assistant_response: 'nothing there' }],
  [180, 'on_session_end', { session_id: 'C', turn_id: 'ct', completed: true }],
  [185, 'subagent_stop', { child_session_id: 'C', child_status: 'completed' }],
  [200, 'pre_api_request', { ...TURN, api_request_id: 'r2', model: 'qwen3', provider: 'openai' }],
  [
    210,
    'api_request_error',
    { ...TURN, api_request_id: 'r2', error: { type: 'RateLimitError' }, retryable: true, retry_count: 0 },
  ],
  [220, 'pre_api_request', { ...TURN, api_request_id: 'r3', model: 'qwen3', provider: 'openai', retry_count: 1 }],
  [
    300,
    'post_api_request',
    {
      ...TURN,
      api_request_id: 'r3',
      model: 'qwen3',
      provider: 'openai',
      retry_count: 1,
      usage: { prompt_tokens: 120, output_tokens: 5 },
    },
  ],
  ...answered(310),
]

describe('ATIF', () => {
  test('writes a request as a step with its calls and results, and attaches a child to its call', () => {
    const [document, ...others] = exportAtif(treesOf(told(STORY, { content_capture: 'full' }))) as Json[]
    expect(others).toEqual([])
    expect(atifProblems(document!)).toEqual([])
    const steps = document!['steps'] as Json[]
    expect(steps.map(step => [step['source'], step['message']])).toEqual([
      ['system', 'Be brief.'],
      ['user', 'hello'],
      ['agent', 'I look.'],
      ['agent', 'hi there'],
      ['agent', ''],
    ])
    const [, , first, last, apart] = steps
    expect(first).toMatchObject({
      model_name: 'qwen3',
      tool_calls: [{ tool_call_id: 'c1', function_name: 'terminal', arguments: { command: 'ls' } }],
      observation: { results: [{ source_call_id: 'c1', content: 'done', extra: { status: 'ok' } }] },
      metrics: { prompt_tokens: 100, completion_tokens: 10, cached_tokens: 40, cost_usd: 0.5 },
    })
    expect(last).toMatchObject({ extra: { failed_attempts: [{ status: 'error', error_type: 'RateLimitError' }] } })
    expect(apart).toMatchObject({ observation: { results: [{ subagent_trajectory_ref: [{ session_id: 'C' }] }] } })
    expect(document!['final_metrics']).toMatchObject({ total_prompt_tokens: 220, total_cost_usd: 0.5, total_steps: 5 })
    const [child] = document!['subagent_trajectories'] as Json[]
    expect((child!['steps'] as Json[]).map(step => step['message'])).toEqual(['look there', 'nothing there'])
  })

  test('writes the turns of a session as one trajectory, with empty steps without content', () => {
    const again = STORY.slice(0, 4).map(
      ([at, hook, payload]) => [at + 1000, hook, { ...payload, turn_id: 't2' }] as Step,
    )
    const plugin = told([...STORY, ...again, ...answered(1400, { turn_id: 't2' })], { content_capture: 'off' })
    const documents = exportAtif(treesOf(plugin)) as Json[]
    expect(documents.map(({ session_id, steps }) => [session_id, (steps as Json[]).length])).toEqual([['s1', 6]])
    const messages = (documents[0]!['steps'] as Json[]).map(({ message }) => message)
    expect(new Set(messages)).toEqual(new Set(['']))
  })

  test('keeps arguments that are not an object as raw text', () => {
    const [document] = exportAtif(
      treesOf(told([...began(), ...asked(30), ...used(140, { args: '--all' }), ...answered(310)])),
    ) as Json[]
    expect((document!['steps'] as Json[])[1]).toMatchObject({ tool_calls: [{ arguments: { _raw: '--all' } }] })
  })
})

describe('ATOF', () => {
  const lines = atof(treesOf(told(STORY)))

  test('begins and ends each scope once, the end later, within its parent', () => {
    const starts = new Map(lines.filter(line => line.scope_category === 'start').map(line => [line.uuid, line]))
    const ends = new Map(lines.filter(line => line.scope_category === 'end').map(line => [line.uuid, line]))
    expect(starts.size + ends.size).toBe(lines.length)
    expect([...starts.keys()].sort()).toEqual([...ends.keys()].sort())
    for (const [uuid, { timestamp, parent_uuid }] of starts) {
      expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(ends.get(uuid)!.timestamp).toBeGreaterThan(timestamp)
      if (parent_uuid !== null) expect(starts.get(parent_uuid)!.timestamp).toBeLessThanOrEqual(timestamp)
    }
    expect(lines.map(({ timestamp }) => timestamp)).toEqual(
      lines.map(({ timestamp }) => timestamp).sort((a, b) => a - b),
    )
  })

  test('puts usage at the end of a request, and failures in the metadata', () => {
    const requests = lines.filter(({ category }) => category === 'llm')
    const used_ = requests.filter(({ category_profile }) => category_profile?.['annotated_response'] !== undefined)
    expect(new Set(used_.map(({ scope_category }) => scope_category))).toEqual(new Set(['end']))
    expect(requests.map(({ metadata }) => metadata['error_type']).filter(Boolean)).toEqual(['RateLimitError'])
    const [call] = lines.filter(({ category }) => category === 'tool')
    expect(call).toMatchObject({ category_profile: { tool_call_id: 'c1' }, data: { command: 'ls' } })
  })
})

test('exports each call with its result, and each child agent on a separate line, as messages', () => {
  const [parent, child] = [...exportMessages(treesOf(told(STORY, { content_capture: 'full' })))].map(
    line => (JSON.parse(line) as { messages: Json[] }).messages,
  )
  expect(parent).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'hello' },
    {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'terminal', arguments: '{"command":"ls"}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'done' },
    { role: 'assistant', content: 'hi there' },
  ])
  expect(child?.map(({ content }) => content)).toEqual(['look there', 'nothing there'])
})

test('writes a row for each span to a table, and no formula', () => {
  const name = '=HYPERLINK("http://evil.test","x")'
  const plugin = told([...began(), ...used(30, { tool_name: name }), ...answered(310)])
  const rows = [...exportCsv(treesOf(plugin))]
  expect(rows).toHaveLength(plugin.spans().length + 1)
  for (const row of rows) expect(row).not.toMatch(/(?:^|,)"?[=+\-@]/)
  expect(rows.join('\n')).not.toContain('hello')
})

test(`exports every recording, ${SAMPLED}`, () => {
  for (const { name, host, tell } of sample(RUNS, 40)) {
    const plugin = createTestPlugin({ host, content_capture: 'full' })
    tell(plugin)
    const trees = treesOf(plugin)
    expect(exportAtif(trees).flatMap(atifProblems), name).toEqual([])
    const lines = atof(trees)
    expect(new Set(lines.map(({ uuid }) => uuid)).size * 2, name).toBe(lines.length)
    expect(scopesOf(lines), name).toEqual(spansOf(plugin))
    expect([...exportCsv(trees)].length, name).toBe(plugin.spans().length + 1)
    for (const line of exportMessages(trees)) expect(JSON.parse(line), name).toHaveProperty('messages')
  }
})

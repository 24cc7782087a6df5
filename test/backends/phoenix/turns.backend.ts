import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PluginOptions } from '../../../src/index.ts'
import { createPluginIn } from '../../../src/plugin/create-plugin.ts'
import { START_MILLIS } from '../servers/phoenix.ts'
import { eventually } from '../support/eventually.ts'
import { DEMO_TURNS, demoTraces, type TraceTokens, totalsOnRoot, totalsSaid } from '../workload/demo-turns.ts'
import type { Fed } from '../workload/feed.ts'
import { AGENT_TURNS, feedAgents } from '../workload/several-agents.ts'
import type { PageSpan, StoredSpan } from './query.ts'
import { recordTurn, type TurnOptions } from './recorded-turn.ts'
import { Scene } from './scene.ts'

const ASKED = 'Größer als 300 kg? — 请检查 🔍 "a\\b" <tag> & {json: [1, 2]}'
const ANSWERED = 'Ja: 312 kg ✅\nзакончено'
const SPANS = 4
/** As long as a value may be when it is taken whole. */
const LONG = 'Öl😀x'.repeat(20_000)

/** One for all: a start takes fourteen seconds of a processor. No two projects have a session of the same id. */
let scene: Scene

beforeAll(async () => {
  scene = await Scene.start()
}, START_MILLIS)

afterAll(() => scene?.stop())

/** A turn in a project of its own. */
async function shown(project: string, config: PluginOptions, turn: Partial<TurnOptions> = {}): Promise<StoredSpan[]> {
  const backends = [{ type: 'phoenix', endpoint: scene.phoenix.url }] as const
  const home = join(scene.home, project)
  const recorded = await recordTurn({
    asked: ASKED,
    answered: ANSWERED,
    ...turn,
    home,
    config: { ...config, project_name: project, backends },
  })
  expect(recorded.warnings).toEqual([])
  expect(recorded.spans).toHaveLength(SPANS)
  await scene.settled(project, SPANS)
  return scene.query.spans(project)
}

function named(spans: readonly StoredSpan[], prefix: string): StoredSpan['attributes'] {
  const found = spans.filter(({ name }) => name.startsWith(prefix))
  expect(found).toHaveLength(1)
  return found[0]?.attributes ?? {}
}

async function onPage(project: string, name: string): Promise<PageSpan | undefined> {
  const [span] = await scene.query.pageSpans(project, `name == '${name}'`)
  return span
}

describe('content', () => {
  test('has question and answer on the turn, the loop, the request and the tool with full', async () => {
    const spans = await shown('full', { content_capture: 'full' })
    for (const prefix of ['agent', 'llm.', 'tool.']) {
      expect(String(named(spans, prefix)['output.value']), prefix).toBe(ANSWERED)
    }
    for (const prefix of ['agent', 'llm.']) expect(named(spans, prefix)['input.value'], prefix).toBe(ASKED)
    expect(JSON.parse(String(named(spans, 'tool.')['input.value']))).toEqual({ command: ASKED })
    const request = await onPage('full', 'api.gpt-4o')
    expect(request?.input?.value).toContain('请检查 🔍')
    expect(request?.output?.value).toContain('закончено')
    const { attributes } = await onlyNode('full', 'api.gpt-4o')
    const { llm } = JSON.parse(attributes) as { llm: Record<'input_messages' | 'output_messages', unknown> }
    expect(llm.input_messages).toEqual([{ message: { role: 'user', content: ASKED } }])
    expect(llm.output_messages).toMatchObject([{ message: { role: 'assistant', content: ANSWERED } }])
  })

  test('has one-line previews, and none on the request, with preview', async () => {
    const spans = await shown('preview', { content_capture: 'preview' })
    expect(named(spans, 'agent')['input.value']).toBe(ASKED)
    expect(named(spans, 'agent')['output.value']).toBe(ANSWERED.replace('\n', ' '))
    expect(Object.keys(named(spans, 'api.')).filter(name => name.startsWith('llm.input_messages'))).toEqual([])
    expect(named(spans, 'api.')['input.value']).toBeUndefined()
  })

  test('has no content anywhere with off', async () => {
    const spans = await shown('off', { content_capture: 'off' })
    const whole = JSON.stringify(spans)
    for (const part of ['300 kg', '请检查', '312 kg', 'закончено']) expect(whole).not.toContain(part)
    const inputs = spans.map(({ attributes }) => attributes['input.value'])
    expect(inputs.filter(value => value !== undefined)).toEqual([])
  })

  test('receives 100 000 characters to the last', async () => {
    const spans = await shown('long', { content_capture: 'full', content_max_chars: 200_000 }, { asked: LONG })
    expect(named(spans, 'agent')['input.value']).toBe(LONG)
    expect(named(spans, 'llm.')['input.value']).toBe(LONG)
  })
})

async function onlyNode(project: string, name: string): Promise<{ readonly attributes: string }> {
  const { id } = await scene.query.project(project)
  const { node } = await scene.query.graphql<{ node: { spans: { edges: { node: { attributes: string } }[] } } }>(
    `query Span($id: ID!, $filter: String) { node(id: $id) { ... on Project {
      spans(first: 2, filterCondition: $filter) { edges { node { attributes } } } } } }`,
    { id, filter: `name == '${name}'` },
  )
  const [edge, ...others] = node.spans.edges
  expect(others).toEqual([])
  return edge?.node ?? { attributes: '{}' }
}

test('counts a span once that is sent twice', async () => {
  const config = { deterministic_ids: true, content_capture: 'off' } as const
  const at = Date.now() - 60_000
  // Another try of this test must not find what this one has left.
  const project = `twice ${at}`
  await shown(project, config, { at })
  const once = await eventually(
    () => scene.query.project(project),
    ({ tokenCountTotal }) => tokenCountTotal > 0,
  )
  await shown(project, config, { at })
  // What comes after it has been filed after it.
  await shown('afterwards', config, { at: at + 1000 })
  const priced = await eventually(
    () => scene.query.project(project),
    ({ costSummary }) => costSummary.total.tokens !== null && costSummary.total.tokens > 0,
  )
  expect(priced).toMatchObject({ recordCount: SPANS, traceCount: 1, tokenCountTotal: 127 })
  expect(once).toMatchObject({ recordCount: SPANS, tokenCountTotal: 127 })
  expect(priced.costSummary.total.tokens).toBe(127)
})

/** The list of sessions shows the id of each. */
describe('the list of sessions', () => {
  const PROJECT = 'several-agents'

  beforeAll(async () => {
    const backends = [{ type: 'phoenix', endpoint: scene.phoenix.url }] as const
    await feedAgents(join(scene.home, PROJECT), { project_name: PROJECT, backends })
    await scene.settled(PROJECT, 2 * AGENT_TURNS.length)
  }, START_MILLIS)

  test('has a session for each', async () => {
    const sessions = await scene.query.sessions(PROJECT)
    const ids = [...new Set(AGENT_TURNS.map(({ session }) => session))]
    expect(sessions.map(({ sessionId }) => sessionId).toSorted()).toEqual(ids.toSorted())
  })
})

describe('the demo', () => {
  const PROJECT = 'demo'
  let fed: Fed
  let traces: readonly TraceTokens[]

  beforeAll(async () => {
    fed = await scene.feed(PROJECT, { scenarios: DEMO_TURNS })
    traces = demoTraces(fed)
  }, 600_000)

  test('has the tokens of all its requests in each trace of the demo', async () => {
    const shown = (await scene.query.traces(PROJECT)).map(trace => [trace.trace_id, trace.token_count_total])
    expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(traces.map(({ traceId, all }) => [traceId, all])))
  })

  test('has them on the roots of its page, which sum the spans below', async () => {
    const spans = await scene.query.pageSpans(PROJECT, 'parent_id is None')
    const shown = spans.map(span => [span.spanId, span.cumulativeTokenCountTotal])
    expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(traces.map(({ root, all }) => [root.spanId, all])))
  })

  test('has them all in the project', async () => {
    const { total } = fed.totals.overall.tokens
    const project = await eventually(
      () => scene.query.project(PROJECT),
      ({ tokenCountTotal }) => tokenCountTotal >= total,
    )
    expect(project.tokenCountTotal).toBe(total)
    expect(traces.reduce((sum, { all }) => sum + all, 0)).toBe(total)
  })

  test('has the parts on each root', async () => {
    const spans = new Map((await scene.query.spans(PROJECT)).map(span => [span.context.span_id, span]))
    for (const trace of traces)
      expect(totalsSaid(spans.get(trace.root.spanId)?.attributes ?? {})).toEqual(totalsOnRoot(trace))
  })
})

const METADATA_PROJECT = 'metadata'
const TURN_SPANS = 6

/** A turn of a user's, with a child agent. */
async function recordWithMetadata(): Promise<void> {
  const options: PluginOptions = {
    host: 'my-agent',
    project_name: METADATA_PROJECT,
    local_log: false,
    prometheus: false,
    backends: [{ type: 'phoenix', endpoint: scene.phoenix.url }],
  }
  const plugin = createPluginIn(options, { env: {}, home: join(scene.home, METADATA_PROJECT), isReplay: false })
  const [turn, child] = [
    { session_id: 's1', turn_id: 't1' },
    { session_id: 's2', turn_id: 't2' },
  ]
  plugin.emit('on_session_start', { ...turn, user_id: 'u-17', tags: ['beta'], attributes: { team: 'search' } })
  plugin.emit('pre_llm_call', {
    ...turn,
    user_message: 'Hi',
    tags: ['nightly'],
    metadata: { tenant: 'acme', seats: 3 },
  })
  plugin.emit('subagent_start', { parent_session_id: 's1', parent_turn_id: 't1', child_session_id: 's2' })
  plugin.emit('pre_llm_call', { ...child, user_message: 'Look' })
  plugin.emit('pre_tool_call', { ...child, tool_name: 'grep', tool_call_id: 'c1' })
  plugin.emit('post_tool_call', { ...child, tool_name: 'grep', tool_call_id: 'c1' })
  plugin.emit('on_session_end', { ...child, completed: true })
  plugin.emit('subagent_stop', { child_session_id: 's2', child_status: 'ok' })
  plugin.emit('on_session_end', { ...turn, completed: true })
  await plugin.shutdown()
}

test("has turn metadata where Phoenix looks for it, also on a child agent's spans", async () => {
  await recordWithMetadata()
  await scene.settled(METADATA_PROJECT, TURN_SPANS)
  const spans = await scene.query.spans(METADATA_PROJECT)
  expect(spans).toHaveLength(TURN_SPANS)
  for (const { name, attributes } of spans) {
    expect(attributes, name).toMatchObject({ 'user.id': 'u-17', 'tag.tags': ['beta', 'nightly'], team: 'search' })
  }
  const found = async (filter: string): Promise<number> =>
    (await scene.query.pageSpans(METADATA_PROJECT, filter)).length
  expect(await found("metadata['tenant'] == 'acme'")).toBe(TURN_SPANS)
  expect(await found("metadata['seats'] == 3")).toBe(TURN_SPANS)
  expect(await found("metadata['tenant'] == 'other'")).toBe(0)
  expect(await found("'nightly' in attributes['tag']['tags']")).toBe(TURN_SPANS)
  expect(await found("attributes['user']['id'] == 'u-17'")).toBe(TURN_SPANS)
  expect(await found("attributes['team'] == 'search'")).toBe(TURN_SPANS)
  const { id } = await scene.query.project(METADATA_PROJECT)
  const { node } = await scene.query.graphql<{ node: { sessions: { edges: { node: { userId: string | null } }[] } } }>(
    'query Users($id: ID!) { node(id: $id) { ... on Project { sessions(first: 5) { edges { node { userId } } } } } }',
    { id },
  )
  expect(node.sessions.edges.map(edge => edge.node.userId)).toEqual(['u-17'])
})

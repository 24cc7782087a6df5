import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PluginOptions } from '../../../src/index.ts'
import { START_MILLIS } from '../servers/phoenix.ts'
import { eventually } from '../support/eventually.ts'
import type { PageSpan, StoredSpan } from './query.ts'
import { recordTurn, type TurnOptions } from './recorded-turn.ts'
import { Scene } from './scene.ts'

const ASKED = 'Größer als 300 kg? — 请检查 🔍 "a\\b" <tag> & {json: [1, 2]}'
const ANSWERED = 'Ja: 312 kg ✅\nзакончено'
const SPANS = 4
/** As long as a value may be when it is taken whole. */
const LONG = 'Öl😀x'.repeat(20_000)

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

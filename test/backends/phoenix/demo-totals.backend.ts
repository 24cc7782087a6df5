import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { DEMO_TURNS, demoTraces, type TraceTokens, totalsOnRoot, totalsSaid } from '../workload/demo-turns.ts'
import type { Fed } from '../workload/feed.ts'
import { Scene } from './scene.ts'

const PROJECT = 'demo'

let scene: Scene
let fed: Fed
let traces: readonly TraceTokens[]

beforeAll(async () => {
  scene = await Scene.start()
  fed = await scene.feed(PROJECT, { scenarios: DEMO_TURNS })
  traces = demoTraces(fed)
}, 600_000)

afterAll(() => scene?.stop())

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

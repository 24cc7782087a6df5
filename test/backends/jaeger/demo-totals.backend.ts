import { afterAll, beforeAll, expect, test } from 'vitest'
import { DEMO_TURNS, demoTraces, type TraceTokens, totalsOnRoot, totalsSaid } from '../workload/demo-turns.ts'
import { Scene } from './scene.ts'

let scene: Scene
let traces: readonly TraceTokens[]

beforeAll(async () => {
  scene = await Scene.start()
  traces = demoTraces(await scene.feed({}, { scenarios: DEMO_TURNS }))
})

afterAll(() => scene?.stop())

test('has tags in each trace of the demo that add up to the tokens of all its requests', async () => {
  expect(traces.length).toBe(4)
  for (const { traceId, all } of traces) {
    const { spans } = await scene.query.pageTrace(traceId)
    const tags = spans.flatMap(span => span.tags)
    const sum = tags
      .filter(({ key }) => key === 'gen_ai.usage.input_tokens' || key === 'gen_ai.usage.output_tokens')
      .reduce((total, { value }) => total + Number(value), 0)
    expect(sum, traceId).toBe(all)
  }
})

test('has the parts on each root', async () => {
  for (const trace of traces) {
    const { spans } = await scene.query.pageTrace(trace.traceId)
    const root = spans.find(({ spanID }) => spanID === trace.root.spanId)
    const tags = Object.fromEntries((root?.tags ?? []).map(({ key, value }) => [key, value]))
    expect(totalsSaid(tags)).toEqual(totalsOnRoot(trace))
  }
})

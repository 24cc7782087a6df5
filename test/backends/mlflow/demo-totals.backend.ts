import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PluginOptions } from '../../../src/index.ts'
import { type Mlflow, type MlflowSpan, START_MILLIS, startMlflow } from '../servers/mlflow.ts'
import { DEMO_TURNS, demoTraces, type TraceTokens, totalsOnRoot, totalsSaid } from '../workload/demo-turns.ts'
import { feedWorkload } from '../workload/feed.ts'

type BackendOptions = NonNullable<PluginOptions['backends']>[number]

const scratch = mkdtempSync(join(tmpdir(), 'hookspan-mlflow-demo-'))
let server: Mlflow
let traces: readonly TraceTokens[]
let totals: Readonly<Record<string, number>>

beforeAll(async () => {
  server = await startMlflow()
  ;({ traces, totals } = await feed('demo'))
}, START_MILLIS)

afterAll(async () => {
  await server?.stop()
  rmSync(scratch, { recursive: true, force: true })
})

/** Feeds the demo's turns into an experiment; `totals` are MLflow's own, by its trace id. */
async function feed(name: string, more: PluginOptions = {}) {
  const experiment_id = await server.createExperiment(name)
  const backend = { type: 'mlflow', endpoint: server.url, experiment_id, timeout_ms: 120_000 } as BackendOptions
  const config = { ...more, span_batch_export_timeout_ms: 120_000, backends: [backend] }
  const fed = await feedWorkload({ home: join(scratch, name), scenarios: DEMO_TURNS, config })
  const shown = (await server.traces(experiment_id)).map(({ trace_id, trace_metadata }) => {
    const usage = JSON.parse(trace_metadata['mlflow.trace.tokenUsage'] ?? '{}') as { total_tokens?: number }
    return [trace_id, usage.total_tokens ?? 0]
  })
  return { traces: demoTraces(fed), totals: Object.fromEntries(shown) as Record<string, number> }
}

function attributesOf({ attributes }: MlflowSpan): Record<string, number> {
  const numbers = attributes.map(
    ({ key, value }) => [key, (value as { int_value?: number | string }).int_value] as const,
  )
  return Object.fromEntries(numbers.flatMap(([key, value]) => (value === undefined ? [] : [[key, Number(value)]])))
}

// What lies below a span with tokens it takes for a part of them, and a sub-agent lies below the request that called it.
test('totals a trace of the demo to all its requests except those of sub-agents', () => {
  expect(traces.some(({ subagents }) => subagents > 0)).toBe(true)
  const expected = traces.map(({ traceId, all, subagents }) => [`tr-${traceId}`, all - subagents])
  expect(totals).toEqual(Object.fromEntries(expected))
})

test('has the tokens of all requests on its spans, and the parts on its root', async () => {
  for (const trace of traces) {
    const spans = (await server.spans(`tr-${trace.traceId}`)).map(span => ({
      isRoot: !span.parent_span_id,
      numbers: attributesOf(span),
    }))
    const sum = (name: string): number => spans.reduce((total, { numbers }) => total + (numbers[name] ?? 0), 0)
    expect(sum('gen_ai.usage.input_tokens') + sum('gen_ai.usage.output_tokens')).toBe(trace.all)
    expect(totalsSaid(spans.find(({ isRoot }) => isRoot)?.numbers ?? {})).toEqual(totalsOnRoot(trace))
  }
})

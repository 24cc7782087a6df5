import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { traceLinks } from '../../../src/delivery/pipeline/index.ts'
import type { PluginOptions } from '../../../src/index.ts'
import { type Mlflow, type MlflowSpan, type MlflowTrace, START_MILLIS, startMlflow } from '../servers/mlflow.ts'
import { type Fed, type FedSpan, feedWorkload } from '../workload/feed.ts'

type BackendOptions = NonNullable<PluginOptions['backends']>[number]

/** It writes each request into a database before it answers. */
const PATIENCE = { span_batch_export_timeout_ms: 120_000, span_batch_max_export_batch_size: 64, timeout_ms: 120_000 }

const scratch = mkdtempSync(join(tmpdir(), 'hookspan-mlflow-home-'))
let server: Mlflow

beforeAll(async () => {
  server = await startMlflow()
}, START_MILLIS)

afterAll(async () => {
  await server?.stop()
  rmSync(scratch, { recursive: true, force: true })
})

async function feed(name: string, scenarios: readonly string[], more: object): Promise<Fed & { experiment: string }> {
  const experiment = await server.createExperiment(name)
  const { timeout_ms, ...batch } = PATIENCE
  const backend = { type: 'mlflow', endpoint: server.url, experiment_id: experiment, timeout_ms, ...more }
  const config = { content_capture: 'full', ...batch, backends: [backend as BackendOptions] } as const
  return { ...(await feedWorkload({ home: join(scratch, name), scenarios, config })), experiment }
}

function usageOf(trace: MlflowTrace): Record<string, number> {
  return JSON.parse(trace.trace_metadata['mlflow.trace.tokenUsage'] ?? '{}') as Record<string, number>
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function inputOf(span: FedSpan): number {
  return Number(span.attributes['gen_ai.usage.input_tokens'] ?? 0)
}

function ancestors(span: FedSpan, all: readonly FedSpan[]): FedSpan[] {
  const parent = all.find(({ spanId, traceId }) => spanId === span.parentSpanId && traceId === span.traceId)
  return parent ? [parent, ...ancestors(parent, all)] : []
}

function numberOf(span: MlflowSpan, key: string): number {
  const found = span.attributes.find(attribute => attribute.key === key)
  return Number((found?.value as { int_value?: number | string } | undefined)?.int_value ?? 0)
}

function hex(id: string | undefined): string {
  return Buffer.from(id ?? '', 'base64').toString('hex')
}

const WAYS = [
  ['protobuf', { protocol: 'http/protobuf', compression: 'gzip' }, ['opencode']],
  ['json', { protocol: 'http/json', compression: 'none' }, ['pi']],
] as const

describe.each(WAYS)('http/%s', (name, more, scenarios) => {
  let fed: Fed & { experiment: string }
  let traces: readonly MlflowTrace[]
  const spans = new Map<string, readonly MlflowSpan[]>()

  beforeAll(async () => {
    fed = await feed(name, scenarios, more)
    traces = await server.traces(fed.experiment)
    for (const { trace_id } of traces) spans.set(trace_id, await server.spans(trace_id))
  })

  test('has every trace once, under the ids that we made', () => {
    const sent = new Set(fed.spans.map(span => `tr-${span.traceId}`))
    expect(traces.map(trace => trace.trace_id).sort()).toEqual([...sent].sort())
  })

  test('has every span of a trace, with its parent, name and status', () => {
    for (const { trace_id } of traces) {
      const stored = (spans.get(trace_id) ?? []).map(({ span_id, parent_span_id, name, status }) =>
        [hex(span_id), hex(parent_span_id), name, status.code === 'STATUS_CODE_ERROR'].join(' '),
      )
      const sent = fed.spans
        .filter(span => `tr-${span.traceId}` === trace_id)
        .map(span => [span.spanId, span.parentSpanId ?? '', span.name, span.status.code === 'ERROR'].join(' '))
      expect(stored.sort(), trace_id).toEqual(sent.sort())
    }
  })

  test('has the tokens that were fed on its spans, to the token', () => {
    const { tokens } = fed.totals.overall
    const all = [...spans.values()].flat()
    const stored = (key: string): number => all.reduce((total, span) => total + numberOf(span, key), 0)
    expect(stored('gen_ai.usage.input_tokens')).toBe(tokens.input)
    expect(stored('gen_ai.usage.output_tokens')).toBe(tokens.output)
  })

  // What lies below a span with tokens it takes for a part of them: so are sub-agents, which a request has called.
  test('totals the tokens of each trace except those of sub-agents', () => {
    for (const trace of traces) {
      const own = fed.spans.filter(span => `tr-${span.traceId}` === trace.trace_id && inputOf(span) > 0)
      const counted = own.filter(span => !ancestors(span, fed.spans).some(above => inputOf(above) > 0))
      expect(usageOf(trace)['input_tokens'] ?? 0, trace.trace_id).toBe(sum(counted.map(inputOf)))
    }
  })

  test('groups the traces of a session, and shows question and answer', () => {
    const roots = fed.spans.filter(span => span.parentSpanId === undefined)
    for (const trace of traces) {
      const root = roots.find(span => `tr-${span.traceId}` === trace.trace_id)
      expect(trace.trace_metadata['mlflow.trace.session']).toBe(root?.attributes['session.id'])
    }
    const shown = traces.filter(trace => trace.request_preview && trace.response_preview)
    expect(shown.length).toBeGreaterThan(traces.length / 2)
  })

  test('finds a trace at the documented address', async () => {
    const settings = {
      type: 'mlflow',
      name: 'mlflow',
      headers: {},
      options: { experiment_id: fed.experiment },
    } as const
    const [span] = fed.spans
    const { readBack } = traceLinks({ ...settings, endpoint: server.url }, span?.traceId ?? '')
    expect((await fetch(readBack?.url ?? '')).status).toBe(200)
  })
})

describe('refuses', () => {
  const post = (path: string, headers: Record<string, string>) =>
    fetch(`${server.url}${path}`, { method: 'POST', headers, body: '{}' })

  test.each([
    ['a request that names no experiment', '/v1/traces', { 'content-type': 'application/json' }, 422],
    ['another content type', '/v1/traces', { 'content-type': 'text/plain', 'x-mlflow-experiment-id': '0' }, 400],
    ['metrics', '/v1/metrics', { 'content-type': 'application/json', 'x-mlflow-experiment-id': '0' }, 404],
    ['another path', '/otel/v1/traces', { 'content-type': 'application/json', 'x-mlflow-experiment-id': '0' }, 404],
  ])('rejects %s', async (_what, path, headers, status) => {
    expect((await post(path, headers)).status).toBe(status)
  })
})

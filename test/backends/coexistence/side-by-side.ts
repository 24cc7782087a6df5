import { describe, expect, test } from 'vitest'
import type { ReceivedSpan } from '../../support/otlp-spans.mjs'
import { freePorts } from '../support/free-port.ts'
import { type Seen, type Surroundings, spansAt } from './application.ts'
import type { Scene } from './scene.ts'

const TURN = ['api.qwen3', 'tool.fetch', 'llm.qwen3', 'agent']
const API = { 'otel-2': '1.9.1', 'otel-3': '1.10.0' }
const SERVER = 2

/** Two OpenTelemetries in one process, each with backends of its own. */
export function testSideBySide(scene: Scene): void {
  describe.each(['esm', 'cjs'] as const)('a host in %s', modules => {
    test.each(['host first', 'plugin first'] as const)('keeps its telemetry, and we keep ours: %s', async order => {
      const { line, folder, around } = scene
      const seen = await around.play(folder, { order, modules, isAuto: true })
      expectUntouched(seen, order)
      expect(seen.versions).toMatchObject({ hostApi: API[line], pluginApi: '1.9.1' })
      expectHostSpans(around)
      expectOurSpans(around, order === 'host first' ? TURN : [...TURN, ...TURN])
      expectApart(around)
    })
  })

  test('does not see requests of ours that are made again, nor that ours are scraped', async () => {
    const { folder, around } = scene
    for (const sink of around.ours) {
      sink.behaviour = { kind: 'status', status: 503, headers: { 'retry-after': '0' } }
      void sink.until(() => sink.requests.length > 1).then(() => (sink.behaviour = { kind: 'ok' }))
    }
    const [port = 0] = await freePorts(1)
    const prometheus = { host: '127.0.0.1', port }
    const seen = await around.play(folder, { isAuto: true, plugin: { force_flush_wait_ms: 30_000, prometheus } })
    expect(seen.lines).toEqual([])
    expect(seen.scraped).toContain('hermes_tokens_input_total{')
    expectHostSpans(around)
    for (const sink of around.ours) expect(new Set(sink.spanNames)).toEqual(new Set(TURN))
    expectApart(around)
  })
}

/** Nothing of what is global is ours, and nothing of ours kept the host from it. */
function expectUntouched(seen: Seen, order: string): void {
  expect(seen).toMatchObject({ hadRegistry: order === 'host first', isRegistryLeft: true, isActiveKept: true })
  expect(seen.registrations).toEqual({ trace: true, context: true, propagation: true, metrics: true })
  expect(seen).toMatchObject({ lines: [], told: [], isEnvironmentLeft: true })
}

/** All that the host did, and nothing else: what lies below its own requests shows that it would have seen it below ours. */
function expectHostSpans({ host, targetUrl }: Surroundings): void {
  const spans = spansAt(host)
  const of = (scope: string): ReceivedSpan[] => spans.filter(span => span.scope.endsWith(scope))
  const scopes = new Set(spans.map(({ scope }) => scope.replace('@opentelemetry/instrumentation-', '')))
  expect([...scopes].sort()).toEqual(['dns', 'host', 'http', 'net', 'undici'])
  expect(of('host').map(({ name }) => name)).toEqual(['host tool', 'host work', 'host after'])
  const [work, tool] = [named(spans, 'host work'), named(spans, 'host tool')]
  expect(work.parentSpanId).toBeUndefined()
  expect(tool.parentSpanId).toBe(work.spanId)
  const requests = spans.filter(({ name, kind }) => name === 'GET' && kind !== SERVER)
  expect(requests.map(({ attributes }) => attributes['url.full'])).toEqual([`${targetUrl}/http`, `${targetUrl}/fetch`])
  expect(requests.map(({ parentSpanId }) => parentSpanId)).toEqual([tool.spanId, tool.spanId])
  const served = spans.filter(({ kind }) => kind === SERVER)
  expect(served.map(({ attributes }) => attributes['url.path'])).toEqual(['/served'])
  const below = [...of('-net'), ...of('-dns')]
  const mayBeParents = new Set([tool, ...requests].map(({ spanId }) => spanId))
  expect(below.filter(({ parentSpanId }) => !mayBeParents.has(parentSpanId ?? ''))).toEqual([])
}

function expectOurSpans({ ours, startAt }: Surroundings, names: readonly string[]): void {
  for (const sink of ours) {
    const spans = spansAt(sink)
    expect(spans.map(({ name }) => name)).toEqual(names)
    expect(new Set(spans.map(({ scope, resource }) => `${scope} of ${resource['service.name']}`))).toEqual(
      new Set(['hookspan of agent']),
    )
    const [api, tool, llm, root] = spans.slice(-TURN.length) as [ReceivedSpan, ReceivedSpan, ReceivedSpan, ReceivedSpan]
    expect(root.parentSpanId).toBeUndefined()
    expect([llm.parentSpanId, api.parentSpanId, tool.parentSpanId]).toEqual([root.spanId, llm.spanId, api.spanId])
    expect(Number(root.startTimeUnixNano) / 1e6).toBeGreaterThanOrEqual(startAt)
    expect(sink.metricNames).toContain('hermes.tokens.input')
  }
}

/** No trace has spans of both, and none of our requests took part in a trace of the host. */
function expectApart({ host, ours, visits }: Surroundings): void {
  const hostTraces = new Set(spansAt(host).map(({ traceId }) => traceId))
  for (const sink of ours) {
    expect(spansAt(sink).filter(({ traceId }) => hostTraces.has(traceId))).toEqual([])
    expect(sink.requests.filter(({ headers }) => 'traceparent' in headers || 'baggage' in headers)).toEqual([])
  }
  for (const path of ['/http', '/fetch']) {
    expect(hostTraces).toContain(String(visits.get(path)?.headers['traceparent']).split('-')[1])
  }
  for (const path of ['/suppressed-http', '/suppressed-fetch']) {
    expect(visits.get(path)?.headers).toBeDefined()
    expect(visits.get(path)?.headers).not.toHaveProperty('traceparent')
  }
}

function named(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.find(span => span.name === name)
  if (found === undefined) throw new Error(`the host has lost ${name}`)
  return found
}

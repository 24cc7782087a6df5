import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fed } from '../workload/feed.ts'
import { treeSpan, treeText } from '../workload/tree-text.ts'
import { inMillis, SPAN_KINDS, storedTree } from './expected.ts'
import type { StoredSpan } from './query.ts'
import { Scene } from './scene.ts'

const PROJECT = 'read-back'
/** A start and all of the workload, on a busy machine. */
const LONG_MILLIS = 600_000

let scene: Scene
let fed: Fed
let stored: readonly StoredSpan[]

beforeAll(async () => {
  scene = await Scene.start()
  fed = await scene.feed(PROJECT, { config: { content_capture: 'full' } })
  stored = await scene.query.spans(PROJECT)
}, LONG_MILLIS)

afterAll(() => scene?.stop())

function isEqual(span: StoredSpan, name: string, value: unknown): boolean {
  return span.attributes[name] === value
}

describe('the whole workload, read back', () => {
  test('has each span and each trace once, in the configured project', async () => {
    const project = await scene.query.project(PROJECT)
    expect(project.recordCount).toBe(fed.spans.length)
    expect(project.traceCount).toBe(new Set(fed.spans.map(({ traceId }) => traceId)).size)
    const ids = stored.map(({ context }) => context.span_id)
    expect(new Set(ids).size).toBe(fed.spans.length)
    expect(ids).toHaveLength(fed.spans.length)
    expect((await scene.query.project('default')).recordCount).toBe(0)
  })

  test('has its parents, names, statuses and distinguishing attributes', () => {
    const options = { kinds: false }
    const expected = treeText(
      fed.spans.map(span => inMillis(treeSpan(span))),
      options,
    )
    expect(treeText(stored.map(storedTree).map(inMillis), options)).toBe(expected)
  })

  test('has its times and durations', () => {
    const byId = new Map(fed.spans.map(span => [span.spanId, span]))
    const nanos = stored.map(storedTree).flatMap(({ spanId, startUnixNano, endUnixNano }) => {
      const span = byId.get(spanId)
      if (span === undefined || endUnixNano === undefined) throw new Error(`${spanId} was not fed, or has no end`)
      return [startUnixNano - span.startUnixNano, endUnixNano - span.endUnixNano].map(Number)
    })
    // It keeps microseconds.
    expect(Math.max(...nanos.map(Math.abs))).toBeLessThanOrEqual(1000)
  })

  test('has the data of errors', () => {
    const said = (spans: Iterable<readonly [string, string | undefined]>): Map<string, string | undefined> =>
      new Map([...spans].filter(([, message]) => (message ?? '') !== ''))
    const expected = said(fed.spans.map(({ spanId, status }) => [spanId, status.message]))
    expect(expected.size).toBeGreaterThan(0)
    expect(said(stored.map(span => [span.context.span_id, span.status_message]))).toEqual(expected)
  })

  test('has the kinds that the page draws', () => {
    const kinds = new Map(stored.map(({ context, span_kind }) => [context.span_id, span_kind]))
    const expected = fed.spans.map(span => [span.spanId, SPAN_KINDS[String(span.attributes['hermes.span.kind'])]])
    expect(kinds).toEqual(new Map(expected as [string, string][]))
    expect(new Set(kinds.values())).toEqual(new Set(['AGENT', 'CHAIN', 'GUARDRAIL', 'LLM', 'TOOL']))
  })

  test('has every input that was fed, in any script', () => {
    const byId = new Map(stored.map(span => [span.context.span_id, span]))
    const wrong = fed.spans.filter(({ spanId, attributes }) => {
      const span = byId.get(spanId)
      return span === undefined || !isEqual(span, 'input.value', attributes['input.value'])
    })
    expect(wrong.map(({ name }) => name)).toEqual([])
    expect(fed.spans.filter(({ attributes }) => attributes['input.value'] !== undefined).length).toBeGreaterThan(1000)
  })

  test("has every output that was fed; without one, Phoenix shows the model's name", () => {
    const byId = new Map(fed.spans.map(span => [span.spanId, span]))
    const made: unknown[] = []
    for (const span of stored) {
      const output = byId.get(span.context.span_id)?.attributes['output.value']
      if (isEqual(span, 'output.value', output)) continue
      expect(output, span.name).toBeUndefined()
      made.push(Object.keys(JSON.parse(String(span.attributes['output.value'])) as object))
    }
    const keys = new Set(made.flat())
    expect([...keys].filter(key => !['id', 'model', 'finish_reasons'].includes(String(key)))).toEqual([])
  })

  test('finds errors by the filter of its page, with their data', async () => {
    const failed = fed.spans.filter(({ status }) => status.code === 'ERROR')
    const found = await scene.query.pageSpans(PROJECT, "status_code == 'ERROR'")
    expect(new Set(found.map(({ spanId }) => spanId))).toEqual(new Set(failed.map(({ spanId }) => spanId)))
    const told = new Map(stored.map(({ context, events }) => [context.span_id, events]))
    for (const { spanId, events } of failed) {
      const shown = told.get(spanId)?.map(({ name, attributes }) => [name, attributes['exception.message']])
      expect(shown).toEqual(events.map(({ name, attributes }) => [name, attributes['exception.message']]))
    }
    const exceptions = failed.flatMap(({ events }) => events).filter(({ name }) => name === 'exception')
    expect(exceptions.length).toBeGreaterThan(0)
  })

  test('finds the promised results by the searches of our page about it', async () => {
    const outcome = "attributes['hermes']['tool']['outcome'] == 'timeout'"
    const found = await scene.query.pageSpans(PROJECT, outcome)
    const expected = fed.spans.filter(({ attributes }) => attributes['hermes.tool.outcome'] === 'timeout')
    expect(expected.length).toBeGreaterThan(0)
    expect(new Set(found.map(({ spanId }) => spanId))).toEqual(new Set(expected.map(({ spanId }) => spanId)))
    const slow = await scene.query.pageSpans(PROJECT, "span_kind == 'LLM' and latency_ms > 1_500")
    const long = fed.spans.filter(
      ({ attributes, startUnixNano, endUnixNano }) =>
        attributes['openinference.span.kind'] === 'LLM' && endUnixNano - startUnixNano > 1_500_000_000n,
    )
    expect(slow).toHaveLength(long.length)
  })

  test('shows the fed latencies of turns on its page', async () => {
    const shown = new Map((await scene.query.pageSpans(PROJECT, 'parent_id is None')).map(span => [span.spanId, span]))
    const roots = fed.spans.filter(({ parentSpanId }) => parentSpanId === undefined)
    expect(shown.size).toBe(roots.length)
    for (const { spanId, startUnixNano, endUnixNano } of roots) {
      expect(shown.get(spanId)?.latencyMs).toBeCloseTo(Number(endUnixNano - startUnixNano) / 1e6, 2)
    }
  })

  // It has no place for them: the turns of a conversation are found by its session there.
  test('accepts links and does not keep them', async () => {
    const linked = fed.spans.find(({ links }) => links.length > 0)
    expect(linked).toBeDefined()
    const { __type } = await scene.query.graphql<{ __type: { fields: readonly { name: string }[] } }>(
      '{ __type(name: "Span") { fields { name } } }',
    )
    expect(__type.fields.map(({ name }) => name)).not.toContain('links')
    const path = `/v1/projects/${PROJECT}/spans/otlpv1?trace_id=${linked?.traceId}`
    const { data } = await scene.query.get<{ data: readonly { links?: readonly unknown[] | null }[] }>(path)
    expect(data.length).toBeGreaterThan(0)
    expect(data.flatMap(({ links }) => links ?? [])).toEqual([])
  })
})

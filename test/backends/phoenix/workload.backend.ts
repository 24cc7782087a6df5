import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { NO_TOKENS, sumOf, type Tokens } from '../workload/canonical-usage.ts'
import type { Fed } from '../workload/feed.ts'
import { treeSpan, treeText } from '../workload/tree-text.ts'
import {
  costOf,
  costsOf,
  inMillis,
  priceOf,
  rootsBySession,
  SPAN_KINDS,
  storedTree,
  tokensByTrace,
} from './expected.ts'
import type { ModelPrice, PageSpan, PhoenixProject, PhoenixSession, StoredSpan } from './query.ts'
import { Scene } from './scene.ts'

const PROJECT = 'workload'
/** A start and all of the workload, on a busy machine. It is fed once: Phoenix stores some twenty spans a second. */
const LONG_MILLIS = 600_000
/** Sums of some hundred fractions of a cent. */
const DIGITS = 9

let scene: Scene
let fed: Fed
let stored: readonly StoredSpan[]
let project: PhoenixProject
let requests: readonly PageSpan[]
let sessions: ReadonlyMap<string, PhoenixSession>
let prices: readonly ModelPrice[]

beforeAll(async () => {
  scene = await Scene.start()
  fed = await scene.feed(PROJECT, { config: { content_capture: 'full' } })
  stored = await scene.query.spans(PROJECT)
  const expected = pricedTokens()
  // It prices spans after it has filed them.
  project = await eventually(
    () => scene.query.project(PROJECT),
    ({ costSummary }) => (costSummary.total.tokens ?? 0) >= expected,
  )
  requests = await scene.query.pageSpans(PROJECT, "span_kind == 'LLM'")
  sessions = new Map((await scene.query.sessions(PROJECT)).map(session => [session.sessionId, session]))
  prices = await scene.query.prices()
}, LONG_MILLIS)

afterAll(() => scene?.stop())

function isEqual(span: StoredSpan, name: string, value: unknown): boolean {
  return span.attributes[name] === value
}

describe('the whole workload, read back', () => {
  test('has each span and each trace once, in the configured project', async () => {
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

function read(name: string, attributes: Fed['spans'][number]['attributes']): number {
  return Number(attributes[`llm.token_count.${name}`] ?? 0)
}

/** Where the parts say more than the whole, Phoenix goes by the parts; without a model it prices nothing. */
function pricedTokens(): number {
  const ofSide = (attributes: Fed['spans'][number]['attributes'], whole: string, parts: readonly string[]): number =>
    Math.max(
      read(whole, attributes),
      parts.reduce((sum, part) => sum + read(`${whole}_details.${part}`, attributes), 0),
    )
  return fed.spans
    .filter(({ attributes }) => attributes['llm.model_name'] !== undefined)
    .reduce((sum, { attributes }) => {
      const prompt = ofSide(attributes, 'prompt', ['cache_read', 'cache_write'])
      return sum + prompt + ofSide(attributes, 'completion', ['reasoning'])
    }, 0)
}

function tokensOf(usage: { readonly prompt: number; readonly completion: number; readonly total: number }): object {
  return { input: usage.prompt, output: usage.completion, total: usage.total }
}

function whole({ input, output, total }: Tokens): object {
  return { input, output, total }
}

test('computes the same cost of a request as Phoenix if the list has its price', () => {
  const theirs = new Map(requests.map(({ spanId, costSummary }) => [spanId, costSummary?.total.cost]))
  const priced = fed.spans.filter(({ attributes }) => attributes['hermes.cost.source'] === 'list')
  const models = new Set(priced.map(({ attributes }) => attributes['llm.model_name']))
  expect([...models].sort()).toEqual(expect.arrayContaining(['claude-sonnet-4-5', 'gemini-2.5-flash', 'gpt-4o']))
  for (const { spanId, attributes } of priced) {
    expect(attributes['llm.cost.total'], String(attributes['llm.model_name'])).toBeCloseTo(
      theirs.get(spanId) ?? -1,
      DIGITS,
    )
  }
})

describe('tokens, counted from the hook records alone', () => {
  test('equals those of the project', () => {
    const { tokenCountPrompt: prompt, tokenCountCompletion: completion, tokenCountTotal: total } = project
    expect(tokensOf({ prompt, completion, total })).toEqual(whole(fed.totals.overall.tokens))
  })

  test('equals those of every request on its page, and the cached ones', () => {
    const sum = (countOf: (span: PageSpan) => number | null): number =>
      requests.reduce((total, span) => total + (countOf(span) ?? 0), 0)
    const { input, output, total, cacheRead, cacheWrite } = fed.totals.overall.tokens
    expect({
      input: sum(span => span.tokenCountPrompt),
      output: sum(span => span.tokenCountCompletion),
      total: sum(span => span.tokenCountTotal),
      cacheRead: sum(span => span.tokenPromptDetails.cacheRead),
      cacheWrite: sum(span => span.tokenPromptDetails.cacheWrite),
    }).toEqual({ input, output, total, cacheRead, cacheWrite })
  })

  test('equals those of every trace', async () => {
    const shown = (await scene.query.traces(PROJECT)).map(
      ({ trace_id, token_count_prompt: prompt, token_count_completion: completion, token_count_total: total }) =>
        [trace_id, tokensOf({ prompt, completion, total })] as const,
    )
    const expected = [...tokensByTrace(fed)].map(([trace, tokens]) => [trace, whole(tokens)] as const)
    expect(new Map(shown)).toEqual(new Map(expected))
  })

  test('equals those of every session, and each token in one of them', () => {
    const byTrace = tokensByTrace(fed)
    const expected = [...rootsBySession(fed)].map(([session, roots]) => {
      const tokens = roots.map(({ traceId }) => byTrace.get(traceId) ?? NO_TOKENS)
      return [session, whole(tokens.reduce(sumOf, NO_TOKENS))] as const
    })
    const shown = [...sessions].map(([session, { tokenUsage }]) => [session, tokensOf(tokenUsage)] as const)
    expect(new Map(shown)).toEqual(new Map(expected))
    const all = [...sessions.values()].map(({ tokenUsage }) => tokenUsage)
    const sum = (field: 'prompt' | 'completion' | 'total'): number =>
      all.reduce((total, usage) => total + usage[field], 0)
    const summed = { prompt: sum('prompt'), completion: sum('completion'), total: sum('total') }
    expect(tokensOf(summed)).toEqual(whole(fed.totals.overall.tokens))
  })
})

describe('a session', () => {
  test('has the turns of a conversation, and each turn is in one of them', () => {
    const shown = [...sessions].map(([id, { numTraces }]) => [id, numTraces] as const)
    const expected = [...rootsBySession(fed)].map(([id, roots]) => [id, roots.length] as const)
    expect(new Map(shown)).toEqual(new Map(expected))
    expect(expected.some(([, turns]) => turns > 1)).toBe(true)
    const filed = [...sessions.values()].reduce((total, { numTraces }) => total + numTraces, 0)
    expect(filed).toBe(project.traceCount)
  })

  test('begins with the first prompt and ends with the last answer', () => {
    for (const [id, roots] of rootsBySession(fed)) {
      const asked = roots[0]?.attributes['input.value']
      const answered = roots.at(-1)?.attributes['output.value']
      const session = sessions.get(id)
      if (asked !== undefined) expect(session?.firstInput?.value, id).toBe(asked)
      if (answered !== undefined) expect(session?.lastOutput?.value, id).toBe(answered)
    }
  })
})

describe('the cost, by its own prices', () => {
  test('is counted once for each request', () => {
    const byId = new Map(requests.map(span => [span.spanId, span]))
    const known = fed.spans.flatMap(span => {
      const price = priceOf(prices, span.attributes['llm.model_name'])
      return price === undefined || read('total', span.attributes) === 0 ? [] : [{ span, cost: costOf(span, price) }]
    })
    expect(new Set(known.map(({ span }) => span.attributes['llm.model_name'])).size).toBeGreaterThanOrEqual(4)
    for (const { span, cost } of known) {
      const shown = costsOf(byId.get(span.spanId)?.costSummary ?? null)
      expect(shown.prompt, span.name).toBeCloseTo(cost.prompt, DIGITS)
      expect(shown.completion, span.name).toBeCloseTo(cost.completion, DIGITS)
    }
    const sum = known.reduce((total, { cost }) => total + cost.prompt + cost.completion, 0)
    expect(sum).toBeGreaterThan(0)
    expect(project.costSummary.total.cost).toBeCloseTo(sum, DIGITS)
    const ofSessions = [...sessions.values()].reduce(
      (total, session) => total + (session.costSummary.total.cost ?? 0),
      0,
    )
    expect(ofSessions).toBeCloseTo(sum, DIGITS)
  })

  test('covers all tokens of requests whose model is known by name', () => {
    expect(project.costSummary.total.tokens).toBe(pricedTokens())
  })

  test('is absent for a model without a price there', () => {
    const ids = new Set(
      fed.spans.filter(span => span.attributes['llm.model_name'] === 'qwen3-coder-30b').map(span => span.spanId),
    )
    expect(ids.size).toBeGreaterThan(0)
    const shown = requests.filter(({ spanId }) => ids.has(spanId))
    expect(shown.map(({ costSummary }) => costSummary?.total.cost ?? null).filter(cost => cost !== null)).toEqual([])
  })
})

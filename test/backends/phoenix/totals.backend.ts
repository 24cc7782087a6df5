import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { NO_TOKENS, sumOf, type Tokens } from '../workload/canonical-usage.ts'
import type { Fed } from '../workload/feed.ts'
import { costOf, costsOf, priceOf, rootsBySession, tokensByTrace } from './expected.ts'
import type { ModelPrice, PageSpan, PhoenixProject, PhoenixSession } from './query.ts'
import { Scene } from './scene.ts'

const PROJECT = 'totals'
/** A start and all of the workload, on a busy machine. */
const LONG_MILLIS = 600_000
/** Sums of some hundred fractions of a cent. */
const DIGITS = 9

let scene: Scene
let fed: Fed
let project: PhoenixProject
let requests: readonly PageSpan[]
let sessions: ReadonlyMap<string, PhoenixSession>
let prices: readonly ModelPrice[]

beforeAll(async () => {
  scene = await Scene.start()
  fed = await scene.feed(PROJECT)
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

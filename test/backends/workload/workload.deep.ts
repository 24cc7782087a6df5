import { beforeAll, expect, test } from 'vitest'
import { createTestPlugin, type MetricSample, type StoredSpan } from '../../../src/testing.ts'
import { total } from '../../support/trace-invariants.ts'
import { NO_TOKENS, sumOf, type Tokens } from './canonical-usage.ts'
import { workload } from './feed.ts'
import type { Sums } from './tally.ts'
import { type Totals, totalsOf } from './totals.ts'
import { tokensOfTurn } from './turn-tokens.ts'

const NOW = 1_795_400_000_000

let spans: readonly StoredSpan[]
let samples: readonly MetricSample[]
let totals: Totals

beforeAll(async () => {
  const records = await workload(undefined, NOW)
  totals = totalsOf(records)
  const plugin = createTestPlugin({ host: 'workload' })
  for (const { hook, payload, meta } of records) void plugin.emitUntyped(hook, payload, meta)
  await plugin.shutdown()
  spans = plugin.spans()
  samples = await plugin.metrics()
}, 60_000)

const KIND = 'hermes.span.kind'
const TURN_ID = 'hermes.turn.id'

const INFERENCE = {
  input: 'llm.token_count.prompt',
  output: 'llm.token_count.completion',
  total: 'llm.token_count.total',
  cacheRead: 'llm.token_count.prompt_details.cache_read',
  cacheWrite: 'llm.token_count.prompt_details.cache_write',
  reasoning: 'llm.token_count.completion_details.reasoning',
} as const

const GEN_AI = {
  input: 'gen_ai.usage.input_tokens',
  output: 'gen_ai.usage.output_tokens',
  cacheRead: 'gen_ai.usage.cache_read.input_tokens',
  cacheWrite: 'gen_ai.usage.cache_creation.input_tokens',
  reasoning: 'gen_ai.usage.reasoning.output_tokens',
} as const

const SUMMARY_TOKENS = {
  input: 'hermes.turn.tokens.input',
  output: 'hermes.turn.tokens.output',
  total: 'hermes.turn.tokens.total',
  cacheRead: 'hermes.turn.tokens.cache_read',
  cacheWrite: 'hermes.turn.tokens.cache_write',
  reasoning: 'hermes.turn.tokens.reasoning',
} as const

function numberIn({ attributes }: StoredSpan, name: string): number {
  return Number(attributes[name] ?? 0)
}

function tokensAs(names: Readonly<Partial<Record<keyof Tokens, string>>>): (span: StoredSpan) => Tokens {
  return span => {
    const read = Object.fromEntries(Object.entries(names).map(([field, name]) => [field, numberIn(span, name)]))
    return { ...NO_TOKENS, ...read }
  }
}

const inferenceTokens = tokensAs(INFERENCE)
const genAiTokens = (span: StoredSpan): Tokens => {
  const read = tokensAs(GEN_AI)(span)
  return { ...read, total: read.input + read.output }
}

/** Sums by what a backend groups by; a group without tokens is as good as none. */
function tokensBy(keyOf: (span: StoredSpan) => unknown, read: (span: StoredSpan) => Tokens): Map<unknown, Tokens> {
  const sums = new Map<unknown, Tokens>()
  for (const span of spans) {
    const tokens = read(span)
    if (tokens.total > 0) sums.set(keyOf(span), sumOf(sums.get(keyOf(span)) ?? NO_TOKENS, tokens))
  }
  return sums
}

function fedTokens<Key>(fed: ReadonlyMap<Key, { readonly tokens: Tokens }>): Map<unknown, Tokens> {
  return new Map([...fed].filter(([, { tokens }]) => tokens.total > 0).map(([key, { tokens }]) => [key, tokens]))
}

test('yields the fed tokens to a backend that sums all spans of a session', () => {
  const fed = fedTokens(totals.bySession)
  expect(fed.size).toBeGreaterThan(100)
  for (const read of [inferenceTokens, genAiTokens]) {
    expect(tokensBy(span => span.attributes['hermes.session.id'], read)).toEqual(fed)
  }
})

test('yields the tokens of each conversation to one that files a trace under the session of any of its spans', () => {
  const sessionsOf = new Map<string, Set<unknown>>()
  for (const { traceId, attributes } of spans) {
    sessionsOf.set(traceId, (sessionsOf.get(traceId) ?? new Set()).add(attributes['session.id']))
  }
  expect([...sessionsOf.values()].filter(({ size }) => size > 1)).toEqual([])
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined)
  for (const { attributes } of roots) expect(attributes['session.id']).toBe(attributes['hermes.session.id'])
})

test('yields them to a backend that sums all spans of the project, too', () => {
  for (const read of [inferenceTokens, genAiTokens]) {
    expect(spans.map(read).reduce(sumOf, NO_TOKENS)).toEqual(totals.overall.tokens)
  }
})

test('yields the costs to one that sums by model', () => {
  const modelOf = ({ attributes }: StoredSpan): string =>
    `${attributes['gen_ai.provider.name'] ?? 'unknown'} ${attributes['llm.model_name'] ?? 'unknown'}`
  const wellKnown = (key: string): string => key.replace(/^gemini /, 'gcp.gemini ')
  const fed = [...fedTokens(totals.byModel)].map(([key, tokens]) => [wellKnown(String(key)), tokens] as const)
  expect(tokensBy(modelOf, inferenceTokens)).toEqual(new Map(fed))
})

test('has tokens on model requests only', () => {
  const counted = spans.filter(span => genAiTokens(span).total > 0 || inferenceTokens(span).total > 0)
  expect(new Set(counted.map(span => span.attributes[KIND]))).toEqual(new Set(['api', 'auxiliary']))
  expect(new Set(counted.map(span => span.attributes['openinference.span.kind']))).toEqual(new Set(['LLM']))
})

const SPANS_OF = {
  session: 'turns',
  api: 'attempts',
  auxiliary: 'sideCalls',
  tool: 'toolCalls',
  approval: 'approvalsAsked',
  subagent: 'children',
} as const

test('has a span for each event in every session', () => {
  const drawn: Record<string, number> = {}
  for (const { attributes } of spans) {
    const field = SPANS_OF[attributes[KIND] as keyof typeof SPANS_OF]
    if (field === undefined) continue
    const key = `${attributes['hermes.session.id']} ${field}`
    drawn[key] = (drawn[key] ?? 0) + 1
  }
  const fed: Record<string, number> = {}
  for (const [session, sums] of totals.bySession) {
    for (const field of Object.values(SPANS_OF)) if (sums[field] > 0) fed[`${session} ${field}`] = sums[field]
  }
  expect(drawn).toEqual(fed)
})

const SUMMARY = {
  attempts: 'hermes.turn.api_call_count',
  failedAttempts: 'hermes.turn.api_error_count',
  retries: 'hermes.turn.retry_count',
  toolCalls: 'hermes.turn.tool_call_count',
  approvalsAsked: 'hermes.turn.approval_count',
  children: 'hermes.turn.subagent_count',
} as const

function summaryOf(read: (field: keyof typeof SUMMARY) => number, turnTokens: Tokens): object {
  const fields = Object.keys(SUMMARY) as (keyof typeof SUMMARY)[]
  return { ...Object.fromEntries(fields.map(field => [field, read(field)])), turnTokens }
}

function roots(): StoredSpan[] {
  return spans.filter(({ attributes }) => attributes[KIND] === 'session')
}

test("has the turn's sums on the root of every turn", () => {
  const drawn = roots().map(span => [
    span.attributes[TURN_ID],
    summaryOf(field => numberIn(span, SUMMARY[field]), tokensAs(SUMMARY_TOKENS)(span)),
  ])
  const fed = [...totals.byTurn].map(([turn, sums]) => [turn, summaryOf(field => sums[field], sums.turnTokens)])
  expect(roots()).toHaveLength(totals.overall.turns)
  expect(Object.fromEntries(drawn)).toEqual(Object.fromEntries(fed))
})

test('has the usage of its children and side calls there, separately, and the sum', () => {
  const turns = [...totals.childTokens.keys()]
  const drawn = roots()
    .filter(({ attributes }) => totals.childTokens.has(String(attributes[TURN_ID])))
    .map(span => [
      span.attributes[TURN_ID],
      ['tokens', 'subagent_tokens', 'auxiliary_tokens', 'all_tokens'].map(part =>
        numberIn(span, `hermes.turn.${part}.total`),
      ),
    ])
  const fed = turns.map(turn => {
    const { own, subagents, sideCalls } = tokensOfTurn(totals, turn)
    return [turn, [own.total, subagents, sideCalls, own.total + subagents + sideCalls]]
  })
  expect(Object.fromEntries(drawn)).toEqual(Object.fromEntries(fed))
})

function labelled(name: string, label: string): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { labels, value } of samples.filter(sample => sample.name === name)) {
    const word = labels[label] ?? ''
    sums[word] = (sums[word] ?? 0) + value
  }
  return sums
}

test('counts the fed values', () => {
  const { overall } = totals
  const { tokens } = overall
  const counters: Record<string, number> = {
    'hermes.sessions': overall.turns,
    'hermes.tokens.input': tokens.input,
    'hermes.tokens.output': tokens.output,
    'hermes.tokens.cache_read': tokens.cacheRead,
    'hermes.tokens.cache_write': tokens.cacheWrite,
    'hermes.tokens.reasoning': tokens.reasoning,
    'hermes.api.error.count': overall.failedAttempts + overall.failedSideCalls,
    'hermes.retry.count': overall.retries,
    'hermes.subagent.count': overall.childrenReturned,
    'hookspan.hooks': totals.records,
  }
  const counted = Object.keys(counters).map(name => [name, total(samples, name)])
  expect(Object.fromEntries(counted)).toEqual(counters)
  expect(labelled('hermes.tool.calls', 'outcome')).toEqual(overall.toolsByOutcome)
  expect(labelled('hermes.approval.count', 'choice')).toEqual(overall.approvalsByChoice)
  const { childrenReturned, childrenFailed: error } = overall
  expect(labelled('hermes.subagent.count', 'status')).toEqual({ ok: childrenReturned - error, error })
})

test('has unique span ids, every parent, and one root in every trace', () => {
  const byId = new Map(spans.map(span => [span.spanId, span]))
  expect(byId.size).toBe(spans.length)
  const rootsOf = new Map<string, number>()
  for (const span of spans) {
    const parent = span.parentSpanId === undefined ? undefined : byId.get(span.parentSpanId)
    if (parent === undefined) rootsOf.set(span.traceId, (rootsOf.get(span.traceId) ?? 0) + 1)
    expect(span.parentSpanId === undefined ? span.traceId : parent?.traceId).toBe(span.traceId)
  }
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(rootsOf.size)
  expect([...rootsOf].filter(([, count]) => count !== 1)).toEqual([])
})

test("has all data that the backends' tests read", () => {
  const { overall, byModel, bySession } = totals
  const some: (keyof Sums)[] = ['retries', 'failedSideCalls', 'approvalsAsked', 'children', 'childrenFailed']
  for (const field of some) expect(overall[field], field).toBeGreaterThan(10)
  for (const outcome of ['completed', 'error', 'blocked', 'cancelled', 'timeout']) {
    expect(overall.toolsByOutcome[outcome], outcome).toBeGreaterThan(5)
  }
  for (const choice of ['once', 'session', 'always', 'deny']) {
    expect(overall.approvalsByChoice[choice], choice).toBeGreaterThan(5)
  }
  for (const field of ['cacheRead', 'cacheWrite', 'reasoning'] as const)
    expect(overall.tokens[field]).toBeGreaterThan(0)
  for (const model of ['gpt-4o-mini', 'gpt-4o', 'claude-sonnet-4-5', 'claude-haiku-4-5', 'qwen3-coder-30b']) {
    expect(
      [...byModel.values()].some(each => each.model === model && each.tokens.total > 0),
      model,
    ).toBe(true)
  }
  expect([...bySession.keys()].filter(session => /^s\d+\.c\d+\.c\d+$/.test(session)).length).toBeGreaterThan(1)
  const statuses = new Set(roots().map(({ attributes }) => attributes['hermes.turn.final_status']))
  expect([...statuses].toSorted()).toEqual([
    'completed',
    'failed',
    'finalized',
    'incomplete',
    'interrupted',
    'timed_out',
  ])
})

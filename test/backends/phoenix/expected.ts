import type { Tokens } from '../workload/canonical-usage.ts'
import { canonicalUsage, NO_TOKENS, sumOf } from '../workload/canonical-usage.ts'
import type { Fed, FedSpan } from '../workload/feed.ts'
import type { TreeSpan } from '../workload/tree-text.ts'
import type { CostSummary, ModelPrice, StoredSpan } from './query.ts'

/** What the specification says for each of our kinds. */
export const SPAN_KINDS: Readonly<Record<string, string>> = {
  session: 'AGENT',
  subagent: 'AGENT',
  llm: 'CHAIN',
  approval: 'CHAIN',
  skill: 'CHAIN',
  api: 'LLM',
  auxiliary: 'LLM',
  tool: 'TOOL',
  // Those of the workload judge.
  hook: 'GUARDRAIL',
}

/** `2026-11-22T07:24:35.448001+00:00`: a Date would cut the microseconds. */
function nanosOf(iso: string): bigint {
  const [, seconds = '', fraction = ''] = /^([^.+Z]+)(?:\.(\d+))?/.exec(iso) ?? []
  return BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
}

const NANOS_PER_MILLI = 1_000_000n

/** Phoenix rounds to microseconds, and not always the same way: enough to put the brothers of a tree in another order. */
export function inMillis({ endUnixNano: _compared, ...span }: TreeSpan): TreeSpan {
  return { ...span, startUnixNano: ((span.startUnixNano + NANOS_PER_MILLI / 2n) / NANOS_PER_MILLI) * NANOS_PER_MILLI }
}

export function storedTree({ context, parent_id, status_code, start_time, end_time, ...span }: StoredSpan): TreeSpan {
  return {
    name: span.name,
    traceId: context.trace_id,
    spanId: context.span_id,
    parentSpanId: parent_id ?? undefined,
    status: status_code,
    startUnixNano: nanosOf(start_time),
    endUnixNano: nanosOf(end_time),
    // The kind is a field of its own there.
    attributes: { ...span.attributes, 'openinference.span.kind': span.span_kind },
  }
}

/** The roots of the traces by their own session, oldest first. */
export function rootsBySession({ spans }: Fed): Map<string, FedSpan[]> {
  const bySession = new Map<string, FedSpan[]>()
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined)
  for (const root of roots.toSorted((a, b) => Number(a.startUnixNano - b.startUnixNano))) {
    const session = String(root.attributes['session.id'])
    bySession.set(session, [...(bySession.get(session) ?? []), root])
  }
  return bySession
}

/** What the hook records of each trace come to. */
export function tokensByTrace(fed: Fed): Map<string, Tokens> {
  const byTrace = new Map<string, Tokens>()
  const add = (trace: string, tokens: Tokens): unknown =>
    byTrace.set(trace, sumOf(byTrace.get(trace) ?? NO_TOKENS, tokens))
  const counted = new Set<string>()
  for (const { traceId, attributes } of fed.spans) {
    const turn = attributes['hermes.turn.id']
    if (typeof turn !== 'string') add(traceId, tokensOutsideTurns(fed, attributes['hermes.session.id']))
    else if (!counted.has(turn)) add(traceId, fed.totals.byTurn.get(turn)?.tokens ?? NO_TOKENS)
    counted.add(String(turn))
  }
  return byTrace
}

/** Of a side call between two turns, which has a trace of its own. */
function tokensOutsideTurns({ records }: Fed, session: unknown): Tokens {
  return records
    .filter(({ hook, payload }) => hook === 'post_auxiliary_call' && payload['turn_id'] === undefined)
    .filter(({ payload }) => payload['session_id'] === session)
    .reduce((sum, { payload }) => sumOf(sum, canonicalUsage(payload['usage']) ?? NO_TOKENS), NO_TOKENS)
}

/** A span's tokens at the prices of a model: each part once, and what no part has at the price of the whole. */
export function costOf(span: FedSpan, price: ModelPrice): { readonly prompt: number; readonly completion: number } {
  const count = (name: string): number => Number(span.attributes[`llm.token_count.${name}`] ?? 0)
  const side = (kind: 'PROMPT' | 'COMPLETION', whole: string, parts: readonly string[]): number => {
    const prefix = kind === 'PROMPT' ? 'prompt' : 'completion'
    const rate = (type: string): number | undefined =>
      price.tokenPrices.find(each => each.kind === kind && each.tokenType === type)?.costPerToken
    const counted = parts.map(part => ({ part, tokens: count(`${prefix}_details.${part}`) }))
    const rest = Math.max(0, count(prefix) - counted.reduce((sum, { tokens }) => sum + tokens, 0))
    const basic = rate(whole) ?? 0
    return counted.reduce((sum, { part, tokens }) => sum + tokens * (rate(part) ?? basic), rest * basic)
  }
  return {
    prompt: side('PROMPT', 'input', ['cache_read', 'cache_write']),
    completion: side('COMPLETION', 'output', ['reasoning']),
  }
}

/** The price that Phoenix has for a model of that very name. */
export function priceOf(prices: readonly ModelPrice[], model: unknown): ModelPrice | undefined {
  return prices.find(({ name, provider }) => name === model && provider === null)
}

export function costsOf(summary: CostSummary | null): { readonly prompt: number; readonly completion: number } {
  return { prompt: summary?.prompt.cost ?? 0, completion: summary?.completion.cost ?? 0 }
}

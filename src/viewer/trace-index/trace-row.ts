import type { Tone } from '../../reading/segments.ts'
import { displayKind, namespaceOfTree, SpanAttributes } from '../../reading/span-attributes.ts'
import { approvalWaitMillis, isRequest } from '../../reading/span-facts.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'
import { buildTree, type TraceNode, type TraceTree } from '../../reading/trace-forest.ts'
import { mainRoot, summarize, type TraceSummary } from '../../reading/trace-summary.ts'

export interface TraceRow {
  readonly namespace: string
  readonly agent: string
  readonly model: string
  readonly turn: number | null
  readonly background: number
  readonly start_at: number
  readonly last_at: number
  readonly duration: number
  readonly outcome: string | null
  readonly tone: Tone | null
  readonly has_tokens: number
  readonly input: number
  readonly output: number
  readonly subagent: number
  readonly auxiliary: number
  readonly cached: number
  readonly nanodollars: number
  readonly paid: number
  readonly unpaid: number
  readonly spans: number
  readonly errors: number
  readonly running: number
  readonly requests: number
  readonly tools: number
  readonly waited: number
  /** The place of the span that has the prompt. */
  readonly root: number
}

const NANO = 1e9
/** Bits of `has_tokens`: an absent figure is unknown, not 0. */
export const HAS_INPUT = 1
export const HAS_OUTPUT = 2

/** Guards against hostile input. */
const MAX_TOKENS = 1e12
const MAX_DOLLARS = 1e6

/** A span may record any number, but sums must stay finite. */
export function boundedTokens(tokens: number): number {
  return bounded(tokens, MAX_TOKENS)
}

/** Sums of integers do not depend on their order, and can be subtracted again. */
export function nanodollars(dollars: number): number {
  return Math.round(bounded(dollars, MAX_DOLLARS) * NANO)
}

function bounded(figure: number, most: number): number {
  return Number.isNaN(figure) ? 0 : Math.min(most, Math.max(-most, figure))
}

export function dollars(nanos: number): number {
  return nanos / NANO
}

export interface PlacedSpan {
  readonly span: StoredSpan
  readonly place: number
  readonly names: readonly string[]
}

/** The row of a trace with at least one span, and its session id as in `summarize`. */
export function rowOfTrace(
  traceId: string,
  placed: ReadonlyMap<string, PlacedSpan>,
): { readonly row: TraceRow; readonly sessionId: string } {
  const spans = new Map(Array.from(placed, ([id, { span }]) => [id, span] as const))
  const tree = buildTree(traceId, spans)
  const summary = summarize(tree)
  const namespace = namespaceOfTree(tree)
  const root = mainRoot(tree)
  const row: TraceRow = {
    ...columnsOf(tree, summary),
    ...countsOf(spans.values(), namespace),
    namespace,
    root: (root && placed.get(askedIn(root, namespace).span.spanId)?.place) ?? 0,
  }
  return { row, sessionId: summary.sessionId }
}

/** The span with the prompt: the root if it has ended, until then its `llm` span, which starts with the prompt. */
function askedIn(root: TraceNode, namespace: string): TraceNode {
  if (root.span.running !== true) return root
  return root.children.find(({ span }) => displayKind(new SpanAttributes(span, namespace)) === 'llm') ?? root
}

function columnsOf(tree: TraceTree, summary: TraceSummary) {
  const { tokens, cost, outcome } = summary
  return {
    agent: summary.agent,
    model: summary.model,
    turn: summary.turnNumber ?? null,
    background: Number(summary.isBackground),
    start_at: tree.startAt,
    last_at: tree.lastAt,
    duration: summary.durationMillis,
    outcome: outcome?.text ?? null,
    tone: outcome?.tone ?? null,
    has_tokens: (tokens?.input === undefined ? 0 : HAS_INPUT) | (tokens?.output === undefined ? 0 : HAS_OUTPUT),
    input: boundedTokens(tokens?.input ?? 0),
    output: boundedTokens(tokens?.output ?? 0),
    subagent: boundedTokens(summary.subagentTokens),
    auxiliary: boundedTokens(summary.auxiliaryTokens),
    nanodollars: nanodollars(cost.dollars),
    paid: cost.paidCount,
    unpaid: cost.unknownCount,
    spans: summary.spanCount,
    errors: summary.errorCount,
    running: summary.runningCount,
  }
}

function countsOf(spans: Iterable<StoredSpan>, namespace: string) {
  const counts = { cached: 0, requests: 0, tools: 0 }
  const waits: StoredSpan[] = []
  for (const span of spans) {
    const attributes = new SpanAttributes(span, namespace)
    const kind = displayKind(attributes)
    if (isRequest(kind)) {
      counts.requests += 1
      counts.cached += cachedTokensOf(attributes)
    } else if (kind === 'tool') counts.tools += 1
    else if (kind === 'approval' && span.running !== true) waits.push(span)
  }
  return { ...counts, waited: approvalWaitMillis(waits, namespace) }
}

export function cachedTokensOf(attributes: SpanAttributes): number {
  const cached = attributes.number('gen_ai.usage.cache_read.input_tokens', 'llm.token_count.prompt_details.cache_read')
  return Math.max(0, boundedTokens(cached ?? 0))
}

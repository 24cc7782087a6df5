import { type SpanAttributes, walkSpans } from './span-attributes.ts'
import { cachedTokensOf, costOf, isRequest, tokensOf } from './span-facts.ts'
import type { TraceNode, TraceTree } from './trace-forest.ts'

export interface SubtreeSum {
  readonly spanCount: number
  readonly errorCount: number
  readonly runningCount: number
  /** Tokens of the requests in it, each counted once. A parent that repeats the usage of its children is not counted. */
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedTokens: number
  readonly cost: number
  readonly startAt: number
  readonly endAt: number
}

export function subtreeSums(tree: TraceTree): ReadonlyMap<TraceNode, SubtreeSum> {
  const sums = new Map<TraceNode, SubtreeSum>()
  const steps = [...walkSpans(tree)]
  for (const { node, attributes } of steps) sums.set(node, ownSum(attributes))
  // Reversed, so that each sum is complete before it is added to the parent's.
  for (const { node, parent } of steps.reverse()) {
    const [whole, part] = [parent && sums.get(parent.node), sums.get(node)]
    if (parent !== undefined && whole !== undefined && part !== undefined) sums.set(parent.node, addSums(whole, part))
  }
  return sums
}

function ownSum(attributes: SpanAttributes): SubtreeSum {
  const { span, kind } = attributes
  const tokens = isRequest(kind) ? tokensOf(attributes) : undefined
  return {
    spanCount: 1,
    errorCount: span.status === 'error' ? 1 : 0,
    runningCount: span.running === true ? 1 : 0,
    inputTokens: tokens?.input ?? 0,
    outputTokens: tokens?.output ?? 0,
    cachedTokens: (isRequest(kind) ? cachedTokensOf(attributes) : undefined) ?? 0,
    cost: (isRequest(kind) ? costOf(attributes) : undefined) ?? 0,
    startAt: span.startAt,
    endAt: Math.max(span.startAt, span.endAt),
  }
}

export function addSums(one: SubtreeSum, other: SubtreeSum): SubtreeSum {
  return {
    spanCount: one.spanCount + other.spanCount,
    errorCount: one.errorCount + other.errorCount,
    runningCount: one.runningCount + other.runningCount,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    cost: one.cost + other.cost,
    startAt: Math.min(one.startAt, other.startAt),
    endAt: Math.max(one.endAt, other.endAt),
  }
}

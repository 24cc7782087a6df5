import { type SpanAttributes, walkSpans } from './span-attributes.ts'
import { cachedTokensOf, costOf, isRequest, tokensOf } from './span-facts.ts'
import { rangeOf, type TimeRange } from './time-ranges.ts'
import type { TraceNode, TraceTree } from './trace-forest.ts'

type SpanCount = 'spanCount' | 'errorCount' | 'runningCount'
type UsageCount = 'inputTokens' | 'outputTokens' | 'cachedTokens' | 'cost'

/** Tokens and cost are those of the requests, each counted once. A parent that repeats the usage of its children is not counted. */
export type SubtreeSum = TimeRange & Readonly<Record<SpanCount | UsageCount, number>>

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
  const sum = { ...one, ...rangeOf([one, other]) }
  for (const name of ['spanCount', 'errorCount', 'runningCount'] as const) sum[name] += other[name]
  for (const name of ['inputTokens', 'outputTokens', 'cachedTokens', 'cost'] as const) sum[name] += other[name]
  return sum
}

import { runsOf } from './group-by.ts'
import { SpanAttributes, walkSpans } from './span-attributes.ts'
import { cachedTokensOf, costOf, factsOf, isRequest, tokensOf } from './span-facts.ts'
import { rangeOf, type TimeRange } from './time-ranges.ts'
import type { TraceNode, TraceTree } from './trace-forest.ts'

/** Shorter runs are as quick to read one by one. */
const MIN_FOLDED = 5

export interface FoldedCalls {
  readonly calls: readonly TraceNode[]
  readonly name: string
  readonly outcome: string
  readonly sum: SubtreeSum
  readonly totalMillis: number
  readonly longestMillis: number
}

type FoldOptions = Readonly<{ namespace: string; sums: ReadonlyMap<TraceNode, SubtreeSum> }>

export function isFolded(row: TraceNode | FoldedCalls): row is FoldedCalls {
  return 'calls' in row
}

/**
 * Folds siblings into rows: five or more consecutive calls of one tool with the same outcome become one. Calls that failed,
 * contain a failure or are running are never folded.
 */
export function foldRepeats(siblings: readonly TraceNode[], options: FoldOptions): (TraceNode | FoldedCalls)[] {
  if (siblings.length < MIN_FOLDED) return [...siblings]
  const runs = runsOf(siblings, node => keyOf(node, options))
  return runs.flatMap((run): (TraceNode | FoldedCalls)[] => (run.length < MIN_FOLDED ? run : [folded(run, options)]))
}

function keyOf(node: TraceNode, { namespace, sums }: FoldOptions): string | undefined {
  const sum = sums.get(node)
  if (sum === undefined || sum.errorCount > 0 || sum.runningCount > 0) return undefined
  if (node.orphan || new SpanAttributes(node.span, namespace).kind !== 'tool') return undefined
  const { name, outcome, marks } = factsOf(node, namespace)
  // A mark applies to this call alone and must stay visible.
  return marks.length > 0 ? undefined : JSON.stringify([name, outcome?.text ?? ''])
}

function folded(calls: readonly TraceNode[], { namespace, sums }: FoldOptions): FoldedCalls {
  const [first] = calls as readonly [TraceNode, ...TraceNode[]]
  const { name, outcome } = factsOf(first, namespace)
  const lengths = calls.map(({ span }) => Math.max(0, span.endAt - span.startAt))
  const own = calls.map(call => sums.get(call)).filter(sum => sum !== undefined)
  return {
    calls,
    name,
    outcome: outcome?.text ?? '',
    sum: own.reduce(addSums),
    totalMillis: lengths.reduce((sum, millis) => sum + millis, 0),
    longestMillis: lengths.reduce((most, millis) => Math.max(most, millis), 0),
  }
}

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

function addSums(one: SubtreeSum, other: SubtreeSum): SubtreeSum {
  const sum = { ...one, ...rangeOf([one, other]) }
  for (const name of ['spanCount', 'errorCount', 'runningCount'] as const) sum[name] += other[name]
  for (const name of ['inputTokens', 'outputTokens', 'cachedTokens', 'cost'] as const) sum[name] += other[name]
  return sum
}

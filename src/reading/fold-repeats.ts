import { runsOf } from './group-by.ts'
import { SpanAttributes } from './span-attributes.ts'
import { factsOf } from './span-facts.ts'
import { addSums, type SubtreeSum } from './subtree-sums.ts'
import type { TraceNode } from './trace-forest.ts'

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

export interface FoldOptions {
  readonly namespace: string
  readonly sums: ReadonlyMap<TraceNode, SubtreeSum>
  readonly pointedAt?: ReadonlySet<TraceNode>
}

export function isFolded(row: TraceNode | FoldedCalls): row is FoldedCalls {
  return 'calls' in row
}

/**
 * Folds siblings into rows: five or more consecutive calls of one tool with the same outcome become one. Calls that failed,
 * contain a failure, are running or are pointed at are never folded.
 */
export function foldRepeats(siblings: readonly TraceNode[], options: FoldOptions): (TraceNode | FoldedCalls)[] {
  if (siblings.length < MIN_FOLDED) return [...siblings]
  const runs = runsOf(siblings, node => keyOf(node, options))
  return runs.flatMap((run): (TraceNode | FoldedCalls)[] => (run.length < MIN_FOLDED ? run : [folded(run, options)]))
}

function keyOf(node: TraceNode, { namespace, sums, pointedAt }: FoldOptions): string | undefined {
  const sum = sums.get(node)
  if (sum === undefined || sum.errorCount > 0 || sum.runningCount > 0 || pointedAt?.has(node)) return undefined
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

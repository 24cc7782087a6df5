import { drawnKind, SpanAttributes } from './span-attributes.ts'
import { factsOf } from './span-facts.ts'
import { added, type SubtreeSum } from './subtree-sums.ts'
import type { SpanNode } from './trace-forest.ts'

/** Fewer are read one by one as fast as their sum. */
const LEAST_FOLDED = 5

/** Calls of one tool behind one another that all went the same way, as one row. */
export interface FoldedCalls {
  /** By start; five or more. */
  readonly calls: readonly SpanNode[]
  /** `tool.read_file`, printable. */
  readonly name: string
  /** The word that they all ended with, printable; empty where none of them says one. */
  readonly outcome: string
  /** Of all of them, with what is below. */
  readonly sum: SubtreeSum
  /** Their lengths added up, and that of the longest, milliseconds. */
  readonly totalMillis: number
  readonly longestMillis: number
}

export interface FoldOptions {
  /** Of our attributes: `namespaceOfTree`. */
  readonly namespace: string
  /** Of the tree that they are in. */
  readonly sums: ReadonlyMap<SpanNode, SubtreeSum>
  /** Spans that a link, a search or the cursor points at, and those above them: they stand by themselves. */
  readonly pointedAt?: ReadonlySet<SpanNode>
}

export function isFolded(row: SpanNode | FoldedCalls): row is FoldedCalls {
  return 'calls' in row
}

/**
 * The rows of siblings: five or more calls of one tool that follow one another and ended alike become one. What has failed, or
 * holds what has, is running, or is pointed at is never in it.
 */
export function foldRepeats(siblings: readonly SpanNode[], options: FoldOptions): (SpanNode | FoldedCalls)[] {
  const rows: (SpanNode | FoldedCalls)[] = []
  let run: SpanNode[] = []
  let runKey: string | undefined
  const endRun = (): void => {
    if (run.length >= LEAST_FOLDED) rows.push(folded(run, options))
    else rows.push(...run)
    run = []
  }
  for (const node of siblings) {
    const key = keyOf(node, options)
    if (key === undefined || key !== runKey) endRun()
    runKey = key
    if (key === undefined) rows.push(node)
    else run.push(node)
  }
  endRun()
  return rows
}

/** Equal for those that may be one row; undefined for what stands by itself. */
function keyOf(node: SpanNode, { namespace, sums, pointedAt }: FoldOptions): string | undefined {
  const sum = sums.get(node)
  if (sum === undefined || sum.errorCount > 0 || sum.runningCount > 0 || pointedAt?.has(node)) return undefined
  if (node.orphan || drawnKind(new SpanAttributes(node.span, namespace)) !== 'tool') return undefined
  const { name, outcome, marks } = factsOf(node, namespace)
  // A mark is what the reader must know of this one.
  return marks.length > 0 ? undefined : JSON.stringify([name, outcome?.text ?? ''])
}

function folded(calls: readonly SpanNode[], { namespace, sums }: FoldOptions): FoldedCalls {
  const [first] = calls as readonly [SpanNode, ...SpanNode[]]
  const { name, outcome } = factsOf(first, namespace)
  const lengths = calls.map(({ span }) => Math.max(0, span.endAt - span.startAt))
  const own = calls.map(call => sums.get(call)).filter(sum => sum !== undefined)
  return {
    calls,
    name,
    outcome: outcome?.text ?? '',
    sum: own.reduce(added),
    totalMillis: lengths.reduce((sum, millis) => sum + millis, 0),
    longestMillis: lengths.reduce((most, millis) => Math.max(most, millis), 0),
  }
}

import { dropUndefined } from '../../reading/attribute-value.ts'
import { criticalPath } from '../../reading/critical-path.ts'
import { foldRepeats, isFolded, subtreeSums } from '../../reading/fold-repeats.ts'
import { namespaceOfTree } from '../../reading/span-attributes.ts'
import { isApprovalWait, type SpanFacts } from '../../reading/span-facts.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'
import { asOf, buildTree, putSpan, type TraceNode, type TraceTree } from '../../reading/trace-forest.ts'
import { type TreeRow, treeRows } from '../../reading/tree-rows.ts'
import type { ChildTraces, TurnRow } from '../trace-index/answers.ts'
import type { RowSum, SpanFields, SpanRow, SpanState, TraceView } from './api.ts'

export function treeOf(spans: readonly StoredSpan[]): TraceTree {
  const byId = new Map<string, StoredSpan>()
  for (const span of spans) putSpan(byId, span)
  const isRunning = spans.some(({ running }) => running === true)
  return buildTree(spans[0]?.traceId ?? '', byId, isRunning)
}

export function traceView(tree: TraceTree, turn: TurnRow, now: number, children: ChildTraces): TraceView {
  const rows = treeRows(tree)
  const indexes = new Map(rows.map(({ step }, index) => [step.node.span.spanId, index]))
  const indexOf = ({ spanId }: StoredSpan): number => indexes.get(spanId) ?? 0
  const namespace = namespaceOfTree(tree)
  const sums = subtreeSums(tree)
  // Counts as open until the next check of the owner process.
  const openState = turn.state === 'owner-dead' ? turn.state : 'open'
  // If the owner is dead, the path ends at the last known activity.
  const path = criticalPath(asOf(tree, openState === 'owner-dead' ? tree.lastAt : now))
  const families = [tree.roots, ...rows.map(({ step }) => step.node.children)]
  const folds = families.flatMap(siblings => foldRepeats(siblings, { namespace, sums }).filter(isFolded))
  const cutCount = turn.spanCount - rows.length
  return {
    turn,
    now,
    startAt: tree.startAt,
    rows: rows.map(spanRow),
    ...(cutCount > 0 && { cutCount }),
    path: path.map(({ span, ...section }) => ({ row: indexOf(span), ...section })),
    folds: folds.map(({ calls, totalMillis }) => ({ rows: calls.map(({ span }) => indexOf(span)), totalMillis })),
  }

  function spanRow({ step: { node, parent, depth }, facts }: TreeRow): SpanRow {
    const { hint, marks, cachedTokens: cached } = facts
    return {
      ...spanFields(node, facts, openState),
      ...dropUndefined({ cached, sum: sumOf(node), childTraces: children.get(node.span.spanId) }),
      parent: parent === undefined ? -1 : indexOf(parent.node.span),
      depth,
      ...(hint !== '' && { hint }),
      ...(marks.length > 0 && { marks }),
      ...(isApprovalWait(node.span, namespace) && { isPersonWait: true as const }),
    }
  }

  function sumOf(node: TraceNode): RowSum | undefined {
    const sum = node.children.length === 0 ? undefined : sums.get(node)
    if (sum === undefined) return undefined
    const { inputTokens: input, outputTokens: output, cachedTokens: cached, cost, errorCount } = sum
    return { input, output, cached, cost, errorCount }
  }
}

export function spanFields({ span }: TraceNode, facts: SpanFacts, openState: SpanState): SpanFields {
  const { kind, name, attempt, tokens, cost, outcome, isError } = facts
  const isOpen = span.running === true
  return {
    id: span.spanId,
    kind,
    name,
    startAt: span.startAt,
    endAt: span.endAt,
    state: isOpen ? openState : ('ended' as const),
    ...dropUndefined({ input: tokens?.input, output: tokens?.output, cost, outcome: isOpen ? undefined : outcome }),
    ...(attempt !== '' && { attempt }),
    ...(isError && { isError: true as const }),
  }
}

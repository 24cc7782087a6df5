import { dropUndefined } from '../../reading/attribute-value.ts'
import { criticalPath } from '../../reading/critical-path.ts'
import { foldRepeats, isFolded } from '../../reading/fold-repeats.ts'
import { groupBy } from '../../reading/group-by.ts'
import { namespaceOfTree } from '../../reading/span-attributes.ts'
import { isApprovalWait, type SpanFacts } from '../../reading/span-facts.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'
import { subtreeSums } from '../../reading/subtree-sums.ts'
import { asOf, buildTree, putSpan, type TraceNode, type TraceTree } from '../../reading/trace-forest.ts'
import { type TreeRow, treeRows } from '../../reading/tree-rows.ts'
import type { ChildTraces, TurnRow } from '../trace-index/answers.ts'
import type { Fold, PathSectionRow, RowSum, SpanFields, SpanRow, SpanState, TraceView } from './api.ts'

export function treeOf(spans: readonly StoredSpan[]): TraceTree {
  const byId = new Map<string, StoredSpan>()
  for (const span of spans) putSpan(byId, span)
  const isRunning = spans.some(({ running }) => running === true)
  return buildTree(spans[0]?.traceId ?? '', byId, isRunning)
}

export function traceView(tree: TraceTree, turn: TurnRow, now: number, children: readonly ChildTraces[]): TraceView {
  const scene = sceneOf(tree, turn, children)
  const cutCount = turn.spanCount - scene.rows.length
  return {
    turn,
    now,
    startAt: tree.startAt,
    lastAt: tree.lastAt,
    rows: scene.rows.map(row => spanRow(row, scene)),
    ...(cutCount > 0 && { cutCount }),
    // If the owner is dead, the path ends at the last known activity.
    path: pathOf(tree, turn.state === 'owner-dead' ? tree.lastAt : now, scene),
    folds: foldsOf(tree, scene),
  }
}

type Scene = ReturnType<typeof sceneOf>

function sceneOf(tree: TraceTree, turn: TurnRow, children: readonly ChildTraces[]) {
  const rows = treeRows(tree)
  const begun = groupBy(children, ({ spanId }) => spanId)
  return {
    rows,
    indexes: new Map(rows.map(({ step }, index) => [step.node.span.spanId, index])),
    namespace: namespaceOfTree(tree),
    sums: subtreeSums(tree),
    // Counts as open until the next check of the owner process.
    openState: turn.state === 'owner-dead' ? turn.state : ('open' as const),
    children: new Map([...begun].map(([spanId, each]) => [spanId, each.flatMap(({ traceIds }) => traceIds)])),
  }
}

function spanRow({ step, facts }: TreeRow, scene: Scene): SpanRow {
  const { node, parent, depth } = step
  const { hint, marks, cachedTokens: cached } = facts
  return {
    ...spanFields(node, facts, scene.openState),
    ...dropUndefined({ cached, sum: sumOf(node, scene), childTraces: scene.children.get(node.span.spanId) }),
    parent: parent === undefined ? -1 : (scene.indexes.get(parent.node.span.spanId) ?? -1),
    depth,
    ...(hint !== '' && { hint }),
    ...(marks.length > 0 && { marks }),
    ...(isApprovalWait(node.span, scene.namespace) && { isPersonWait: true as const }),
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

function sumOf(node: TraceNode, { sums }: Scene): RowSum | undefined {
  const sum = node.children.length === 0 ? undefined : sums.get(node)
  if (sum === undefined) return undefined
  const { inputTokens: input, outputTokens: output, cachedTokens: cached, cost, errorCount } = sum
  return { input, output, cached, cost, errorCount }
}

function pathOf(tree: TraceTree, now: number, { indexes }: Scene): PathSectionRow[] {
  return criticalPath(asOf(tree, now)).flatMap(({ span, ...section }) => {
    const row = indexes.get(span.spanId)
    return row === undefined ? [] : [{ row, ...section }]
  })
}

function foldsOf(tree: TraceTree, { rows, indexes, sums, namespace }: Scene): Fold[] {
  const families = [tree.roots, ...rows.map(({ step }) => step.node.children)]
  return families.flatMap(siblings =>
    foldRepeats(siblings, { namespace, sums })
      .filter(isFolded)
      .map(({ calls, totalMillis, longestMillis }) => ({
        rows: calls.map(({ span }) => indexes.get(span.spanId) ?? 0),
        totalMillis,
        longestMillis,
      })),
  )
}

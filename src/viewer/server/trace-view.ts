import { criticalPath } from '../../reading/critical-path.ts'
import { foldRepeats, isFolded } from '../../reading/fold-repeats.ts'
import { namespaceOfTree } from '../../reading/span-attributes.ts'
import { isApprovalWait } from '../../reading/span-facts.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'
import { type SubtreeSum, subtreeSums } from '../../reading/subtree-sums.ts'
import { asOf, buildTree, putSpan, type TraceNode, type TraceTree } from '../../reading/trace-forest.ts'
import { type TreeRow, treeRows } from '../../reading/tree-rows.ts'
import type { ChildTraces, TurnRow } from '../trace-index/answers.ts'
import type { Fold, PathSectionRow, RowSum, SpanRow, TraceView } from './api.ts'

export interface Around {
  readonly turn: TurnRow
  readonly now: number
  readonly children: readonly ChildTraces[]
}

export function treeOf(spans: readonly StoredSpan[]): TraceTree {
  const byId = new Map<string, StoredSpan>()
  for (const span of spans) putSpan(byId, span)
  return buildTree(spans[0]?.traceId ?? '', byId, spans.some(isRunning))
}

function isRunning({ running }: StoredSpan): boolean {
  return running === true
}

export function traceView(tree: TraceTree, { turn, now, children }: Around): TraceView {
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

interface Scene {
  readonly rows: readonly TreeRow[]
  readonly indexes: ReadonlyMap<string, number>
  readonly namespace: string
  readonly sums: ReadonlyMap<TraceNode, SubtreeSum>
  readonly openState: SpanRow['state']
  readonly children: ReadonlyMap<string, readonly string[]>
}

function sceneOf(tree: TraceTree, turn: TurnRow, children: readonly ChildTraces[]): Scene {
  const rows = treeRows(tree)
  const begun = new Map<string, readonly string[]>()
  for (const { spanId, traceIds } of children) begun.set(spanId, [...(begun.get(spanId) ?? []), ...traceIds])
  return {
    rows,
    indexes: new Map(rows.map(({ step }, index) => [step.node.span.spanId, index])),
    namespace: namespaceOfTree(tree),
    sums: subtreeSums(tree),
    // Counts as open until the next check of the owner process.
    openState: turn.state === 'owner-dead' ? 'owner-dead' : 'open',
    children: begun,
  }
}

function spanRow({ step, facts }: TreeRow, scene: Scene): SpanRow {
  const { node, parent, depth } = step
  const { span } = node
  const { kind, name, attempt, hint, tokens, cachedTokens, cost, outcome, marks, isError } = facts
  const isOpen = isRunning(span)
  const sum = sumOf(node, scene)
  const childTraces = scene.children.get(span.spanId)
  return {
    id: span.spanId,
    parent: parent === undefined ? -1 : (scene.indexes.get(parent.node.span.spanId) ?? -1),
    depth,
    kind,
    name,
    ...(attempt !== '' && { attempt }),
    ...(hint !== '' && { hint }),
    startAt: span.startAt,
    endAt: span.endAt,
    state: isOpen ? scene.openState : 'ended',
    ...(outcome !== undefined && !isOpen && { outcome }),
    ...(marks.length > 0 && { marks }),
    ...(isError && { isError }),
    ...(kind === 'approval' && isApprovalWait(span, scene.namespace) && { isPersonWait: true as const }),
    ...(tokens?.input !== undefined && { input: tokens.input }),
    ...(tokens?.output !== undefined && { output: tokens.output }),
    ...(cachedTokens !== undefined && { cached: cachedTokens }),
    ...(cost !== undefined && { cost }),
    ...(sum !== undefined && { sum }),
    ...(childTraces !== undefined && { childTraces }),
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

import type { SpanNode, TraceTree } from './trace-forest.ts'
import { walkTree } from './tree-walk.ts'

interface CopiedNode extends SpanNode {
  readonly children: CopiedNode[]
}

/** The tree as it is at this time, in epoch milliseconds: what is running has lasted until then. */
export function asOf(tree: TraceTree, now: number): TraceTree {
  const endAt = Math.max(now, tree.lastAt)
  const roots: CopiedNode[] = []
  const copies = new Map<SpanNode, CopiedNode>()
  if (!tree.isRunning) return tree
  for (const { node, parent } of walkTree(tree)) {
    const { span } = node
    const copy = { ...node, span: span.running === true ? { ...span, endAt } : span, children: [] }
    copies.set(node, copy)
    const siblings = parent === undefined ? roots : copies.get(parent.node)?.children
    siblings?.push(copy)
  }
  return { ...tree, roots, endAt }
}

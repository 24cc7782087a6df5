import type { SpanNode, TraceTree } from './trace-forest.ts'

/** One span's place in the drawing of a tree. */
export interface TreeStep {
  readonly node: SpanNode
  /** 0 for a root. */
  readonly depth: number
  /** No sibling follows: its branch turns (`└─`) instead of going on (`├─`). */
  readonly isLast: boolean
  readonly parent: TreeStep | undefined
}

/** Every span of a tree, parents before children, without recursion. */
export function* walkTree(tree: TraceTree): Generator<TreeStep, void> {
  const open = stepsOf(tree.roots, undefined)
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    yield step
    for (const child of stepsOf(step.node.children, step)) open.push(child)
  }
}

/** In reverse: what is pushed last is drawn first. */
function stepsOf(nodes: readonly SpanNode[], parent: TreeStep | undefined): TreeStep[] {
  const depth = parent === undefined ? 0 : parent.depth + 1
  return nodes.map((node, index) => ({ node, depth, isLast: index === nodes.length - 1, parent })).reverse()
}

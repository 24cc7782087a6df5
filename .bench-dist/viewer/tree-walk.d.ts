import type { SpanNode, TraceTree } from './trace-forest.ts';
/** One span's place in the drawing of a tree. */
export interface TreeStep {
    readonly node: SpanNode;
    /** 0 for a root. */
    readonly depth: number;
    /** No sibling follows: its branch turns (`└─`) instead of going on (`├─`). */
    readonly isLast: boolean;
    readonly parent: TreeStep | undefined;
}
/** Every span of a tree, parents before children, without recursion. */
export declare function walkTree(tree: TraceTree): Generator<TreeStep, void>;

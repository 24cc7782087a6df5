import type { TraceTree } from './trace-forest.ts';
/**
 * One trace as a line of JSON for programs. The spans come as a list in the order of the tree, each with its depth:
 * nested objects of a deep trace would be more than JSON readers bear.
 */
export declare function treeJson(tree: TraceTree): string;

import { type Segment } from './segments.ts';
import { type SpanFacts, type Tokens } from './span-facts.ts';
import type { TraceTree } from './trace-forest.ts';
import { type TreeStep } from './tree-walk.ts';
/** One line of the drawing, whatever it is drawn on. */
export interface TreeRow {
    readonly step: TreeStep;
    readonly facts: SpanFacts;
}
export declare function treeRows(tree: TraceTree, namespace?: string): TreeRow[];
/** Name, attempt and hint. */
export declare function titleOf({ facts }: TreeRow): Segment[];
/** Outcome and marks. */
export declare function endingOf({ facts }: TreeRow): Segment[];
export declare function inputText(tokens: Tokens | undefined): string;
export declare function outputText(tokens: Tokens | undefined): string;
/** `1 840 → 148`. */
export declare function tokensText(tokens: Tokens): string;

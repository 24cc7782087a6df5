import type { TraceTree } from './trace-forest.ts';
export interface TreeTextOptions {
    /** Cells of a line, at least 20. Default 100; from 100 on there is a column of waterfall bars. */
    readonly width?: number;
    /** ANSI colours. Default false. */
    readonly color?: boolean;
    /** Namespace of our own attributes. Default: what the root's attributes say. */
    readonly namespace?: string;
}
/** The tree of one trace for the terminal, lines joined by line ends. No line is wider than `width`. */
export declare function renderTree(tree: TraceTree, options?: TreeTextOptions): string;
/** One line for several traces: `3 traces · 42.1 s · 39 spans · 3 errors`. */
export declare function renderTotals(trees: readonly TraceTree[], options?: TreeTextOptions): string;

import type { TraceTree } from './trace-forest.ts';
export interface TreeSvgOptions {
    /** Pixels, at least 640. Default 1080. */
    readonly width?: number;
    /** Rows that are drawn; the rest is counted in a last line. Default 200. */
    readonly maxRows?: number;
    /** Namespace of our own attributes. Default: what the root's attributes say. */
    readonly namespace?: string;
}
/**
 * The tree of one trace as an SVG picture: a dark card, readable on light and dark pages, without scripts or fonts
 * from elsewhere. The same tree always gives the same text.
 */
export declare function renderTreeSvg(tree: TraceTree, options?: TreeSvgOptions): string;

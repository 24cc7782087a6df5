import { type TreeRow } from './tree-rows.ts';
/** Cells of each column of the terminal's tree; 0 = the column is left out. */
export interface TreeColumns {
    readonly title: number;
    readonly bar: number;
    readonly duration: number;
    readonly input: number;
    readonly output: number;
    readonly ending: number;
    /** Levels that are drawn as branches; deeper ones are counted instead. */
    readonly levels: number;
}
export declare const GAP = "  ";
export declare const ARROW = " \u2192 ";
/** Blank cells left of everything but the header's dot. */
export declare const MARGIN = 2;
/** Fits the columns into `width`: what matters least goes first, the names keep room to be read. */
export declare function planColumns(rows: readonly TreeRow[], width: number): TreeColumns;

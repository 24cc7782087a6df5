import type { DrawnKind } from './segments.ts';
/** A stretch of time in epoch milliseconds. */
export interface Extent {
    readonly startAt: number;
    readonly endAt: number;
}
/** Where a span lies in its turn, as fractions from 0 to 1. Clocks that went wrong stay inside. */
export declare function fractionOf(span: Extent, whole: Extent): {
    readonly from: number;
    readonly to: number;
};
/** A bar of `width` cells in steps of half a cell; the shortest span still shows as one half. */
export declare function waterfallBar(kind: DrawnKind, span: Extent, whole: Extent, width: number): string;

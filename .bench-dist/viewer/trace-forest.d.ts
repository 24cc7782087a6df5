import type { StoredSpan } from './stored-span.ts';
export interface SpanNode {
    readonly span: StoredSpan;
    /** By start; of those with the same start the one first that arrived first. */
    readonly children: readonly SpanNode[];
    /** A root that names a parent which is not there, or whose parents go round in a circle. */
    readonly orphan: boolean;
}
export interface TraceTree {
    readonly traceId: string;
    /** One in a sound trace. More when parents are missing: nothing is left out for want of a place. */
    readonly roots: readonly SpanNode[];
    readonly spanCount: number;
    /** First start and last end of all its spans, epoch milliseconds. */
    readonly startAt: number;
    readonly endAt: number;
}
/**
 * Puts spans together into trees, a trace each, in the order of their starts. Of several spans with one id the last
 * wins. Every span appears exactly once, whatever its parent says. Nothing here recurses: a trace may be any depth.
 */
export declare function buildForest(spans: Iterable<StoredSpan>): TraceTree[];

import type { DrawnKind } from './segments.ts';
import type { StoredSpan } from './stored-span.ts';
import type { TraceTree } from './trace-forest.ts';
/** Reads a span's attributes by the names they were written under. A name that starts with a dot is an own one. */
export declare class SpanAttributes {
    #private;
    readonly span: StoredSpan;
    constructor(span: StoredSpan, namespace: string);
    /** The first of these that is text, a number or a boolean, made printable; empty when none is. */
    text(...names: readonly string[]): string;
    /** The first of these that is a number. */
    number(...names: readonly string[]): number | undefined;
    isTrue(name: string): boolean;
    /** The first entry of a list. */
    first(name: string): string;
}
/** The namespace of the first root that tells. */
export declare function namespaceOfTree(tree: TraceTree): string;
/** The kind by our own attribute, else by the conventions that other producers follow. */
export declare function drawnKind(attributes: SpanAttributes): DrawnKind;

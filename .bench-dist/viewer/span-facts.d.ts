import { type DrawnKind, type Segment } from './segments.ts';
import { SpanAttributes } from './span-attributes.ts';
import type { SpanNode } from './trace-forest.ts';
export interface Tokens {
    readonly input: number | undefined;
    readonly output: number | undefined;
}
/** What a drawing says about one span. All text in it is printable. */
export interface SpanFacts {
    readonly kind: DrawnKind;
    readonly name: string;
    /** `attempt 1`: beside the name, because the attempts of one request share it. */
    readonly attempt: string;
    /** What the name does not say: the command, the file, the goal, the error's message. */
    readonly hint: string;
    readonly durationMillis: number;
    readonly tokens: Tokens | undefined;
    readonly outcome: Segment | undefined;
    /** What the reader must know before trusting the line. */
    readonly marks: readonly Segment[];
    readonly isError: boolean;
}
export declare function factsOf(node: SpanNode, namespace: string): SpanFacts;
/** A session's are its turn's totals, under names that no backend adds up a second time. */
export declare function tokensOf(kind: DrawnKind, attributes: SpanAttributes): Tokens | undefined;

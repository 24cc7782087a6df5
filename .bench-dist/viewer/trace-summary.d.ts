import type { Segment } from './segments.ts';
import { type Tokens } from './span-facts.ts';
import type { TraceTree } from './trace-forest.ts';
/** What is said about a trace as a whole. All text in it is printable. */
export interface TraceSummary {
    readonly agent: string;
    readonly sessionId: string;
    /** Ordinal of the turn in its session, from 1. */
    readonly turnNumber: number | undefined;
    readonly model: string;
    readonly startAt: number;
    readonly durationMillis: number;
    readonly tokens: Tokens | undefined;
    /** What the sub-agents used beside `tokens`. */
    readonly subagentTokens: number | undefined;
    readonly outcome: Segment | undefined;
    readonly spanCount: number;
    readonly errorCount: number;
}
export declare function summarize(tree: TraceTree, namespace?: string): TraceSummary;

import type { TraceTree } from './trace-forest.ts';
export interface OutlineOptions {
    /** Names of attributes to show where a span has them, in this order. */
    readonly attributes?: readonly string[];
    /** Default false: durations make a text that is compared unstable. */
    readonly durations?: boolean;
    /** `OK`, `ERROR` with the error's type, `UNSET`. Default true. */
    readonly status?: boolean;
    /** Namespace of our own attributes. Default: what the root's attributes say. */
    readonly namespace?: string;
}
/**
 * A trace as plain text to compare in tests: a span a line, two blanks a level.
 *
 * @example
 * agent OK
 *   llm.qwen3-coder-30b OK
 *     api.qwen3-coder-30b ERROR RateLimitError
 *     tool.terminal UNSET (incomplete: turn_ended) [hermes.tool.command=ls]
 */
export declare function outline(tree: TraceTree, options?: OutlineOptions): string;

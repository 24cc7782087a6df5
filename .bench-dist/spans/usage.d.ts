import type { Draw, Fired } from './span-definition.ts';
/** Tokens of one model request. Cache and reasoning are subsets and are never added to a total. */
export interface Usage {
    /** All input, cached included. */
    readonly promptTokens: number;
    /** All output, reasoning included. */
    readonly outputTokens: number;
    readonly cacheReadTokens: number;
    readonly cacheWriteTokens: number;
    readonly reasoningTokens: number;
    /** Prompt + output. */
    readonly totalTokens: number;
}
/** Any spelling → canonical; undefined when nothing was reported or all of it is zero. */
export declare function normaliseUsage(usage: unknown): Usage | undefined;
/** The usage that a record reports, normalised once. */
export declare const usageOf: (fired: Fired<{
    readonly usage?: unknown;
}>, draw: Draw) => Usage | undefined;

import type { ApiStart } from '../contract/index.ts';
import type { OpenSpan, Turn } from './turn.ts';
/**
 * The attempt that a start begins, from 0: the host's `retry_count`, or our own ordinal where it repeats one, because
 * several hosts send the same id for every attempt.
 */
export declare function nextAttempt(turn: Turn, key: string, payload: ApiStart): number;
/** Whether an end may close this attempt: an end that names another attempt came late for one that is gone. */
export declare function isEndOf(open: OpenSpan, payload: {
    readonly retry_count?: number;
}): boolean;
/** Whether an end tells of an attempt before the one that is remembered, whose own end has been told already. */
export declare function isOfEarlierAttempt(payload: {
    readonly retry_count?: number;
}, { attempt }: {
    readonly attempt: number;
}): boolean;

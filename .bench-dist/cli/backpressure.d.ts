import type { BackendStats } from '../pipeline/index.ts';
/** Spans of a batch at most: one that can fill up before it is waited for. */
export declare const LARGEST_BATCH: number;
/** Keeps who makes spans from running away from the backends, but not for the sake of one that hangs. */
export declare class Backpressure {
    #private;
    constructor(backends: () => readonly BackendStats[]);
    /** Waits, every so many records, until the backends have caught up. */
    afterRecord(count: number): Promise<void>;
}

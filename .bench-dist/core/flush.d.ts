/**
 * Flushes of a session's end: bounded for those who wait, free for those who do not. Concurrent requests coalesce, and one
 * that comes while a flush runs gets a flush of its own afterwards, so that the later turn is not missed.
 */
export declare class Flusher {
    #private;
    /** @param flush sends everything; must not reject */
    constructor(flush: () => Promise<void>, waitMillis: number);
    /** Resolves when all that was recorded before is flushed, at the latest after the wait. Never rejects. */
    request(): Promise<void>;
}

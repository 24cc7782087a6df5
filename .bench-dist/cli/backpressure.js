import { setTimeout as pause } from 'node:timers/promises';
const EVERY_RECORDS = 100;
/** More than this wait for a backend: wait for it, too. */
const MOST_QUEUED = 4096;
/** Spans of a batch at most: one that can fill up before it is waited for. */
export const LARGEST_BATCH = MOST_QUEUED / 2;
const POLL_MILLIS = 5;
/** A backend that takes nothing for so long is no longer waited for. */
const PATIENCE_MILLIS = 10_000;
/** Keeps who makes spans from running away from the backends, but not for the sake of one that hangs. */
export class Backpressure {
    #backends;
    #givenUp = new Set();
    constructor(backends) {
        this.#backends = backends;
    }
    /** Waits, every so many records, until the backends have caught up. */
    async afterRecord(count) {
        if (count % EVERY_RECORDS !== 0)
            return;
        let [takenBefore, takenAt] = [-1, performance.now()];
        for (let behind = this.#behind(); behind.length > 0; behind = this.#behind()) {
            const taken = behind.reduce((sum, { delivered }) => sum + delivered, 0);
            if (taken !== takenBefore)
                [takenBefore, takenAt] = [taken, performance.now()];
            else if (performance.now() - takenAt > PATIENCE_MILLIS)
                for (const { name } of behind)
                    this.#givenUp.add(name);
            await pause(POLL_MILLIS);
        }
    }
    #behind() {
        return this.#backends().filter(({ name, queued }) => queued > MOST_QUEUED && !this.#givenUp.has(name));
    }
}

/**
 * Flushes of a session's end: bounded for those who wait, free for those who do not. Concurrent requests coalesce, and one
 * that comes while a flush runs gets a flush of its own afterwards, so that the later turn is not missed.
 */
export class Flusher {
    #flush;
    #waitMillis;
    #running;
    #next;
    /** @param flush sends everything; must not reject */
    constructor(flush, waitMillis) {
        this.#flush = flush;
        this.#waitMillis = waitMillis;
    }
    /** Resolves when all that was recorded before is flushed, at the latest after the wait. Never rejects. */
    request() {
        return this.#bounded(this.#enqueue());
    }
    #enqueue() {
        if (this.#running === undefined) {
            this.#running = this.#flush().then(() => {
                this.#running = undefined;
            });
            return this.#running;
        }
        this.#next ??= this.#running.then(() => {
            this.#next = undefined;
            return this.#enqueue();
        });
        return this.#next;
    }
    #bounded(work) {
        return new Promise(resolve => {
            const timer = setTimeout(resolve, this.#waitMillis);
            // A dead backend must not keep the process alive for the sake of a wait that nobody may be doing.
            timer.unref();
            work.then(() => {
                clearTimeout(timer);
                resolve();
            });
        });
    }
}

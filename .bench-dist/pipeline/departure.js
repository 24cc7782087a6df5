/** After the deadline, for what is cut off to be counted and said. */
const LAST_WORDS_MILLIS = 200;
/** Gets everything out of the house, now or for good. */
export class Departure {
    #parts;
    #closed;
    constructor(parts) {
        this.#parts = parts;
    }
    async flush() {
        if (this.#closed)
            return this.#closed;
        const hold = new Hold(this.#parts.waitMillis);
        await Promise.allSettled([...this.#queues(queue => queue.forceFlush()), this.#parts.meters.forceFlush()]);
        hold.end();
    }
    shutdown() {
        this.#closed ??= this.#close();
        return this.#closed;
    }
    async #close() {
        const measured = this.#parts.meters.shutdown().catch(() => undefined);
        await Promise.all(this.#parts.backends.flatMap(({ queue, outbox }) => [
            ...(queue ? [this.#leave(queue, queue.shutdown())] : []),
            ...(outbox ? [this.#leave(outbox, measured)] : []),
        ]));
        this.#parts.prometheus?.close();
    }
    /** What a flush has waited for in vain already is not waited for again. */
    async #leave(leaving, delivered) {
        const hold = new Hold(Math.max(0, this.#parts.waitMillis - leaving.waitedMillis()));
        await Promise.race([delivered, hold.over]);
        hold.end();
        const lastWords = new Hold(LAST_WORDS_MILLIS);
        await Promise.race([leaving.abandon(), lastWords.over]);
        lastWords.end();
    }
    #queues(run) {
        return this.#parts.backends.flatMap(({ queue }) => (queue ? [run(queue)] : []));
    }
}
/**
 * Keeps the process alive while something is waited for. Requests do not: a collector that hangs must never hold the
 * process for longer than this.
 */
class Hold {
    over;
    #timer;
    constructor(millis) {
        this.over = new Promise(resolve => {
            this.#timer = setTimeout(resolve, millis);
        });
    }
    end() {
        clearTimeout(this.#timer);
    }
}

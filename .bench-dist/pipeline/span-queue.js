const SAMPLED = 1;
/** How long a sink may take to say what happened, once it has been told to stop. */
const LAST_WORD_MILLIS = 50;
/**
 * The spans of one backend on their way out: bounded, one export in flight, never blocking whoever ends a span or
 * another backend. What cannot be kept or delivered is counted.
 */
export class SpanQueue {
    #sink;
    #batch;
    #report;
    #waiting = [];
    #waiters = [];
    #inFlight;
    #inFlightAt = 0;
    #timer;
    #isPumping = false;
    #isClosed = false;
    /** Spans taken into the queue, ever; spans that left it, ever; and up to where somebody wants it emptied. */
    #accepted = 0;
    #settled = 0;
    #wanted = 0;
    #delivered = 0;
    #dropped = 0;
    constructor(sink, batch, report) {
        this.#sink = sink;
        this.#batch = batch;
        this.#report = report;
    }
    onStart() {
        // Only ended spans are delivered.
    }
    onEnd(span) {
        if ((span.spanContext().traceFlags & SAMPLED) === 0)
            return;
        if (this.#isClosed) {
            this.#dropped++;
            return;
        }
        if (this.#waiting.length >= this.#batch.maxQueueSize) {
            this.#dropped++;
            this.#report.overflowed(this.#batch.maxQueueSize);
            return;
        }
        this.#waiting.push(span);
        this.#accepted++;
        if (this.#waiting.length >= this.#batch.maxExportBatchSize)
            void this.#pump();
        else
            this.#arm();
    }
    /** Waits for the batch in flight and for everything that is queued now. Never rejects, and has no bound of its own. */
    forceFlush() {
        const until = this.#accepted;
        if (this.#settled >= until)
            return Promise.resolve();
        this.#wanted = until;
        void this.#pump();
        return new Promise(resolve => this.#waiters.push({ until, resolve }));
    }
    /** Takes nothing more, and delivers what it has. */
    async shutdown() {
        this.#isClosed = true;
        await this.forceFlush();
        await this.#sink.close();
    }
    /** Gives up what is left: it is counted as dropped, and whoever waits is let go. Resolves within moments. */
    abandon() {
        this.#isClosed = true;
        this.#settle(this.#waiting.splice(0).length, 0);
        this.#inFlight?.abort();
        return this.forceFlush();
    }
    /** How long the export that is in flight has been. */
    waitedMillis() {
        return this.#inFlight ? performance.now() - this.#inFlightAt : 0;
    }
    counts() {
        return { delivered: this.#delivered, dropped: this.#dropped, queued: this.#accepted - this.#settled };
    }
    #arm() {
        if (this.#timer || this.#isPumping || this.#waiting.length === 0)
            return;
        this.#timer = setTimeout(() => {
            this.#timer = undefined;
            this.#wanted = this.#accepted;
            void this.#pump();
        }, this.#batch.scheduleDelayMillis).unref();
    }
    async #pump() {
        if (this.#isPumping)
            return;
        this.#isPumping = true;
        clearTimeout(this.#timer);
        this.#timer = undefined;
        // Serialising a batch takes milliseconds, which are not the hook's that ended the last span of it.
        await new Promise(setImmediate);
        while (this.#isDue())
            await this.#exportBatch();
        this.#isPumping = false;
        this.#arm();
    }
    #isDue() {
        const waiting = this.#waiting.length;
        return waiting >= this.#batch.maxExportBatchSize || (waiting > 0 && this.#settled < this.#wanted);
    }
    async #exportBatch() {
        const spans = this.#waiting.splice(0, this.#batch.maxExportBatchSize);
        const inFlight = new AbortController();
        this.#inFlight = inFlight;
        this.#inFlightAt = performance.now();
        const { lost, failure } = await this.#guarded(spans, inFlight);
        this.#inFlight = undefined;
        this.#settle(lost, spans.length - lost);
        if (failure)
            this.#report.failed('traces', failure, lost);
        else
            this.#report.delivered('traces');
        if (this.#waiting.length === 0)
            this.#report.drained();
    }
    /** A sink that never answers must not hold the queue for ever. */
    async #guarded(spans, inFlight) {
        const { exportTimeoutMillis } = this.#batch;
        const exported = this.#sink.export(spans, inFlight.signal).catch(() => broken(spans));
        const lastWord = new Promise(resolve => {
            const giveUp = () => resolve({ lost: spans.length, failure: { kind: 'timeout', afterMillis: exportTimeoutMillis } });
            inFlight.signal.addEventListener('abort', () => setTimeout(giveUp, LAST_WORD_MILLIS).unref(), { once: true });
        });
        const guard = setTimeout(() => inFlight.abort(), exportTimeoutMillis).unref();
        const delivery = await Promise.race([exported, lastWord]);
        clearTimeout(guard);
        return delivery;
    }
    #settle(lost, delivered) {
        this.#dropped += lost;
        this.#delivered += delivered;
        this.#settled += lost + delivered;
        const [due, later] = [[], []];
        for (const waiter of this.#waiters)
            (waiter.until <= this.#settled ? due : later).push(waiter);
        this.#waiters = later;
        for (const waiter of due)
            waiter.resolve();
    }
}
function broken(spans) {
    return { lost: spans.length, failure: { kind: 'internal', reason: 'the exporter broke' } };
}

import { metricsSdk } from './sdk.js';
/** Collections that may wait for a slow backend. With delta temporality each holds points that no other one repeats. */
const MAX_WAITING = 8;
const DONE = { code: 0 };
/**
 * Metrics of one backend on their way out. The reader is told at once that it is done, because its own timeout would
 * hold the process; what is on its way is waited for in `forceFlush`.
 */
export class MetricOutbox {
    #sink;
    #report;
    #temporality;
    #waiting = [];
    #inFlight = new AbortController();
    #sending;
    #sentAt = 0;
    constructor(sink, temporality, report) {
        this.#sink = sink;
        this.#temporality = temporality;
        this.#report = report;
    }
    export(metrics, done) {
        const payload = this.#sink.serialize(metrics);
        if (!(payload instanceof Uint8Array))
            this.#report.failed('metrics', payload, 0);
        else
            this.#take(payload);
        done(DONE);
    }
    forceFlush() {
        return this.#sending ?? Promise.resolve();
    }
    async shutdown() {
        await this.forceFlush();
        await this.#sink.close();
    }
    /** How long the export that is in flight has been. */
    waitedMillis() {
        return this.#sending ? performance.now() - this.#sentAt : 0;
    }
    /** Gives up what is left. Resolves within moments. */
    abandon() {
        this.#waiting.length = 0;
        this.#inFlight.abort();
        return this.forceFlush();
    }
    selectAggregationTemporality(instrument) {
        return temporalityOf(this.#temporality, instrument);
    }
    #take(payload) {
        if (this.#waiting.push(payload) > MAX_WAITING) {
            this.#waiting.shift();
            this.#report.failed('metrics', { kind: 'timeout', afterMillis: Math.round(this.waitedMillis()) }, 0);
        }
        this.#sending ??= this.#sendAll();
    }
    async #sendAll() {
        for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
            this.#sentAt = performance.now();
            const failure = await this.#sink.send(next, this.#inFlight.signal);
            if (failure)
                this.#report.failed('metrics', failure, 0);
            else
                this.#report.delivered('metrics');
        }
        this.#sending = undefined;
    }
}
/** As the OTLP exporter specification has it: what can fall is always cumulative. */
function temporalityOf(temporality, instrument) {
    const { AggregationTemporality: Choice, InstrumentType: Kind } = metricsSdk();
    switch (instrument) {
        case Kind.COUNTER:
        case Kind.HISTOGRAM:
            return temporality === 'cumulative' ? Choice.CUMULATIVE : Choice.DELTA;
        case Kind.OBSERVABLE_COUNTER:
        case Kind.GAUGE:
        case Kind.OBSERVABLE_GAUGE:
            return temporality === 'delta' ? Choice.DELTA : Choice.CUMULATIVE;
        default:
            return Choice.CUMULATIVE;
    }
}
export function createMetricReader(outbox, intervalMillis) {
    return new (metricsSdk().PeriodicExportingMetricReader)({
        exporter: outbox,
        exportIntervalMillis: intervalMillis,
        // Only bounds the collection; it may not be longer than the interval.
        exportTimeoutMillis: intervalMillis,
    });
}

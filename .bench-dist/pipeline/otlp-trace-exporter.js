import { createAgent } from './agent.js';
import { spanDelivery, UNSERIALISABLE } from './otlp-exporters.js';
import { codeOf, exchange, failed } from './otlp-request.js';
import { deliverBy } from './otlp-retry.js';
import { exporterBase, traceExporter, transformer, untraced } from './sdk.js';
/** Not one that any client tries again. */
const FINAL_STATUS = 400;
/**
 * Traces as `http/json`, sent by OpenTelemetry's own exporter. Its requests are watched by the agent that we give it:
 * the exporter itself says neither which status it got, nor when to come back, nor how many spans were rejected.
 */
export class OtlpTraceExporterSink {
    #timeoutMillis;
    #agent;
    #exporter;
    /** Whose request the agent sees next. */
    #current;
    /** Resolves when the exporter is done with everything that it was given. */
    #idle = Promise.resolve();
    constructor(target) {
        this.#timeoutMillis = target.timeoutMillis;
        this.#agent = createAgent(target.url, target.certificate, request => this.#watch(request));
        this.#exporter = createExporter(target, this.#agent);
    }
    async export(spans, signal) {
        const deadlineAt = performance.now() + this.#timeoutMillis;
        const batch = [...spans];
        const delivery = await deliverBy(deadlineAt, signal, millis => this.#attempt(batch, millis, signal));
        return spanDelivery(delivery, spans.length, transformer().JsonTraceSerializer);
    }
    async close() {
        const done = this.#exporter.shutdown();
        this.#agent.destroy();
        await done;
    }
    #attempt(spans, timeoutMillis, signal) {
        return exchange({ timeoutMillis, allowedMillis: this.#timeoutMillis, signal }, own => {
            // One at a time: a request that is made only after its exchange was given up must not pass for the next one.
            this.#idle = this.#idle.then(() => (own.isOver() ? undefined : this.#send(spans, own)));
        });
    }
    #send(spans, own) {
        this.#current = own;
        return new Promise(resolve => {
            const done = (delivery) => {
                own.end(delivery);
                resolve();
            };
            try {
                untraced(() => this.#exporter.export(spans, ({ error }) => done(error ? unsent(error) : { ok: true })));
            }
            catch {
                done(failed(UNSERIALISABLE));
            }
        });
    }
    #watch(request) {
        this.#current?.watch(request);
        makeFinal(request);
    }
}
/** The environment is hidden meanwhile: the exporter would add its headers to those that it is given. */
function createExporter({ url, headers, gzip, timeoutMillis }, agent) {
    const { OTLPTraceExporter: Exporter } = traceExporter();
    const { CompressionAlgorithm } = exporterBase();
    const { 'content-type': _its, 'user-agent': userAgent, ...own } = headers;
    return withoutEnvironment(() => new Exporter({
        url,
        headers: own,
        compression: gzip ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
        // It throws at zero, which is what a person may have configured.
        timeoutMillis: Math.max(timeoutMillis, 1),
        httpAgentOptions: () => agent,
        ...(userAgent === undefined ? {} : { userAgent }),
    }));
}
/** `run` must be synchronous. The variables themselves stay as they are, for whoever looks from another thread. */
function withoutEnvironment(run) {
    const { env } = process;
    process.env = {};
    try {
        return run();
    }
    finally {
        process.env = env;
    }
}
/**
 * The exporter is to take every failure for a final one. What it takes for a passing one it tries again by itself, on
 * a timer that holds the process.
 */
function makeFinal(request) {
    // Of two errors it takes the first one, and by its code it decides: this one comes first, and has none.
    request.once('error', error => request.emit('error', new Error('not delivered', { cause: error })));
    request.once('response', response => {
        if ((response.statusCode ?? 0) >= 300)
            response.statusCode = FINAL_STATUS;
    });
}
/** Of an export that came to no request. */
function unsent(error) {
    const code = codeOf(error);
    if (code.startsWith('ERR_'))
        return failed({ kind: 'header', code });
    return failed({ kind: 'internal', reason: 'the exporter broke' });
}

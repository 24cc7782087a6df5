import { planBackend } from './backend-plan.js';
import { DeliveryReport } from './delivery-report.js';
import { Departure } from './departure.js';
import { DeterministicIds } from './deterministic-ids.js';
import { openLocalLog } from './file-exporter.js';
import { openBackend } from './open-backend.js';
import { openPrometheus } from './prometheus.js';
import { createMeterProvider, createTracerProvider } from './providers.js';
import { createResource } from './resource.js';
import { SpanQueue } from './span-queue.js';
/** Longest time that something recorded stays in memory only, where there is a local log. */
const LOCAL_LOG_DELAY_MILLIS = 100;
/**
 * Builds what records and delivers, without touching anything global. Problems with a backend are reported and leave
 * the others alone.
 *
 * @example
 * const pipeline = createPipeline(settings, report)
 * pipeline.tracerProvider.getTracer('example').startSpan('work').end()
 * await pipeline.shutdown()
 */
export function createPipeline(settings, report) {
    const plans = planned(settings, report);
    const local = settings.localLog && openLocalLog(settings.localLog);
    const backends = [
        ...(local ? [localBackend(local, settings, report)] : []),
        ...plans.map(plan => openBackend(plan, settings, report)),
    ];
    const prometheus = settings.prometheus && openPrometheus(settings.prometheus, report);
    const resource = createResource(settings, Object.assign({}, ...plans.map(plan => plan.resource)));
    const ids = settings.deterministicIds ? new DeterministicIds() : undefined;
    const queues = backends.flatMap(backend => backend.queue ?? []);
    const readers = [...backends.flatMap(backend => backend.reader ?? []), ...(prometheus ? [prometheus.reader] : [])];
    const meters = createMeterProvider(resource, readers);
    const departure = new Departure({ backends, meters, prometheus, waitMillis: settings.flushWaitMillis });
    return {
        tracerProvider: createTracerProvider({ settings, resource, spanProcessors: queues, idGenerator: ids }),
        meterProvider: meters.meterProvider,
        seedIds: ids && ((traceIdentity, spanIdentity) => ids.seed(traceIdentity, spanIdentity)),
        flush: () => departure.flush(),
        shutdown: () => departure.shutdown(),
        stats: () => ({ backends: backends.map(statsOf), ...(local ? { traceFile: local.path } : {}) }),
    };
}
function planned(settings, report) {
    return settings.backends.flatMap(backend => {
        const result = planBackend(backend);
        if (!result.ok) {
            report.error(result.problem);
            return [];
        }
        for (const warning of result.warnings)
            report.warn(warning);
        return [result.plan];
    });
}
function localBackend(local, settings, report) {
    const facts = {
        name: 'local_log',
        type: 'local_log',
        urls: {},
        protocol: 'http/json',
        credentials: '',
        defaultEndpoint: undefined,
    };
    const deliveries = new DeliveryReport(facts, report);
    const scheduleDelayMillis = Math.min(settings.batch.scheduleDelayMillis, LOCAL_LOG_DELAY_MILLIS);
    const queue = new SpanQueue(local.sink, { ...settings.batch, scheduleDelayMillis }, deliveries);
    return { name: facts.name, type: facts.type, report: deliveries, queue };
}
function statsOf({ name, type, queue, report }) {
    const counts = queue?.counts() ?? { delivered: 0, dropped: 0, queued: 0 };
    return { name, type, ...counts, ...(report.lastError === undefined ? {} : { lastError: report.lastError }) };
}

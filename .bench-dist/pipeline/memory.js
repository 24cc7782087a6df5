import { DeterministicIds } from './deterministic-ids.js';
import { createMeterProvider, createTracerProvider } from './providers.js';
import { createResource } from './resource.js';
import { metricsSdk, traceSdk, transformer } from './sdk.js';
function sampleOf(name, attributes, value) {
    const labels = Object.fromEntries(Object.entries(attributes).map(([key, label]) => [key, String(label)]));
    if (typeof value === 'number')
        return { name, labels, value };
    return { name, labels, value: value.sum ?? 0, count: value.count };
}
/** Keeps everything in memory: for tests, ours and those of users. Nothing is written and nothing is sent. */
export function createMemoryPipeline(settings) {
    const sdk = traceSdk();
    const exporter = new sdk.InMemorySpanExporter();
    const reader = new (class extends metricsSdk().MetricReader {
        onForceFlush() {
            return Promise.resolve();
        }
        onShutdown() {
            return Promise.resolve();
        }
    })();
    const resource = createResource(settings, {});
    const ids = settings.deterministicIds ? new DeterministicIds() : undefined;
    const spanProcessors = [new sdk.SimpleSpanProcessor(exporter)];
    const { meterProvider } = createMeterProvider(resource, [reader]);
    const decode = (bytes) => new TextDecoder().decode(bytes);
    return {
        tracerProvider: createTracerProvider({ settings, resource, spanProcessors, idGenerator: ids }),
        meterProvider,
        seedIds: ids && ((traceIdentity, spanIdentity) => ids.seed(traceIdentity, spanIdentity)),
        flush: () => Promise.resolve(),
        shutdown: () => Promise.resolve(),
        stats: () => ({ backends: [] }),
        lines: () => exporter.getFinishedSpans().map(span => decode(transformer().JsonTraceSerializer.serializeRequest([span]))),
        async samples() {
            const { resourceMetrics } = await reader.collect();
            return resourceMetrics.scopeMetrics.flatMap(scope => scope.metrics.flatMap(({ descriptor, dataPoints }) => dataPoints.map(({ attributes, value }) => sampleOf(descriptor.name, attributes, value))));
        },
    };
}

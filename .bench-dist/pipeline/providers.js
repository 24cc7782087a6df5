import { createSampler } from './sampling.js';
import { api, metricsSdk, traceSdk } from './sdk.js';
/** The SDK's own figures, said out loud: what is not said, it reads from the environment. */
const PER_EVENT_OR_LINK = 128;
/** Private: it is never registered, so a host's own OpenTelemetry works beside it. */
export function createTracerProvider(parts) {
    return new (traceSdk().BasicTracerProvider)({
        resource: parts.resource,
        sampler: createSampler(parts.settings.sampler),
        spanProcessors: parts.spanProcessors,
        ...(parts.idGenerator ? { idGenerator: parts.idGenerator } : {}),
        spanLimits: {
            attributeCountLimit: parts.settings.attributeCountLimit,
            attributeValueLengthLimit: Number.POSITIVE_INFINITY,
            eventCountLimit: PER_EVENT_OR_LINK,
            linkCountLimit: PER_EVENT_OR_LINK,
            attributePerEventCountLimit: PER_EVENT_OR_LINK,
            attributePerLinkCountLimit: PER_EVENT_OR_LINK,
        },
    });
}
/** Without a reader the points go nowhere, and the metrics SDK is not even loaded. */
export function createMeterProvider(resource, readers) {
    if (readers.length === 0)
        return unreadMeterProvider();
    const provider = new (metricsSdk().MeterProvider)({ resource, readers });
    return {
        meterProvider: provider,
        forceFlush: () => provider.forceFlush(),
        shutdown: () => provider.shutdown(),
    };
}
function unreadMeterProvider() {
    const meter = api().createNoopMeter();
    return {
        meterProvider: { getMeter: () => meter },
        forceFlush: () => Promise.resolve(),
        shutdown: () => Promise.resolve(),
    };
}

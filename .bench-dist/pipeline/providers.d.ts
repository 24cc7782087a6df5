import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { MetricReader } from '@opentelemetry/sdk-metrics';
import type { IdGenerator, SpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { PipelineSettings } from './settings.ts';
export interface TracerProviderParts {
    readonly settings: PipelineSettings;
    readonly resource: Resource;
    readonly spanProcessors: SpanProcessor[];
    readonly idGenerator: IdGenerator | undefined;
}
/** Private: it is never registered, so a host's own OpenTelemetry works beside it. */
export declare function createTracerProvider(parts: TracerProviderParts): TracerProvider;
/** A meter provider with what it takes to end it. */
export interface OwnMeterProvider {
    readonly meterProvider: MeterProvider;
    forceFlush(): Promise<void>;
    shutdown(): Promise<void>;
}
/** Without a reader the points go nowhere, and the metrics SDK is not even loaded. */
export declare function createMeterProvider(resource: Resource, readers: MetricReader[]): OwnMeterProvider;

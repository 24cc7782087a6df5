import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { SpanDelivery, SpanSink } from './delivery.ts';
import type { OtlpTarget } from './otlp-sender.ts';
/**
 * Traces as `http/json`, sent by OpenTelemetry's own exporter. Its requests are watched by the agent that we give it:
 * the exporter itself says neither which status it got, nor when to come back, nor how many spans were rejected.
 */
export declare class OtlpTraceExporterSink implements SpanSink {
    #private;
    constructor(target: OtlpTarget);
    export(spans: readonly ReadableSpan[], signal: AbortSignal): Promise<SpanDelivery>;
    close(): Promise<void>;
}

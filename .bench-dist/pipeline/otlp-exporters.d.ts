import type { IExportTraceServiceResponse, ISerializer } from '@opentelemetry/otlp-transformer';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { Carrier, Delivery, DeliveryFailure, SpanDelivery, SpanSink } from './delivery.ts';
import type { Protocol } from './settings.ts';
export declare const CONTENT_TYPES: Readonly<Record<Protocol, string>>;
type TraceSerializer = ISerializer<ReadableSpan[], IExportTraceServiceResponse>;
/** Spans as OTLP requests of our own making, carried over HTTP or into a file. */
export declare class OtlpSpanSink implements SpanSink {
    #private;
    constructor(protocol: Protocol, carrier: Carrier);
    export(spans: readonly ReadableSpan[], signal: AbortSignal): Promise<SpanDelivery>;
    close(): Promise<void>;
}
/** What a delivery means for the spans in it: a server may take the request and still reject some of them. */
export declare function spanDelivery(delivery: Delivery, spans: number, serializer: Pick<TraceSerializer, 'deserializeResponse'>): SpanDelivery;
/** Metrics as OTLP requests. */
export declare class OtlpMetricSink {
    #private;
    constructor(protocol: Protocol, carrier: Carrier);
    serialize(metrics: ResourceMetrics): Uint8Array | DeliveryFailure;
    /** Undefined = taken whole. Never rejects. */
    send(payload: Uint8Array, signal: AbortSignal): Promise<DeliveryFailure | undefined>;
    close(): Promise<void>;
}
export declare const UNSERIALISABLE: DeliveryFailure;
export {};

import { type SpanContext } from '@opentelemetry/api';
/** A W3C `traceparent` as a remote span context; undefined when it is none. */
export declare function parseTraceparent(value: unknown): SpanContext | undefined;
export declare function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string;

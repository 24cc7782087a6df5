import type { IdGenerator } from '@opentelemetry/sdk-trace-base';
/**
 * Ids that are derived from what the span is, so that a repeated delivery or replay gives the same ones.
 * A seed holds for the next span that is started; without one, ids are random.
 */
export declare class DeterministicIds implements IdGenerator {
    #private;
    /** The trace identity is only used when that span starts a trace. */
    seed(traceIdentity: string, spanIdentity: string): void;
    /** The tracer asks for the span id first, for every span, and then, for a root, for the trace id. */
    generateSpanId(): string;
    generateTraceId(): string;
}

import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { SpanDelivery, SpanSink } from './delivery.ts';
/** Prints each trace as an indented tree once its root has ended. */
export declare class ConsoleSpanSink implements SpanSink {
    #private;
    constructor(write: (text: string) => void);
    export(spans: readonly ReadableSpan[]): Promise<SpanDelivery>;
    close(): Promise<void>;
}

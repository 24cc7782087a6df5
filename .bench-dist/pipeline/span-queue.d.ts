import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { SpanSink } from './delivery.ts';
import type { DeliveryReport } from './delivery-report.ts';
import type { BatchSettings } from './settings.ts';
export interface SpanCounts {
    readonly delivered: number;
    readonly dropped: number;
    /** Waiting or in flight. */
    readonly queued: number;
}
/**
 * The spans of one backend on their way out: bounded, one export in flight, never blocking whoever ends a span or
 * another backend. What cannot be kept or delivered is counted.
 */
export declare class SpanQueue implements SpanProcessor {
    #private;
    constructor(sink: SpanSink, batch: BatchSettings, report: DeliveryReport);
    onStart(): void;
    onEnd(span: ReadableSpan): void;
    /** Waits for the batch in flight and for everything that is queued now. Never rejects, and has no bound of its own. */
    forceFlush(): Promise<void>;
    /** Takes nothing more, and delivers what it has. */
    shutdown(): Promise<void>;
    /** Gives up what is left: it is counted as dropped, and whoever waits is let go. Resolves within moments. */
    abandon(): Promise<void>;
    /** How long the export that is in flight has been. */
    waitedMillis(): number;
    counts(): SpanCounts;
}

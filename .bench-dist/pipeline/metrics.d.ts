import type { AggregationTemporality, InstrumentType, MetricReader, PushMetricExporter, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { DeliveryReport } from './delivery-report.ts';
import type { OtlpMetricSink } from './otlp-exporters.ts';
import type { Temporality } from './settings.ts';
type ExportCallback = Parameters<PushMetricExporter['export']>[1];
/**
 * Metrics of one backend on their way out. The reader is told at once that it is done, because its own timeout would
 * hold the process; what is on its way is waited for in `forceFlush`.
 */
export declare class MetricOutbox implements PushMetricExporter {
    #private;
    constructor(sink: OtlpMetricSink, temporality: Temporality, report: DeliveryReport);
    export(metrics: ResourceMetrics, done: ExportCallback): void;
    forceFlush(): Promise<void>;
    shutdown(): Promise<void>;
    /** How long the export that is in flight has been. */
    waitedMillis(): number;
    /** Gives up what is left. Resolves within moments. */
    abandon(): Promise<void>;
    selectAggregationTemporality(instrument: InstrumentType): AggregationTemporality;
}
export declare function createMetricReader(outbox: MetricOutbox, intervalMillis: number): MetricReader;
export {};

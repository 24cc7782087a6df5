import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import type { PipelineSettings, Report } from './settings.ts';
import { type SpanCounts } from './span-queue.ts';
export interface BackendStats extends SpanCounts {
    readonly name: string;
    readonly type: string;
    /** In words, for a person. */
    readonly lastError?: string;
}
export interface PipelineStats {
    /** The local trace log is one of them, as `local_log`. */
    readonly backends: readonly BackendStats[];
    /** Where the local trace log of this process is, or will be once a span has ended. */
    readonly traceFile?: string;
}
export interface Pipeline {
    readonly tracerProvider: TracerProvider;
    readonly meterProvider: MeterProvider;
    /** Seeds the ids of the next span that is started; undefined unless ids are deterministic. */
    readonly seedIds: ((traceIdentity: string, spanIdentity: string) => void) | undefined;
    /**
     * Resolves when everything that is queued or in flight now has been delivered or has failed, on every backend, traces
     * and metrics. Never rejects, and has no bound; it keeps the process alive for `flushWaitMillis` at most.
     */
    flush(): Promise<void>;
    /**
     * Delivers what there is, then closes. What is not delivered within `flushWaitMillis` is given up and counted.
     * Idempotent; never rejects.
     */
    shutdown(): Promise<void>;
    stats(): PipelineStats;
}
/**
 * Builds what records and delivers, without touching anything global. Problems with a backend are reported and leave
 * the others alone.
 *
 * @example
 * const pipeline = createPipeline(settings, report)
 * pipeline.tracerProvider.getTracer('example').startSpan('work').end()
 * await pipeline.shutdown()
 */
export declare function createPipeline(settings: PipelineSettings, report: Report): Pipeline;

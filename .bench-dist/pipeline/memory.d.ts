import type { Pipeline } from './pipeline.ts';
import type { PipelineSettings } from './settings.ts';
/** One series of an instrument as it stands now. */
export interface MetricSample {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    /** Of a counter or gauge; of a histogram the sum. */
    readonly value: number;
    /** Recorded points; histograms only. */
    readonly count?: number;
}
export interface MemoryPipeline extends Pipeline {
    /** All spans that have ended, in the order of their ends, as OTLP/JSON lines. */
    lines(): readonly string[];
    samples(): Promise<readonly MetricSample[]>;
}
/** Keeps everything in memory: for tests, ours and those of users. Nothing is written and nothing is sent. */
export declare function createMemoryPipeline(settings: PipelineSettings): MemoryPipeline;

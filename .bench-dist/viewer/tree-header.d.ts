import { type Segment } from './segments.ts';
import type { TraceSummary } from './trace-summary.ts';
/** Agent, session and turn; the trace's id where nothing else is known. */
export declare function headerTitle(summary: TraceSummary, traceId: string): Segment[];
export declare function headerTime(summary: TraceSummary): string;
/** `completed · 14.2 s · 4 150 → 206 tokens · 13 spans · 1 error · + 1 176 tokens in sub-agents`. */
export declare function headerFigures(summary: TraceSummary): Segment[];
export declare function totalFigures(summaries: readonly TraceSummary[]): Segment[];

import type { BackendPlan } from './backend-plan.ts';
import type { SpanSink } from './delivery.ts';
import { OtlpMetricSink } from './otlp-exporters.ts';
import type { LocalLogSettings } from './settings.ts';
export interface LocalLog {
    readonly sink: SpanSink;
    readonly path: string;
}
/** The local trace log: one append-only file per process, each line one OTLP/JSON request, as OTLP file readers want it. */
export declare function openLocalLog(settings: LocalLogSettings): LocalLog;
/** The backend `file`: the same lines, where the person wants them. */
export declare function openFileSpanSink(plan: BackendPlan): SpanSink;
export declare function openFileMetricSink(plan: BackendPlan): OtlpMetricSink | undefined;

import type { MetricReader } from '@opentelemetry/sdk-metrics';
import type { BackendPlan } from './backend-plan.ts';
import { DeliveryReport } from './delivery-report.ts';
import { MetricOutbox } from './metrics.ts';
import type { PipelineSettings, Report } from './settings.ts';
import { SpanQueue } from './span-queue.ts';
/** One place that telemetry goes to: a backend, or the local trace log. */
export interface OpenBackend {
    readonly name: string;
    readonly type: string;
    readonly report: DeliveryReport;
    readonly queue?: SpanQueue;
    readonly reader?: MetricReader;
    readonly outbox?: MetricOutbox;
}
export declare function openBackend(plan: BackendPlan, settings: PipelineSettings, report: Report): OpenBackend;

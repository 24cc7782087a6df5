import type { BackendPlan } from './backend-plan.ts'
import type { SpanSink } from './delivery.ts'
import { LineFile } from './line-file.ts'
import { OtlpMetricSink, OtlpSpanSink } from './otlp-exporters.ts'

/** The backend `file`: the same lines, where the person wants them. */
export function openFileSpanSink(plan: BackendPlan): SpanSink {
  return new OtlpSpanSink('http/json', new LineFile(plan.options['path'] ?? ''))
}

export function openFileMetricSink(plan: BackendPlan): OtlpMetricSink | undefined {
  const path = plan.options['metrics_path']
  return path === undefined ? undefined : new OtlpMetricSink('http/json', new LineFile(path))
}

import type { BackendPlan } from './backend-plan.ts'
import type { SpanSink } from './delivery.ts'
import { LineFile } from './line-file.ts'
import { OtlpMetricSink, OtlpSpanSink } from './otlp-exporters.ts'
import type { LocalLogSettings } from './settings.ts'
import { newTraceFile, pruneTraceFiles } from './trace-directory.ts'

export interface LocalLog {
  readonly sink: SpanSink
  readonly path: string
}

/** The local trace log: one append-only file per process, each line one OTLP/JSON request, as OTLP file readers want it. */
export function openLocalLog(settings: LocalLogSettings): LocalLog {
  const file = new LineFile(newTraceFile(settings.directory), () => pruneTraceFiles(settings))
  return { sink: new OtlpSpanSink('http/json', file), path: file.path }
}

/** The backend `file`: the same lines, where the person wants them. */
export function openFileSpanSink(plan: BackendPlan): SpanSink {
  return new OtlpSpanSink('http/json', new LineFile(plan.options['path'] ?? ''))
}

export function openFileMetricSink(plan: BackendPlan): OtlpMetricSink | undefined {
  const path = plan.options['metrics_path']
  return path === undefined ? undefined : new OtlpMetricSink('http/json', new LineFile(path))
}

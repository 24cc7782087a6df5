import { LineFile } from './line-file.js';
import { OtlpMetricSink, OtlpSpanSink } from './otlp-exporters.js';
import { newTraceFile, pruneTraceFiles } from './trace-directory.js';
/** The local trace log: one append-only file per process, each line one OTLP/JSON request, as OTLP file readers want it. */
export function openLocalLog(settings) {
    const file = new LineFile(newTraceFile(settings.directory), () => pruneTraceFiles(settings));
    return { sink: new OtlpSpanSink('http/json', file), path: file.path };
}
/** The backend `file`: the same lines, where the person wants them. */
export function openFileSpanSink(plan) {
    return new OtlpSpanSink('http/json', new LineFile(plan.options['path'] ?? ''));
}
export function openFileMetricSink(plan) {
    const path = plan.options['metrics_path'];
    return path === undefined ? undefined : new OtlpMetricSink('http/json', new LineFile(path));
}

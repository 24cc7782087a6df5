/** The pipeline only delivers. Importing it loads no package of OpenTelemetry. */

export { BACKENDS, type BackendOptionRow } from '../backends/rows.ts'
export { traceLinks } from './backend-plan.ts'
export type { LogCounts } from './log-queue.ts'
export type { LogEvent } from './log-sink.ts'
export { type BackendStats, createPipeline, loadsToSend, type Pipeline, type PipelineStats } from './pipeline.ts'
export type { PipelineSettings, Reporter } from './settings.ts'
export type { SpanCounts } from './span-queue.ts'
export { type MetricReader, type SpanProcessor, type UserExtensionOptions, userExtensions } from './user-extensions.ts'

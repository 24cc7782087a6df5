/** The pipeline only delivers. Importing it loads no package of OpenTelemetry. */

export type { BackendOptionRow } from '../backends/row.ts'
export { BACKENDS } from '../backends/rows.ts'
export { UserExtensions, type UserExtensionOptions, type MetricReader, type SpanProcessor } from './added.ts'
export { traceLinks } from './backend-links.ts'
export type { LogCounts } from './log-queue.ts'
export type { LogEvent } from './log-record.ts'
export { type BackendStats, createPipeline, loadsOf, type Pipeline, type PipelineStats } from './pipeline.ts'
export type { TailSamplingSettings, PipelineSettings, Reporter } from './settings.ts'
export type { SpanCounts } from './span-tally.ts'

/** The pipeline only delivers. Importing it loads no package of OpenTelemetry. */

export type { OptionRow } from '../backends/row.ts'
export { BACKENDS } from '../backends/rows.ts'
export { Added, type HandedOver, type MetricReader, type SpanProcessor } from './added.ts'
export { traceLinks } from './backend-links.ts'
export { type BackendStats, createPipeline, loadsOf, type Pipeline, type PipelineStats } from './pipeline.ts'
export type { PipelineSettings, Report } from './settings.ts'
export type { SpanCounts } from './span-tally.ts'
export { type BacklogEntry, destinationsOwed, readBacklog } from './trace-log/backlog.ts'
export { type Loss, readLosses } from './trace-log/losses.ts'
export { makePrivateDirectory } from './trace-log/private-place.ts'
export type { Resend, ResendOutcome } from './trace-log/resend.ts'

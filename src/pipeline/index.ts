/** The pipeline only delivers. Importing it loads no package of OpenTelemetry. */
export { traceLinks } from './backend-links.ts'
export type { OptionRow } from './backend-row.ts'
export { BACKENDS } from './backends.ts'
export { type BackendStats, createPipeline, type Pipeline } from './pipeline.ts'
export type { BackendSettings, PipelineSettings, Report } from './settings.ts'
export { type BacklogEntry, readBacklog } from './trace-log/backlog.ts'
export { type Loss, readLosses } from './trace-log/losses.ts'
export { appendToOwnFile, makePrivateDirectory } from './trace-log/private-place.ts'

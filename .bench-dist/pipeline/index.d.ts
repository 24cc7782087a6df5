/** The pipeline only delivers. Importing it loads no package of OpenTelemetry. */
export { type ReadBackRequest, type TraceLinks, traceLinks } from './backend-links.ts';
export type { BackendRow, OptionRow, Options, ReadBack } from './backend-row.ts';
export { BACKENDS, backendRow } from './backends.ts';
export { type BackendStats, createPipeline, type Pipeline, type PipelineStats } from './pipeline.ts';
export type { BackendSettings, BatchSettings, LocalLogSettings, PipelineSettings, PrometheusSettings, Protocol, Report, SamplerSettings, Temporality, } from './settings.ts';

/** The pipeline only delivers. Importing it loads no package of OpenTelemetry. */
export { traceLinks } from './backend-links.js';
export { BACKENDS, backendRow } from './backends.js';
export { createPipeline } from './pipeline.js';

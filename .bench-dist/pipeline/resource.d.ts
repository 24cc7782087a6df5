import type { Attributes } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { PipelineSettings } from './settings.ts';
/** `backendAttributes` are those that a backend finds its tenant by. Later entries win. */
export declare function createResource(settings: PipelineSettings, backendAttributes: Attributes): Resource;

import type { Sampler } from '@opentelemetry/sdk-trace-base';
import type { SamplerSettings } from './settings.ts';
/** Decided once per trace, at its root. Always explicit: without one, the SDK would read a sampler from the environment. */
export declare function createSampler(settings: SamplerSettings): Sampler;

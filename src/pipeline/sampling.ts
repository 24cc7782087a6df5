import type { Sampler } from '@opentelemetry/sdk-trace-base'
import { traceSdk } from './sdk.ts'
import type { SamplerSettings } from './settings.ts'

/** Decided once per trace, at its root. Always explicit: without one, the SDK would read a sampler from the environment. */
export function createSampler(settings: SamplerSettings): Sampler {
  return new (traceSdk().ParentBasedSampler)({ root: rootSampler(settings) })
}

function rootSampler(settings: SamplerSettings): Sampler {
  const { AlwaysOffSampler, AlwaysOnSampler, TraceIdRatioBasedSampler } = traceSdk()
  switch (settings.type) {
    case 'always_on':
      return new AlwaysOnSampler()
    case 'always_off':
      return new AlwaysOffSampler()
    case 'ratio':
      return new TraceIdRatioBasedSampler(settings.ratio ?? 1)
  }
}

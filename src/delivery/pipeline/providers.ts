import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { IMetricReader } from '@opentelemetry/sdk-metrics'
import type { IdGenerator, Sampler, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { api, metricsSdk, traceSdk } from './sdk.ts'
import type { PipelineSettings } from './settings.ts'

/** The SDK's own defaults, set explicitly: unset limits are read from the environment. */
const PER_EVENT_OR_LINK = 128

export interface TracerProviderOptions {
  readonly settings: PipelineSettings
  readonly resource: Resource
  readonly spanProcessors: SpanProcessor[]
  readonly idGenerator: IdGenerator | undefined
}

/** Creates a private provider. It is never registered, so a host's own OpenTelemetry works beside it. */
export function createTracerProvider(parts: TracerProviderOptions): TracerProvider {
  return new (traceSdk().BasicTracerProvider)({
    resource: parts.resource,
    sampler: createSampler(parts.settings.sampleRate),
    spanProcessors: parts.spanProcessors,
    ...(parts.idGenerator ? { idGenerator: parts.idGenerator } : {}),
    spanLimits: {
      attributeCountLimit: parts.settings.attributeCountLimit,
      attributeValueLengthLimit: Number.POSITIVE_INFINITY,
      eventCountLimit: PER_EVENT_OR_LINK,
      linkCountLimit: PER_EVENT_OR_LINK,
      attributePerEventCountLimit: PER_EVENT_OR_LINK,
      attributePerLinkCountLimit: PER_EVENT_OR_LINK,
    },
  })
}

export interface OwnMeterProvider {
  readonly meterProvider: MeterProvider
  forceFlush(): Promise<void>
  shutdown(): Promise<void>
}

/** Without a reader there is no use for points, so the metrics SDK is not loaded. */
export function createMeterProvider(resource: Resource, readers: IMetricReader[]): OwnMeterProvider {
  if (readers.length === 0) return unreadMeterProvider()
  const provider = new (metricsSdk().MeterProvider)({ resource, readers })
  return {
    meterProvider: provider,
    forceFlush: () => provider.forceFlush(),
    shutdown: () => provider.shutdown(),
  }
}

function unreadMeterProvider(): OwnMeterProvider {
  const meter = api().createNoopMeter()
  return {
    meterProvider: { getMeter: () => meter },
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  }
}

/** Samples once per trace, at its root. Always explicit: otherwise the SDK would read a sampler from the environment. */
function createSampler(rate: number | undefined): Sampler {
  const { AlwaysOnSampler, ParentBasedSampler, TraceIdRatioBasedSampler } = traceSdk()
  return new ParentBasedSampler({
    root: rate === undefined ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(rate),
  })
}

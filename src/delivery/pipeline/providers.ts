import { randomUUID } from 'node:crypto'
import { arch, hostname, platform } from 'node:os'
import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { IMetricReader } from '@opentelemetry/sdk-metrics'
import type { IdGenerator, Sampler, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { OPENINFERENCE } from '../../contract/semconv/index.ts'
import { api, conventions, metricsSdk, resources, traceSdk } from './sdk.ts'
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

const ARCHITECTURES: Readonly<Record<string, string>> = {
  arm: 'arm32',
  ia32: 'x86',
  ppc: 'ppc32',
  x64: 'amd64',
}
const SYSTEMS: Readonly<Record<string, string>> = { sunos: 'solaris', win32: 'windows' }

/** Attributes of this process. Omitted with deterministic ids, so that the same input gives the same output on any machine. */
function thisProcess(): Attributes {
  return {
    [conventions().ATTR_SERVICE_INSTANCE_ID]: randomUUID(),
    'process.pid': process.pid,
    'process.runtime.name': 'nodejs',
    'process.runtime.version': process.versions.node,
    'host.name': hostname(),
    'host.arch': ARCHITECTURES[arch()] ?? arch(),
    'os.type': SYSTEMS[platform()] ?? platform(),
  }
}

function named(settings: PipelineSettings): Attributes {
  const names = conventions()
  return {
    [names.ATTR_SERVICE_NAME]: settings.serviceName,
    [names.ATTR_TELEMETRY_DISTRO_NAME]: 'hookspan',
    [names.ATTR_TELEMETRY_DISTRO_VERSION]: settings.version,
  }
}

/** Later entries win. */
export function createResource(settings: PipelineSettings, backendAttributes: Attributes): Resource {
  const { defaultResource, resourceFromAttributes } = resources()
  return defaultResource().merge(
    // Without a schema URL: the official JSON serializer writes it inside the resource, where OTLP has no such field.
    resourceFromAttributes({
      ...named(settings),
      ...(settings.deterministicIds ? {} : thisProcess()),
      ...(settings.projectName === undefined ? {} : { [OPENINFERENCE.projectName]: settings.projectName }),
      ...backendAttributes,
      ...settings.resourceAttributes,
    }),
  )
}

import { randomUUID } from 'node:crypto'
import { arch, hostname, platform } from 'node:os'
import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { IMetricReader } from '@opentelemetry/sdk-metrics'
import type { IdGenerator } from '@opentelemetry/sdk-trace-base'
import { OPENINFERENCE } from '../../contract/semconv/index.ts'
import { PlainResource } from '../trace-log/index.ts'
import { Histograms } from './histograms.ts'
import { type OwnTracerProvider, ownTracerProvider } from './own-tracer.ts'
import { api, metricsSdk, traceSdk } from './sdk.ts'
import type { PipelineSettings } from './settings.ts'
import type { SpanListener } from './span-processors.ts'

/** The SDK's own defaults, set explicitly: unset limits are read from the environment. */
const PER_EVENT_OR_LINK = 128

export interface TracerProviderOptions {
  readonly settings: PipelineSettings
  readonly resource: PlainResource
  readonly spanProcessors: readonly SpanListener[]
  readonly idGenerator: IdGenerator
}

/** A private provider: it is never registered, so a host's own OpenTelemetry works beside it. */
export function createOwnTracerProvider({ settings, ...parts }: TracerProviderOptions): OwnTracerProvider {
  const { sampleRate, attributeCountLimit } = settings
  return ownTracerProvider({ ...parts, sampleRate, attributeCountLimit, partCountLimit: PER_EVENT_OR_LINK })
}

/** The SDK's provider, equally private, for span processors that may be the user's. */
export function createSdkTracerProvider({ settings, ...parts }: TracerProviderOptions): TracerProvider {
  const { AlwaysOnSampler, BasicTracerProvider, ParentBasedSampler, TraceIdRatioBasedSampler } = traceSdk()
  const { sampleRate: rate, attributeCountLimit } = settings
  return new BasicTracerProvider({
    ...parts,
    // Samples once per trace, at its root. Always explicit: otherwise the SDK would read a sampler from the environment.
    sampler: new ParentBasedSampler({
      root: rate === undefined ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(rate),
    }),
    spanProcessors: parts.spanProcessors.map(processor => ({
      onStart: (span, context) => processor.onStart(span, context),
      onEnd: span => processor.onEnd(span),
      forceFlush: done,
      shutdown: done,
    })),
    spanLimits: {
      attributeCountLimit,
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

const done = (): Promise<void> => Promise.resolve()

/** Without a reader there is no use for points, so the metrics SDK is not loaded. */
export function createMeterProvider(resource: PlainResource, readers: IMetricReader[]): OwnMeterProvider {
  if (readers.length === 0) {
    const meter = api().createNoopMeter()
    return { meterProvider: { getMeter: () => meter }, forceFlush: done, shutdown: done }
  }
  const histograms = Histograms.suit(readers) ? new Histograms(readers) : undefined
  const provider = new (metricsSdk().MeterProvider)({ resource, readers: histograms?.readers() ?? readers })
  return {
    meterProvider: histograms?.meterProvider(provider) ?? provider,
    forceFlush: () => provider.forceFlush(),
    shutdown: () => provider.shutdown(),
  }
}

const ARCHITECTURES: Readonly<Record<string, string>> = { arm: 'arm32', ia32: 'x86', ppc: 'ppc32', x64: 'amd64' }
const SYSTEMS: Readonly<Record<string, string>> = { sunos: 'solaris', win32: 'windows' }

/** Attributes of this process. Omitted with deterministic ids, so that the same input gives the same output on any machine. */
function thisProcess(): Attributes {
  return {
    'service.instance.id': randomUUID(),
    'process.pid': process.pid,
    'process.runtime.name': 'nodejs',
    'process.runtime.version': process.versions.node,
    'host.name': hostname(),
    'host.arch': ARCHITECTURES[arch()] ?? arch(),
    'os.type': SYSTEMS[platform()] ?? platform(),
  }
}

const SDK = {
  'telemetry.sdk.language': 'nodejs',
  'telemetry.sdk.name': 'opentelemetry',
  'telemetry.sdk.version': '2.12.0',
}

/** Later entries win. Without a schema URL: the official JSON serializer writes it inside the resource, where OTLP has no such field. */
export function createResource(settings: PipelineSettings, backendAttributes: Attributes): PlainResource {
  const ours = {
    'service.name': settings.serviceName,
    'telemetry.distro.name': 'hookspan',
    'telemetry.distro.version': settings.version,
    ...(settings.deterministicIds ? {} : thisProcess()),
    ...(settings.projectName === undefined ? {} : { [OPENINFERENCE.projectName]: settings.projectName }),
    ...backendAttributes,
    ...settings.resourceAttributes,
  }
  return new PlainResource({ ...ours, ...SDK, ...ours })
}

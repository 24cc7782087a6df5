import type { LogEvent } from './log-sink.ts'
import type { Pipeline } from './pipeline.ts'
import { createMeterProvider, createResource, createSdkTracerProvider } from './providers.ts'
import { metricsSdk, traceSdk, transformer } from './sdk.ts'
import type { PipelineSettings } from './settings.ts'
import { SpanIdGenerator } from './span-id-generator.ts'
import type { UserExtensions } from './user-extensions.ts'

/** The current state of one series of an instrument. */
export interface MetricSample {
  /** Name of the instrument */
  readonly name: string
  /** Labels that identify the series within the instrument */
  readonly labels: Readonly<Record<string, string>>
  /** Value of a counter or gauge, or the sum of a histogram. */
  readonly value: number
  /** Number of recorded points; histograms only. */
  readonly count?: number
}

export interface MemoryPipeline extends Pipeline {
  lines(): readonly string[]
  samples(): Promise<readonly MetricSample[]>
  readonly logEvents: readonly LogEvent[]
}

type Value = number | { readonly sum?: number | undefined; readonly count: number }

function sampleOf(name: string, attributes: object, value: Value): MetricSample {
  const labels = Object.fromEntries(Object.entries(attributes).map(([key, label]) => [key, String(label)]))
  if (typeof value === 'number') return { name, labels, value }
  return { name, labels, value: value.sum ?? 0, count: value.count }
}

export function createMemoryPipeline(
  settings: PipelineSettings,
  added: UserExtensions = { spanProcessors: [], metricReaders: [] },
): MemoryPipeline {
  const sdk = traceSdk()
  const exporter = new sdk.InMemorySpanExporter()
  const reader = new (class extends metricsSdk().MetricReader {
    protected onForceFlush(): Promise<void> {
      return Promise.resolve()
    }
    protected onShutdown(): Promise<void> {
      return Promise.resolve()
    }
  })()
  const resource = createResource(settings, {})
  const idGenerator = new SpanIdGenerator()
  const spanProcessors = [new sdk.SimpleSpanProcessor(exporter), ...added.spanProcessors]
  const meters = createMeterProvider(resource, [reader, ...added.metricReaders])
  const logEvents: LogEvent[] = []
  const decode = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes)
  return {
    tracerProvider: createSdkTracerProvider({ settings, resource, spanProcessors, idGenerator }),
    meterProvider: meters.meterProvider,
    onMeterProvider: use => use(meters.meterProvider),
    log: event => void logEvents.push(event),
    logEvents,
    seedIds: settings.deterministicIds ? idGenerator.seed : undefined,
    reserveIds: settings.deterministicIds ? undefined : idGenerator.reserve,
    flush: async () => {
      await Promise.all([...added.spanProcessors.map(processor => processor.forceFlush()), meters.forceFlush()])
    },
    startFlush: () => undefined,
    shutdown: async () => {
      await Promise.all(added.spanProcessors.map(processor => processor.shutdown()))
    },
    startLogFlush: () => undefined,
    renewNote: () => undefined,
    flushLogSync: () => undefined,
    shutdownSync: () => undefined,
    setEarlyDecision: () => undefined,
    recover: () => undefined,
    deliverBacklog: () => Promise.resolve(),
    resend: () => undefined,
    stats: () => ({ backends: [], traceFiles: [] }),
    lines: () =>
      exporter.getFinishedSpans().map(span => decode(transformer().JsonTraceSerializer.serializeRequest([span]))),
    async samples() {
      const { resourceMetrics } = await reader.collect()
      return resourceMetrics.scopeMetrics.flatMap(scope =>
        scope.metrics.flatMap(({ descriptor, dataPoints }) =>
          dataPoints.map(({ attributes, value }) => sampleOf(descriptor.name, attributes, value as Value)),
        ),
      )
    },
  }
}

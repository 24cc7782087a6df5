import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { LogEvent } from './log-sink.ts'
import { DeliveryPipeline, type Pipeline } from './pipeline.ts'
import { metricsSdk, transformer } from './sdk.ts'
import type { PipelineSettings, Reporter } from './settings.ts'
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

const nothing = (): void => undefined
const done = (): Promise<void> => Promise.resolve()
const SILENT: Reporter = { warn: nothing, error: nothing, debug: nothing }

/** A pipeline without backends and files, whose data can also be read after its shutdown. */
export function createMemoryPipeline(
  { localLog: _none, prometheus: _unserved, ...settings }: PipelineSettings,
  added: UserExtensions = { spanProcessors: [], metricReaders: [] },
): MemoryPipeline {
  const spans: ReadableSpan[] = []
  const collector = { onStart: nothing, onEnd: (span: ReadableSpan) => void spans.push(span) }
  const reader = new (class extends metricsSdk().MetricReader {
    protected onForceFlush = done
    protected onShutdown = done
  })()
  const logEvents: LogEvent[] = []
  const pipeline = new DeliveryPipeline({ ...settings, backends: [] }, SILENT, {
    spanProcessors: [{ ...collector, forceFlush: done, shutdown: done }, ...added.spanProcessors],
    metricReaders: [reader, ...added.metricReaders],
  })
  return Object.assign(pipeline, {
    log: (event: LogEvent) => void logEvents.push(event),
    logEvents,
    shutdown: async () => {
      await Promise.all(added.spanProcessors.map(processor => processor.shutdown()))
    },
    lines: () =>
      spans.map(span => new TextDecoder().decode(transformer().JsonTraceSerializer.serializeRequest([span]))),
    samples: async () => {
      // Binds the reader, which is unbound if the core could not be loaded.
      void pipeline.meterProvider
      const { resourceMetrics } = await reader.collect()
      const metrics = resourceMetrics.scopeMetrics.flatMap(scope => scope.metrics)
      return metrics.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => sampleOf(descriptor.name, attributes, value as Value)),
      )
    },
  })
}

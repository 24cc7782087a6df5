import { AggregationTemporality, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'

/** Collects when it is asked to. */
export class ManualReader extends MetricReader {
  constructor() {
    super({ aggregationTemporalitySelector: () => AggregationTemporality.CUMULATIVE })
  }
  async onForceFlush() {}
  async onShutdown() {}
}

/** The SDK with nothing behind it, so that only recording is measured. `onEnd` and `onStart` see the spans. */
export function sdk(onEnd = () => {}, onStart = () => {}) {
  const processor = { onStart, onEnd, async forceFlush() {}, async shutdown() {} }
  const reader = new ManualReader()
  return {
    reader,
    tracerProvider: new BasicTracerProvider({ spanProcessors: [processor], spanLimits: { attributeCountLimit: 1024 } }),
    meterProvider: new MeterProvider({ readers: [reader] }),
  }
}

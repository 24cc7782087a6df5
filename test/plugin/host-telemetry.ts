import { context, type Span, type Tracer } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterwards } from '../support/afterwards.ts'

/** The OpenTelemetry of an application that has one: contexts that follow what is asynchronous, an exporter of its own. */
export interface HostTelemetry {
  readonly tracerProvider: BasicTracerProvider
  readonly tracer: Tracer
  ended(): readonly ReadableSpan[]
  /** The one that ended under this name. */
  span(name: string): ReadableSpan
  /** Runs within a span of the host's, which ends with it. */
  within<Result>(name: string, run: (span: Span) => Result): Result
}

export function hostTelemetry({ sampler }: { sampler?: Sampler } = {}): HostTelemetry {
  afterwards(() => context.disable())
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(sampler && { sampler }),
  })
  const tracer = tracerProvider.getTracer('host')
  return {
    tracerProvider,
    tracer,
    ended: () => exporter.getFinishedSpans(),
    span(name) {
      const found = exporter.getFinishedSpans().filter(span => span.name === name)
      if (found.length !== 1) throw new Error(`${found.length} spans are named ${name}`)
      return found[0] as ReadableSpan
    },
    within: (name, run) =>
      tracer.startActiveSpan(name, span => {
        try {
          return run(span)
        } finally {
          span.end()
        }
      }),
  }
}

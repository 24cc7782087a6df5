import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { type BatchConsumer, type Continuation, isSampled, SpanLine } from '../trace-log/index.ts'

/** A processor of ours. The pipeline flushes the log and the queues behind it itself. */
export type SpanListener = Pick<SpanProcessor, 'onStart' | 'onEnd'>

/** Passes ended spans to the queues, without a log, unless the previous process, which this one continues, has sent them. */
export function directProcessor(queues: readonly BatchConsumer[], wasSent: () => boolean = () => false): SpanListener {
  return {
    onStart: () => undefined,
    onEnd(span) {
      if (!isSampled(span) || wasSent()) return
      const lines = [new SpanLine([span])]
      for (const queue of queues) queue.enqueueBatch({ lines })
    },
  }
}

/** Passes on the spans that the previous process, which this one continues, has not written. */
export function newSpanFilter(next: SpanListener, isWritten: Continuation['isWritten']): SpanListener {
  const written = new WeakSet<ReadableSpan>()
  return {
    onStart(span, context) {
      const { traceId, spanId } = span.spanContext()
      if (isWritten(traceId, spanId)) written.add(span)
      else next.onStart(span, context)
    },
    onEnd(span) {
      if (!written.has(span)) next.onEnd(span)
    },
  }
}

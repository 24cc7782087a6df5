import type { Context } from '@opentelemetry/api'
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { Continuation } from '../trace-log/index.ts'

/** A span processor that filters out spans already written by the previous process. */
export class NewSpanFilter implements SpanProcessor {
  readonly #next: SpanProcessor
  readonly #isWritten: Continuation['isWritten']
  readonly #written = new WeakSet<ReadableSpan>()

  constructor(next: SpanProcessor, isWritten: Continuation['isWritten']) {
    this.#next = next
    this.#isWritten = isWritten
  }

  onStart(span: Span, context: Context): void {
    const { traceId, spanId } = span.spanContext()
    if (this.#isWritten(traceId, spanId)) this.#written.add(span)
    else this.#next.onStart(span, context)
  }

  onEnd(span: ReadableSpan): void {
    if (!this.#written.has(span)) this.#next.onEnd(span)
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#next.shutdown()
  }
}

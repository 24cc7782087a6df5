import type { Context } from '@opentelemetry/api'
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { Continuation } from '../trace-log/index.ts'

/** Stands before where spans go, and keeps from it those that a process before this one has written. */
export class OnlyNew implements SpanProcessor {
  readonly #next: SpanProcessor
  readonly #continuation: Continuation
  readonly #isLogged: boolean
  readonly #written = new WeakSet<ReadableSpan>()

  /** @param isLogged whether there is a log that knows which spans were written; else what ended there was sent */
  constructor(next: SpanProcessor, continuation: Continuation, isLogged: boolean) {
    this.#next = next
    this.#continuation = continuation
    this.#isLogged = isLogged
  }

  onStart(span: Span, context: Context): void {
    const { traceId, spanId } = span.spanContext()
    if (this.#continuation.isWritten(traceId, spanId)) this.#written.add(span)
    else this.#next.onStart(span, context)
  }

  onEnd(span: ReadableSpan): void {
    const wasSent = !this.#isLogged && this.#continuation.isReading
    if (!wasSent && !this.#written.has(span)) this.#next.onEnd(span)
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#next.shutdown()
  }
}

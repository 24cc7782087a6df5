import type { Context } from '@opentelemetry/api'
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { type BatchConsumer, type Continuation, SpanLine } from '../trace-log/index.ts'

const SAMPLED = 1

export class DirectSpanProcessor implements SpanProcessor {
  readonly #consumers: readonly BatchConsumer[]

  readonly #wasSent: () => boolean

  /** @param wasSent returns true if the previous process, which this one continues, has already sent the current spans */
  constructor(receivers: readonly BatchConsumer[], wasSent: () => boolean = () => false) {
    this.#consumers = receivers
    this.#wasSent = wasSent
  }

  onStart(): void {
    // Only ended spans are delivered.
  }

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & SAMPLED) === 0 || this.#wasSent()) return
    const lines = [new SpanLine([span])]
    for (const receiver of this.#consumers) receiver.enqueueBatch({ lines })
  }

  forceFlush(): Promise<void> {
    return Promise.resolve()
  }

  shutdown(): Promise<void> {
    return Promise.resolve()
  }
}

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

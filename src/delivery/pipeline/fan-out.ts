import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { type BatchReceiver, SpanLine } from '../trace-log/index.ts'

const SAMPLED = 1

/** Passes ended spans directly to the backends if there is no trace log. */
export class DirectSpanProcessor implements SpanProcessor {
  readonly #takers: readonly BatchReceiver[]

  readonly #wasSent: () => boolean

  /** @param wasSent returns true if the previous process, which this one continues, has already sent the current spans */
  constructor(takers: readonly BatchReceiver[], wasSent: () => boolean = () => false) {
    this.#takers = takers
    this.#wasSent = wasSent
  }

  onStart(): void {
    // Only ended spans are delivered.
  }

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & SAMPLED) === 0 || this.#wasSent()) return
    const lines = [SpanLine.of([span])]
    for (const taker of this.#takers) taker.enqueueBatch({ lines })
  }

  /** The pipeline flushes and closes the queues. */
  forceFlush(): Promise<void> {
    return Promise.resolve()
  }

  shutdown(): Promise<void> {
    return Promise.resolve()
  }
}

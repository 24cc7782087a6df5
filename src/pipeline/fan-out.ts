import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { type BatchTaker, SpanLine } from '../trace-log/index.ts'

const SAMPLED = 1

/** Hands spans that have ended straight to the backends, where there is no trace log. */
export class FanOut implements SpanProcessor {
  readonly #takers: readonly BatchTaker[]

  constructor(takers: readonly BatchTaker[]) {
    this.#takers = takers
  }

  onStart(): void {
    // Only ended spans are delivered.
  }

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & SAMPLED) === 0) return
    const lines = [SpanLine.of([span])]
    for (const taker of this.#takers) taker.take({ lines })
  }

  /** The queues are flushed and closed by the pipeline. */
  forceFlush(): Promise<void> {
    return Promise.resolve()
  }

  shutdown(): Promise<void> {
    return Promise.resolve()
  }
}

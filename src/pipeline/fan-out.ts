import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { type BatchTaker, SpanLine } from '../trace-log/index.ts'

const SAMPLED = 1

/** Hands spans that have ended straight to the backends, where there is no trace log. */
export class FanOut implements SpanProcessor {
  readonly #takers: readonly BatchTaker[]

  readonly #wasSent: () => boolean

  /** @param wasSent whether what comes now came before, to a process that this one goes on with, and was sent by that */
  constructor(takers: readonly BatchTaker[], wasSent: () => boolean = () => false) {
    this.#takers = takers
    this.#wasSent = wasSent
  }

  onStart(): void {
    // Only ended spans are delivered.
  }

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & SAMPLED) === 0 || this.#wasSent()) return
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

import { type SpanLine, sizeOf } from '../trace-log/index.ts'
import type { ExportResult, SpanSink } from './delivery.ts'

/** Time for an aborted sink to report its result. */
const LAST_WORD_MILLIS = 50

/** Limits the duration of an export, so that a sink that never answers does not block its queue. One export at a time. */
export class BoundedSink {
  readonly #sink: SpanSink
  readonly #timeoutMillis: number
  #inFlight: AbortController | undefined
  #inFlightAt = 0

  constructor(sink: SpanSink, timeoutMillis: number) {
    this.#sink = sink
    this.#timeoutMillis = timeoutMillis
  }

  /** Never rejects. */
  async export(lines: readonly SpanLine[]): Promise<ExportResult> {
    const inFlight = new AbortController()
    this.#inFlight = inFlight
    this.#inFlightAt = performance.now()
    const exported = this.#sink.export(lines, inFlight.signal).catch(() => broken(lines))
    const lastWord = new Promise<ExportResult>(resolve => {
      const giveUp = (): void =>
        resolve({ lost: sizeOf(lines), failure: { kind: 'timeout', afterMillis: this.#timeoutMillis } })
      inFlight.signal.addEventListener('abort', () => setTimeout(giveUp, LAST_WORD_MILLIS).unref(), { once: true })
    })
    const guard = setTimeout(() => inFlight.abort(), this.#timeoutMillis).unref()
    const delivery = await Promise.race([exported, lastWord])
    clearTimeout(guard)
    this.#inFlight = undefined
    return delivery
  }

  abort(): void {
    this.#inFlight?.abort()
  }

  waitedMillis(): number {
    return this.#inFlight ? performance.now() - this.#inFlightAt : 0
  }

  close(): Promise<void> {
    return this.#sink.close()
  }
}

function broken(lines: readonly SpanLine[]): ExportResult {
  return { lost: sizeOf(lines), failure: { kind: 'internal', reason: 'the exporter broke' } }
}

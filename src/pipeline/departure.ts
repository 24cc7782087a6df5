import type { OpenBackend } from './open-backend.ts'
import type { PrometheusEndpoint } from './prometheus.ts'
import type { OwnMeterProvider } from './providers.ts'
import type { SpanQueue } from './span-queue.ts'
import type { Store } from './trace-log/store.ts'

/** After the deadline, for what is cut off to be counted and said. */
const LAST_WORDS_MILLIS = 200

export interface DepartureParts {
  readonly backends: readonly OpenBackend[]
  readonly meters: OwnMeterProvider
  readonly prometheus: PrometheusEndpoint | undefined
  readonly waitMillis: number
  /** As in the settings. */
  readonly giveUp: AbortSignal | undefined
  readonly store: Store | undefined
}

interface Leaving {
  /** How long the export that is in flight has been. */
  waitedMillis(): number
  /** Takes up nothing more for others; resolves when what is in flight for them is over. */
  stop(): Promise<void>
  /** Gives up what is left; without effect on what is delivered. */
  abandon(): Promise<void>
}

/** Gets everything out of the house, now or for good. */
export class Departure {
  readonly #parts: DepartureParts
  #closed: Promise<void> | undefined
  #isHurrying = false

  constructor(parts: DepartureParts) {
    this.#parts = parts
  }

  async flush(): Promise<void> {
    if (this.#closed) return this.#closed
    const hold = new Hold(this.#parts.waitMillis)
    // First: it hands over to the backends what it has written.
    await this.#parts.store?.log.forceFlush()
    const delivered = Promise.allSettled(this.#queues(queue => queue.forceFlush()))
    await this.#beforeMetrics(delivered)
    await Promise.allSettled([delivered, this.#parts.meters.forceFlush()])
    hold.end()
  }

  /**
   * As `flush`, for those who do not wait: a flush waits for all backends, and one that hangs must not keep the others from
   * what has come since.
   */
  hurry(): void {
    if (this.#closed || this.#isHurrying) return
    this.#isHurrying = true
    const written = this.#parts.store?.log.forceFlush() ?? Promise.resolve()
    void written.finally(() => {
      this.#isHurrying = false
      this.#queues(queue => queue.hurry())
    })
  }

  shutdown(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    await this.#closeLog()
    const leavingAt = performance.now()
    const adopted = this.#parts.store?.recovered() ?? Promise.resolve()
    const left = Promise.all(this.#queues(queue => this.#leave(queue, queue.shutdown(adopted))))
    await this.#beforeMetrics(left)
    const measured = this.#parts.meters.shutdown().catch(() => undefined)
    const outboxes = this.#parts.backends.flatMap(({ outbox }) => outbox ?? [])
    const waitMillis = this.#parts.waitMillis - (performance.now() - leavingAt)
    await Promise.all([left, ...outboxes.map(outbox => this.#leave(outbox, measured, waitMillis))])
    await this.#closeStore()
    this.#parts.prometheus?.close()
  }

  /**
   * The metrics say what became of the spans, so they are collected when that is known; or at half the wait, because they
   * have to get out, too.
   */
  async #beforeMetrics(delivered: Promise<unknown>): Promise<void> {
    if (this.#parts.backends.some(({ outbox }) => outbox !== undefined))
      await within(this.#parts.waitMillis / 2, delivered, this.#parts.giveUp)
  }

  /** A disk may hang as a backend may. */
  async #closeLog(): Promise<void> {
    const { store, waitMillis } = this.#parts
    if (store === undefined) return
    await within(waitMillis, store.log.shutdown())
  }

  async #closeStore(): Promise<void> {
    const { store } = this.#parts
    if (store === undefined) return
    await within(LAST_WORDS_MILLIS, store.stop())
    store.release()
  }

  /** What a flush has waited for in vain already is not waited for again. */
  async #leave(
    leaving: Leaving,
    delivered: Promise<unknown>,
    waitMillis: number = this.#parts.waitMillis,
  ): Promise<void> {
    await within(Math.max(0, waitMillis - leaving.waitedMillis()), delivered, this.#parts.giveUp)
    await within(LAST_WORDS_MILLIS, leaving.stop())
    await within(LAST_WORDS_MILLIS, leaving.abandon())
  }

  #queues<Result>(run: (queue: SpanQueue) => Result): Result[] {
    return this.#parts.backends.flatMap(({ queue }) => (queue ? [run(queue)] : []))
  }
}

async function within(millis: number, done: Promise<unknown>, giveUp?: AbortSignal): Promise<void> {
  const hold = new Hold(millis)
  await Promise.race([done, hold.over, ...(giveUp === undefined ? [] : [aborted(giveUp)])])
  hold.end()
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/**
 * Keeps the process alive while something is waited for. Requests do not: a collector that hangs must never hold the
 * process for longer than this.
 */
class Hold {
  readonly over: Promise<void>
  #timer: NodeJS.Timeout | undefined

  constructor(millis: number) {
    this.over = new Promise(resolve => {
      this.#timer = setTimeout(resolve, millis)
    })
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}

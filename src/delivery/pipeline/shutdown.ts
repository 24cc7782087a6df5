import type { Store } from '../trace-log/index.ts'
import type { LogEmitter } from './log-emitter.ts'
import type { OpenBackend } from './open-backend.ts'
import type { PrometheusEndpoint } from './prometheus.ts'
import type { OwnMeterProvider } from './providers.ts'
import type { SpanQueue } from './span-queue.ts'
import { type UserExtensions, within } from './user-extensions.ts'

const LAST_WORDS_MILLIS = 200

export interface ShutdownOptions {
  readonly backends: readonly OpenBackend[]
  /** Undefined if no backend gets log events. */
  readonly emitter: LogEmitter | undefined
  readonly meters: OwnMeterProvider
  readonly extensions: UserExtensions
  readonly prometheus: PrometheusEndpoint | undefined
  readonly waitMillis: number
  readonly giveUp: AbortSignal | undefined
  readonly stores: readonly Store[]
}

interface ClosingQueue {
  waitedMillis(): number
  /** Starts nothing more for other processes. Resolves when their data in flight has been dealt with. */
  stop?(): Promise<void>
  abandon(): Promise<void>
}

export class Shutdown {
  readonly #parts: ShutdownOptions
  readonly #queues: readonly SpanQueue[]
  /** True if a backend gets metrics or logs. */
  readonly #hasReports: boolean
  /** True if any component reads the metrics. */
  readonly #hasReaders: boolean
  #closed: Promise<void> | undefined
  #isFlushStarted = false
  /** One listener per signal: many listeners would cause a leak warning on the host's stderr. */
  readonly #givenUp: Promise<void>[]

  constructor(parts: ShutdownOptions) {
    this.#parts = parts
    const { backends, prometheus, extensions } = parts
    this.#queues = backends.flatMap(({ queue }) => queue ?? [])
    this.#hasReports = backends.some(({ metricQueue, logs }) => metricQueue !== undefined || logs !== undefined)
    const hasMetrics = backends.some(({ reader }) => reader !== undefined)
    this.#hasReaders = hasMetrics || prometheus !== undefined || extensions.metricReaders.length > 0
    this.#givenUp = parts.giveUp === undefined ? [] : [aborted(parts.giveUp)]
  }

  async flush(): Promise<void> {
    if (this.#closed) return this.#closed
    const { emitter, extensions, meters, waitMillis } = this.#parts
    // Keeps the process alive. Requests do not: a hanging collector must not hold the process.
    const hold = setTimeout(() => undefined, waitMillis)
    const extended = extensions.spanProcessors.length > 0 ? extensions.flush() : undefined
    // First: writing to the log passes the spans on to the backends.
    await this.#flushLog()
    const delivered = Promise.allSettled(this.#queues.map(queue => queue.forceFlush()))
    if (this.#hasReports) await this.#beforeMetrics(delivered)
    await Promise.allSettled([
      delivered,
      this.#hasReaders ? meters.forceFlush() : undefined,
      emitter?.flush(),
      extended,
    ])
    clearTimeout(hold)
  }

  /** Flushes without a promise. A flush waits for all backends, and a hanging one must not delay new data for the others. */
  startFlush(): void {
    if (this.#closed || this.#isFlushStarted) return
    this.#isFlushStarted = true
    void this.#flushLog().finally(() => {
      this.#isFlushStarted = false
      for (const queue of this.#queues) queue.startFlush()
    })
    void this.#parts.emitter?.flush()
  }

  shutdown(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const extensions = this.#parts.extensions.shutdown()
    await this.#closeLog()
    const leavingAt = performance.now()
    const recovered = Promise.all(this.#parts.stores.map(store => store.recovered()))
    void this.#parts.emitter?.flush()
    const left = Promise.all(this.#queues.map(queue => this.#closeQueue(queue, queue.shutdown(recovered))))
    if (this.#hasReports) await this.#beforeMetrics(left)
    const measured = this.#parts.meters.shutdown().catch(() => undefined)
    const metricQueues = this.#parts.backends.flatMap(({ metricQueue }) => metricQueue ?? [])
    const waitMillis = this.#parts.waitMillis - (performance.now() - leavingAt)
    const read = this.#parts.extensions.metricReaders.length > 0 ? within(waitMillis, measured) : undefined
    const logQueues = this.#parts.emitter?.shutdown() ?? []
    const logs = logQueues.map(({ queue, sent }) => this.#closeQueue(queue, sent, waitMillis))
    await Promise.all([
      left,
      read,
      ...metricQueues.map(metricQueue => this.#closeQueue(metricQueue, measured, waitMillis)),
      ...logs,
    ])
    await this.#closeStore()
    await extensions
    this.#parts.prometheus?.close()
  }

  /** Metrics and logs report the outcome of the spans. After half the wait they are sent without it. */
  async #beforeMetrics(delivered: Promise<unknown>): Promise<void> {
    await within(this.#parts.waitMillis / 2, Promise.race([delivered, ...this.#givenUp]))
  }

  async #flushLog(): Promise<void> {
    await Promise.all(this.#parts.stores.map(({ traceLog: log }) => log.forceFlush()))
  }

  /** Bounded: a disk can hang like a backend. */
  async #closeLog(): Promise<void> {
    const { stores, waitMillis } = this.#parts
    await within(waitMillis, Promise.all(stores.map(({ traceLog: log }) => log.shutdown())))
  }

  async #closeStore(): Promise<void> {
    const { stores } = this.#parts
    await within(LAST_WORDS_MILLIS, Promise.all(stores.map(store => store.stop())))
    for (const store of stores) store.release()
  }

  /** Subtracts the time that a flush has already waited for this export. */
  async #closeQueue(
    leaving: ClosingQueue,
    delivered: Promise<unknown>,
    waitMillis: number = this.#parts.waitMillis,
  ): Promise<void> {
    await within(Math.max(0, waitMillis - leaving.waitedMillis()), Promise.race([delivered, ...this.#givenUp]))
    if (leaving.stop) await within(LAST_WORDS_MILLIS, leaving.stop())
    await within(LAST_WORDS_MILLIS, leaving.abandon())
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

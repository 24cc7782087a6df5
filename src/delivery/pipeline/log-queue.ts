import { LOG_ATTRIBUTE, LOG_EVENT, resolveNamespace } from '../../contract/semconv/index.ts'
import { BackOff, classifyFailure } from './back-off.ts'
import type { DeliveryFailure } from './delivery.ts'
import type { DeliveryReport } from './delivery-report.ts'
import type { LogEvent, OtlpLogSink, QueuedLogEvent } from './log-sink.ts'
import { TOO_LARGE } from './send-request.ts'
import type { BatchSettings } from './settings.ts'

const FULL: DeliveryFailure = { kind: 'internal', reason: 'too many are waiting, and further ones are dropped' }
const TOO_LATE: DeliveryFailure = { kind: 'internal', reason: 'the process ended before they were sent' }

/** Counts of log events by outcome. */
export interface LogCounts {
  /** Acknowledged by the backend */
  readonly delivered: number
  /** Lost: the backend refused them, the queue was full, or the process ended. */
  readonly dropped: number
  /** Waiting in memory or in flight */
  readonly queued: number
}

export interface LogQueueOptions {
  readonly sink: Pick<OtlpLogSink, 'send' | 'close'>
  readonly batch: BatchSettings
  readonly report: DeliveryReport
  readonly backOff?: BackOff
}

/** The log events of one backend: bounded, one request in flight, in memory only. Those left at the end are counted. */
export class LogQueue {
  readonly #parts: LogQueueOptions
  readonly #backOff: BackOff
  readonly #inFlight = new AbortController()
  /** Includes the records in flight, which come first. */
  #waiting: QueuedLogEvent[] = []
  #maxRecords: number
  #delivered = 0
  #dropped = 0
  #tries = 0
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #sentAt = 0
  #isClosed = false

  constructor(parts: LogQueueOptions) {
    this.#parts = parts
    this.#backOff = parts.backOff ?? new BackOff()
    this.#maxRecords = parts.batch.maxExportBatchSize
  }

  enqueueEvent(event: QueuedLogEvent): void {
    const { batch } = this.#parts
    const isFull = this.#waiting.length >= batch.maxQueueSize
    if (this.#isClosed || isFull) this.#drop(1, this.#isClosed ? TOO_LATE : FULL)
    else this.#waiting.push(event)
    if (this.#waiting.length >= batch.maxExportBatchSize) void this.forceFlush()
    else this.#scheduleSend()
  }

  /** Sends the queued events. Does not wait for a backend that is paused after a failure. Never rejects. */
  forceFlush(): Promise<void> {
    if (this.#sending) return this.#sending
    if (this.#waiting.length === 0 || this.#backOff.isActive) return Promise.resolve()
    clearTimeout(this.#timer)
    this.#timer = undefined
    // Shutdown reads `waitedMillis()`, which must be zero until the request is made.
    this.#sentAt = performance.now()
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined
      this.#scheduleSend()
    })
    return this.#sending
  }

  async shutdown(): Promise<void> {
    this.#isClosed = true
    this.#backOff.tryOnceMore()
    await this.forceFlush()
  }

  waitedMillis(): number {
    return this.#sending ? performance.now() - this.#sentAt : 0
  }

  async abandon(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#inFlight.abort()
    await this.#sending
    this.#drop(this.#waiting.splice(0).length, TOO_LATE)
    await this.#parts.sink.close()
  }

  counts(): LogCounts {
    return { delivered: this.#delivered, dropped: this.#dropped, queued: this.#waiting.length }
  }

  #scheduleSend(): void {
    if (this.#timer || this.#sending || this.#isClosed || this.#waiting.length === 0) return
    const { scheduleDelayMillis } = this.#parts.batch
    const millis = this.#backOff.isActive ? this.#backOff.remainingMillis() : scheduleDelayMillis
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.forceFlush()
    }, millis).unref()
  }

  async #sendAll(): Promise<void> {
    // The request must not run inside the hook that emitted the event.
    await new Promise(setImmediate)
    while (this.#waiting.length > 0 && !this.#backOff.isActive && !this.#inFlight.signal.aborted) {
      const records = this.#waiting.slice(0, this.#maxRecords)
      this.#sentAt = performance.now()
      const { lost, failure, retryAfterMillis } = await this.#parts.sink.send(records, this.#inFlight.signal)
      if (failure === undefined || failure.kind === 'rejected') this.#onAccepted(records.length, lost, failure)
      else this.#onFailed(records.length, failure, retryAfterMillis)
    }
  }

  #onAccepted(records: number, lost: number, failure: DeliveryFailure | undefined): void {
    this.#waiting.splice(0, records)
    this.#delivered += records - lost
    this.#tries = 0
    this.#maxRecords = this.#parts.batch.maxExportBatchSize
    this.#backOff.succeeded()
    if (failure) this.#drop(lost, failure)
    else this.#parts.report.delivered('logs')
  }

  #onFailed(records: number, failure: DeliveryFailure, retryAfterMillis: number | undefined): void {
    const { isRefused, reason } = classifyFailure(failure, this.#tries)
    if (!isRefused) {
      this.#tries++
      this.#backOff.failed(reason, retryAfterMillis)
      this.#parts.report.failed('logs', failure, 0)
    } else if (failure.kind === 'status' && failure.status === TOO_LARGE && records > 1) {
      this.#maxRecords = Math.ceil(records / 2)
    } else {
      this.#waiting.splice(0, records)
      this.#tries = 0
      this.#drop(records, failure)
    }
  }

  #drop(records: number, failure: DeliveryFailure): void {
    if (records === 0) return
    this.#dropped += records
    this.#parts.report.failed('logs', failure, records)
  }
}

/** Losses come in bursts. Each burst becomes one event. */
const BURST_MILLIS = 1000

export class LogEmitter {
  readonly queues: LogQueue[] = []
  readonly #losses = new Map<string, { readonly backend: string; readonly reason: string; spans: number }>()
  readonly #lossEvent: string
  #timer: NodeJS.Timeout | undefined

  constructor(namespace: string) {
    this.#lossEvent = resolveNamespace(LOG_EVENT.spansLost.name, namespace)
  }

  get hasQueues(): boolean {
    return this.queues.length > 0
  }

  emit(event: LogEvent): void {
    if (!this.hasQueues) return
    const queued = { ...event, observedAt: Date.now() }
    for (const queue of this.queues) queue.enqueueEvent(queued)
  }

  /** @param reason one of few fixed texts */
  countLostSpans(backend: string, spans: number, reason: string): void {
    if (!this.hasQueues) return
    const key = `${backend}\n${reason}`
    const loss = this.#losses.get(key) ?? { backend, reason, spans: 0 }
    loss.spans += spans
    this.#losses.set(key, loss)
    this.#timer ??= setTimeout(() => this.emitLosses(), BURST_MILLIS).unref()
  }

  async flush(): Promise<void> {
    this.emitLosses()
    await Promise.all(this.queues.map(queue => queue.forceFlush()))
  }

  emitLosses(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const losses = [...this.#losses.values()]
    this.#losses.clear()
    const name = this.#lossEvent
    for (const { backend, reason, spans } of losses) {
      const attributes = {
        [LOG_ATTRIBUTE.eventName]: name,
        [LOG_ATTRIBUTE.backend]: backend,
        [LOG_ATTRIBUTE.reason]: reason,
        [LOG_ATTRIBUTE.spans]: spans,
      }
      this.emit({ name, severity: LOG_EVENT.spansLost.severity, at: Date.now(), attributes })
    }
  }
}

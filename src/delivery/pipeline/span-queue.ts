import {
  type Batch,
  type BatchConsumer,
  type LogSegment,
  type RecoveryQueue,
  type SpanLine,
  sizeOf,
} from '../trace-log/index.ts'
import { BackOff, backOffReason, classifyFailure } from './back-off.ts'
import type { DeliveryFailure, ExportResult, SpanSink } from './delivery.ts'
import { type DeliveryReport, lossReason } from './delivery-report.ts'
import { type Cursors, type SendRequest, SendScheduler, TOO_LARGE } from './send-scheduler.ts'
import type { BatchSettings } from './settings.ts'
import { FlushWaiters, type SpanCounts, SpanTally } from './span-tally.ts'

const REJECTED = lossReason({ kind: 'rejected' })
const TOO_LATE = 'the process ended'

export interface SpanQueueOptions {
  readonly sink: SpanSink
  readonly batch: BatchSettings
  readonly report: DeliveryReport
  readonly cursors?: Cursors
  readonly tally?: SpanTally
  readonly backOff?: BackOff
  /** Allowance for bursts without a log, in bytes of estimated JSON. It applies regardless of the number of spans. */
  readonly burstBytes?: number | undefined
}

/**
 * The queue of spans for one backend: bounded, with one export in flight. It blocks neither the code that ends a span nor
 * other backends. Spans in the log that cannot be delivered now are read from there later, in order. Other undeliverable
 * spans are counted as dropped.
 */
export class SpanQueue implements BatchConsumer, RecoveryQueue {
  readonly #parts: SpanQueueOptions
  readonly #sink: BoundedSink
  readonly #scheduler: SendScheduler
  readonly #waiters = new FlushWaiters()
  readonly #backOff: BackOff
  readonly #tally: SpanTally
  #current: SendRequest | undefined
  #timer: NodeJS.Timeout | undefined
  #isSending = false
  #isClosed = false
  #isStopping = false
  #isAbandoned = false
  #hasAccepted = false

  constructor(parts: SpanQueueOptions) {
    this.#parts = parts
    this.#sink = new BoundedSink(parts.sink, parts.batch.exportTimeoutMillis)
    this.#backOff = parts.backOff ?? new BackOff()
    this.#tally = parts.tally ?? new SpanTally()
    const { batch, cursors: log, report, burstBytes } = parts
    this.#scheduler = new SendScheduler({ backend: report.name, batch, log, tally: this.#tally, burstBytes })
  }

  get isBehind(): boolean {
    return this.#scheduler.isBehind
  }

  enqueueBatch(batch: Batch): void {
    const { cursors: log, batch: limits, report } = this.#parts
    const size = sizeOf(batch.lines)
    this.#tally.accepted += size
    const isKept = log !== undefined && batch.position !== undefined
    if (this.#isAbandoned && isKept) this.#tally.spooled(size)
    else if (this.#isClosed && !isKept) this.#dropTooLate(size)
    else if (!this.#scheduler.enqueueBatch(batch, size)) {
      this.#tally.dropped(size, 'the queue was full')
      report.overflowed(Math.max(limits.maxQueueSize, this.#scheduler.waiting), size)
    }
    if (this.#scheduler.waiting >= limits.maxExportBatchSize) void this.#sendDue()
    else this.#scheduleSend()
  }

  enqueueSegment(segment: LogSegment): void {
    this.#scheduler.enqueueSegment(segment)
    this.#scheduleSend()
  }

  beforeRemoval(segment: LogSegment, reason: string): (pending: number) => void {
    const inMemory = this.#scheduler.inMemoryOf(segment)
    return pending => this.#tally.dropped(pending - inMemory, reason, segment.isRecovered ? 'adopted' : 'own')
  }

  /** Counts spans that disappeared from the log without being removed by this process. */
  countMissing(spans: number, isAdopted: boolean): void {
    this.#tally.dropped(spans, 'they are not in the trace log any more', isAdopted ? 'adopted' : 'own')
  }

  countLost(spans: number, reason: string): void {
    this.#tally.dropped(spans, reason, 'adopted')
  }

  async drainRecovered(): Promise<void> {
    while (this.#scheduler.hasRecovered && !this.#backOff.isActive && !this.#isStopping) {
      const waiter = this.#waiters.add(Number.POSITIVE_INFINITY)
      void this.#sendDue()
      await waiter
    }
  }

  /** Waits for everything recorded until now, unless the backend is paused after a failure. Never rejects. */
  forceFlush(): Promise<void> {
    const until = this.#tally.accepted
    if (this.#tally.settled >= until || (this.#backOff.isActive && !this.#isSending)) return Promise.resolve()
    this.#scheduler.requestFlush()
    const flushed = this.#waiters.add(until)
    void this.#sendDue()
    return flushed
  }

  startFlush(): void {
    this.#scheduler.requestFlush()
    void this.#sendDue()
  }

  async shutdown(adopted: Promise<unknown> = Promise.resolve()): Promise<void> {
    this.#isClosed = true
    this.#backOff.tryOnceMore()
    await this.forceFlush()
    await adopted
    await this.drainRecovered()
    await this.stop()
    await this.#sink.close()
  }

  /** Starts no more sends for other processes. Resolves when those in flight have arrived or failed. */
  async stop(): Promise<void> {
    this.#isStopping = true
    // There is always more of it, so a request is always in flight. If aborted, it would be sent again by the next process.
    if (this.#isSending && this.#current?.origin === 'adopted') await this.#waiters.add(Number.POSITIVE_INFINITY)
  }

  /** Gives up: spans stay in the log or count as dropped, and pending flushes resolve. Resolves within moments. */
  async abandon(): Promise<void> {
    this.#isClosed = true
    this.#isStopping = true
    this.#isAbandoned = true
    clearTimeout(this.#timer)
    const waiting = this.#scheduler.dropMemory()
    this.#sink.abort()
    if (this.#isSending) await this.#waiters.add(Number.POSITIVE_INFINITY)
    this.#dropTooLate(waiting, this.#releaseCurrent())
    await this.#scheduler.close()
  }

  /** For a process that ends immediately. Drops and counts spans that are only in memory. */
  abandonNow(): void {
    this.#isClosed = true
    this.#isStopping = true
    this.#isAbandoned = true
    this.#dropTooLate(this.#scheduler.dropMemory(), this.#releaseCurrent())
  }

  counts(): SpanCounts {
    return this.#tally.counts()
  }

  waitedMillis(): number {
    return this.#sink.waitedMillis()
  }

  #scheduleSend(): void {
    const { batch } = this.#parts
    const hasMore = this.#current !== undefined || this.#scheduler.hasAny
    if (this.#timer || this.#isSending || this.#isAbandoned || !hasMore) return
    // Timers truncate fractions, and would fire too early.
    const millis = this.#backOff.isActive ? Math.ceil(this.#backOff.remainingMillis()) : batch.scheduleDelayMillis
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#scheduler.requestFlush()
      void this.#sendDue()
    }, millis).unref()
  }

  async #sendDue(): Promise<void> {
    if (this.#isSending) return
    if (this.#backOff.isActive) return this.#scheduleSend()
    for (let isDue = true; isDue; ) {
      this.#isSending = true
      clearTimeout(this.#timer)
      this.#timer = undefined
      // Serialising a batch takes milliseconds, which must not be spent in the hook that ended its last span.
      await new Promise(setImmediate)
      while (!this.#isAbandoned && !this.#backOff.isActive && (await this.#sendNext())) {
        // Continues with the next batch.
      }
      this.#isSending = false
      isDue = !this.#isAbandoned && !this.#backOff.isActive && this.#scheduler.isDue
      this.#waiters.settled(isDue ? this.#tally.settled : Number.POSITIVE_INFINITY)
    }
    this.#scheduleSend()
  }

  async #sendNext(): Promise<boolean> {
    try {
      this.#current ??= await this.#scheduler.nextBatch(() => !this.#isStopping)
      const current = this.#current
      if (current === undefined || this.#isAbandoned) return false
      if (!current.isDone) {
        if (current.tries > 0) this.#tally.retried += sizeOf(current.group)
        const result = await this.#sink.export(current.group)
        if (result.failure === undefined || result.failure.kind === 'rejected') this.#onAccepted(current, result)
        else await this.#onFailed(current, result.failure, result.retryAfterMillis)
        this.#waiters.settled(this.#tally.settled)
      }
    } catch {
      if (this.#current === undefined) {
        // The log cannot be read now.
        this.#backOff.failed('unwell')
        return false
      }
      this.#dropGroup(this.#current, { kind: 'internal', reason: 'delivering them broke' })
    }
    if (this.#current?.isDone) this.#current = undefined
    return true
  }

  #onAccepted(current: SendRequest, { lost, failure }: ExportResult): void {
    const { report } = this.#parts
    this.#hasAccepted = true
    current.isServerProven = true
    this.#backOff.succeeded()
    this.#tally.delivered(sizeOf(current.group) - lost, current.origin)
    if (lost > 0) this.#tally.dropped(lost, REJECTED, current.origin)
    current.removeGroup()
    if (failure) report.failed('traces', failure, lost)
    else report.delivered('traces')
    if (this.#scheduler.waiting === 0) report.caughtUp()
  }

  async #onFailed(current: SendRequest, failure: DeliveryFailure, retryAfterMillis: number | undefined): Promise<void> {
    // The rejected line may be corrupt although it looks like ours. It is parsed before the next attempt.
    if (failure.kind === 'status') current.parseLines()
    if (sizeOf(current.group) === 0) return current.removeGroup()
    const verdict = classifyFailure(failure, current.tries)
    const isRefused = verdict.kind === 'refused'
    // After the deadline nothing is split or retried: the rest of the attempt is dropped as a whole.
    if (this.#isAbandoned) {
      // An aborted request is no evidence about the backend. `lostAtShutdown` reports the number of lost spans.
      if (current.isKept || failure.kind !== 'timeout') this.#parts.report.failed('traces', failure, 0)
      return
    }
    if (isRefused && sizeOf(current.group) > 1) return current.splitGroup()
    if (!current.isKept || (isRefused && current.isAtFault(failure, this.#hasAccepted)))
      return this.#dropGroup(current, failure)
    // The server may have recovered between the two requests. The span is sent once more.
    if (isRefused && (await this.#acceptsEmptyRequest(current))) return
    if (isRefused && current.deferGroup()) return
    current.tries++
    current.isServerProven = false
    this.#parts.report.failed('traces', failure, 0)
    this.#backOff.failed(backOffReason(verdict, failure), retryAfterMillis)
    this.#scheduler.fallBehind()
  }

  /** If the server accepts an empty request, it can read our requests. */
  async #acceptsEmptyRequest(current: SendRequest): Promise<boolean> {
    const { failure } = await this.#sink.export([])
    current.isServerProven = failure === undefined
    return current.isServerProven
  }

  #dropGroup(current: SendRequest, failure: DeliveryFailure): void {
    const lost = sizeOf(current.group)
    const isOne = current.isKept && failure.kind === 'status' && failure.status !== TOO_LARGE
    this.#tally.dropped(lost, lossReason(failure), current.origin)
    this.#parts.report.failed('traces', isOne ? { kind: 'refused', status: failure.status } : failure, lost)
    current.removeGroup()
  }

  #releaseCurrent(): number {
    const current = this.#current
    this.#current = undefined
    this.#scheduler.releaseInFlight()
    if (current === undefined) return 0
    if (!current.isKept) {
      // The log may have been pruned meanwhile, so these spans no longer count as spooled.
      this.#tally.dropped(current.size, TOO_LATE, current.origin)
      return current.size
    }
    if (current.origin === 'live') this.#tally.spooled(current.size)
    return 0
  }

  #dropTooLate(waiting: number, current = 0): void {
    this.#tally.dropped(waiting, TOO_LATE)
    if (waiting + current > 0) this.#parts.report.lostAtShutdown(waiting + current)
  }
}

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

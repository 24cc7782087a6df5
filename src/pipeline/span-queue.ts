import { type Adopter, type Batch, type BatchTaker, type Segment, sizeOf } from '../trace-log/index.ts'
import { type Attempt, TOO_LARGE } from './attempt.ts'
import { BackOff, judge, reasonOf } from './back-off.ts'
import { BoundedSink } from './bounded-sink.ts'
import type { DeliveryFailure, SpanDelivery, SpanSink } from './delivery.ts'
import type { DeliveryReport } from './delivery-report.ts'
import { lossReason } from './failure-message.ts'
import { type Cursors, Outgoing } from './outgoing.ts'
import type { BatchSettings } from './settings.ts'
import { FlushWaiters, type SpanCounts, SpanTally } from './span-tally.ts'

const REJECTED = lossReason({ kind: 'rejected' })
const TOO_LATE = 'the process ended'

export interface SpanQueueParts {
  readonly sink: SpanSink
  readonly batch: BatchSettings
  readonly report: DeliveryReport
  /** Absent = what fails is dropped. */
  readonly log?: Cursors
  readonly tally?: SpanTally
  readonly backOff?: BackOff
  /** Of what comes at once and has no log: so much waits, about as long as its JSON, however many spans that are. */
  readonly burstBytes?: number | undefined
}

/**
 * The spans of one backend on their way out: bounded, one export in flight, never blocking whoever ends a span or
 * another backend. What is in the log and cannot be delivered now is read from there later, in order; of the rest, what
 * cannot be kept or delivered is counted.
 */
export class SpanQueue implements BatchTaker, Adopter {
  readonly #parts: SpanQueueParts
  readonly #sink: BoundedSink
  readonly #outgoing: Outgoing
  readonly #waiters = new FlushWaiters()
  readonly #backOff: BackOff
  readonly #tally: SpanTally
  #current: Attempt | undefined
  #timer: NodeJS.Timeout | undefined
  #isPumping = false
  #isClosed = false
  #isStopping = false
  #isAbandoned = false
  #hasTaken = false

  constructor(parts: SpanQueueParts) {
    this.#parts = parts
    this.#sink = new BoundedSink(parts.sink, parts.batch.exportTimeoutMillis)
    this.#backOff = parts.backOff ?? new BackOff()
    this.#tally = parts.tally ?? new SpanTally()
    const { batch, log, report, burstBytes } = parts
    this.#outgoing = new Outgoing({ backend: report.name, batch, log, tally: this.#tally, burstBytes })
  }

  take(batch: Batch): void {
    const { log, batch: limits, report } = this.#parts
    const size = sizeOf(batch.lines)
    this.#tally.accepted += size
    const isKept = log !== undefined && batch.position !== undefined
    if (this.#isAbandoned && isKept) this.#tally.spooled(size)
    else if (this.#isClosed && !isKept) this.#dropTooLate(size)
    else if (!this.#outgoing.take(batch)) {
      this.#tally.dropped(size, 'the queue was full')
      report.overflowed(Math.max(limits.maxQueueSize, this.#outgoing.waiting), size)
    }
    if (this.#outgoing.waiting >= limits.maxExportBatchSize) void this.#pump()
    else this.#arm()
  }

  /** Takes care of what a process that has died owed to this backend. */
  adopt(segment: Segment): void {
    this.#outgoing.adopt(segment)
    this.#arm()
  }

  gone(segment: Segment, reason: string): (owed: number) => void {
    const inMemory = this.#outgoing.inMemoryOf(segment)
    return owed => this.#tally.dropped(owed - inMemory, reason, segment.isAdopted ? 'adopted' : 'own')
  }

  /** Spans that are not in the log any more, although nobody of us has removed them. */
  missing(spans: number, isAdopted: boolean): void {
    this.#tally.dropped(spans, 'they are not in the trace log any more', isAdopted ? 'adopted' : 'own')
  }

  lose(spans: number, reason: string): void {
    this.#tally.dropped(spans, reason, 'adopted')
  }

  /** Resolves when this backend has got what was adopted, or does not take it for now. */
  async drainAdopted(): Promise<void> {
    while (this.#outgoing.hasAdopted && !this.#backOff.isActive && !this.#isStopping) {
      const waiter = this.#waiters.add(Number.POSITIVE_INFINITY)
      void this.#pump()
      await waiter
    }
  }

  /**
   * Waits for the batch in flight and for everything that was recorded until now; not for a backend that is left alone for
   * a while because it failed. Never rejects, and has no bound of its own.
   */
  forceFlush(): Promise<void> {
    const until = this.#tally.accepted
    if (this.#tally.settled >= until || (this.#backOff.isActive && !this.#isPumping)) return Promise.resolve()
    this.#outgoing.want()
    const flushed = this.#waiters.add(until)
    void this.#pump()
    return flushed
  }

  /** As `forceFlush`, for those who do not wait. */
  hurry(): void {
    this.#outgoing.want()
    void this.#pump()
  }

  /** Takes nothing more, and delivers what it has, and what is `adopted` by then. */
  async shutdown(adopted: Promise<unknown> = Promise.resolve()): Promise<void> {
    this.#isClosed = true
    this.#backOff.tryOnceMore()
    await this.forceFlush()
    await adopted
    await this.drainAdopted()
    await this.stop()
    await this.#sink.close()
  }

  /** Sends nothing more that others have left; resolves when what is in flight of that has arrived, or failed. */
  async stop(): Promise<void> {
    this.#isStopping = true
    // There is always more of it, so something is always in flight: cut off, it would be sent again by the next process.
    if (this.#isPumping && this.#current?.origin === 'adopted') await this.#waiters.add(Number.POSITIVE_INFINITY)
  }

  /** Gives up what is left: it stays in the log, or counts as dropped, and whoever waits is let go. Resolves within moments. */
  async abandon(): Promise<void> {
    this.#isClosed = true
    this.#isStopping = true
    this.#isAbandoned = true
    clearTimeout(this.#timer)
    const waiting = this.#outgoing.giveUp()
    this.#sink.abort()
    if (this.#isPumping) await this.#waiters.add(Number.POSITIVE_INFINITY)
    this.#dropTooLate(waiting, this.#giveUpCurrent())
    await this.#outgoing.close()
  }

  /** For a process that ends this moment: what is in memory only is lost, and is counted. */
  endNow(): void {
    this.#isClosed = true
    this.#isStopping = true
    this.#isAbandoned = true
    this.#dropTooLate(this.#outgoing.giveUp(), this.#giveUpCurrent())
  }

  counts(): SpanCounts {
    return this.#tally.counts()
  }

  /** How long the export that is in flight has been. */
  waitedMillis(): number {
    return this.#sink.waitedMillis()
  }

  #arm(): void {
    const { batch } = this.#parts
    const hasMore = this.#current !== undefined || this.#outgoing.hasAny
    if (this.#timer || this.#isPumping || this.#isAbandoned || !hasMore) return
    // Timers cut fractions off, and would come too early.
    const millis = this.#backOff.isActive ? Math.ceil(this.#backOff.remainingMillis()) : batch.scheduleDelayMillis
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#outgoing.want()
      void this.#pump()
    }, millis).unref()
  }

  async #pump(): Promise<void> {
    if (this.#isPumping) return
    if (this.#backOff.isActive) return this.#arm()
    this.#isPumping = true
    clearTimeout(this.#timer)
    this.#timer = undefined
    // Serialising a batch takes milliseconds, which are not the hook's that ended the last span of it.
    await new Promise(setImmediate)
    while (!this.#isAbandoned && !this.#backOff.isActive && (await this.#step())) {
      // On with what comes next.
    }
    this.#isPumping = false
    this.#rest()
  }

  /** One request. Resolves to whether there may be more to do; never rejects, because nobody could do anything about it. */
  async #step(): Promise<boolean> {
    try {
      this.#current ??= await this.#outgoing.next(() => !this.#isStopping)
      if (this.#current === undefined || this.#isAbandoned) return false
      if (!this.#current.isDone) await this.#send(this.#current)
    } catch {
      if (this.#current === undefined) {
        // The log cannot be read for now.
        this.#backOff.failed('unwell')
        return false
      }
      this.#giveUp(this.#current, { kind: 'internal', reason: 'delivering them broke' })
    }
    if (this.#current?.isDone) this.#current = undefined
    return true
  }

  /** What came up while the last look for work was under way is not left lying. */
  #rest(): void {
    const isDue = !this.#isAbandoned && !this.#backOff.isActive && this.#outgoing.isDue
    this.#waiters.settled(isDue ? this.#tally.settled : Number.POSITIVE_INFINITY)
    if (isDue) void this.#pump()
    else this.#arm()
  }

  async #send(attempt: Attempt): Promise<void> {
    if (attempt.tries > 0) this.#tally.retried += sizeOf(attempt.next)
    const delivery = await this.#sink.export(attempt.next)
    if (delivery.failure === undefined || delivery.failure.kind === 'rejected') this.#taken(attempt, delivery)
    else await this.#notTaken(attempt, delivery.failure, delivery.retryAfterMillis)
    this.#waiters.settled(this.#tally.settled)
  }

  #taken(attempt: Attempt, { lost, failure }: SpanDelivery): void {
    const { report } = this.#parts
    this.#hasTaken = true
    attempt.isServerProven = true
    this.#backOff.succeeded()
    this.#tally.delivered(sizeOf(attempt.next) - lost, attempt.origin)
    this.#tally.dropped(lost, REJECTED, attempt.origin)
    attempt.pass()
    if (failure) report.failed('traces', failure, lost)
    else report.delivered('traces')
    if (this.#outgoing.waiting === 0) report.drained()
  }

  async #notTaken(attempt: Attempt, failure: DeliveryFailure, retryAfterMillis: number | undefined): Promise<void> {
    // What it says no to may be a line that only looks as if we had written it.
    if (failure.kind === 'status') attempt.look()
    if (sizeOf(attempt.next) === 0) return attempt.pass()
    const verdict = judge(failure, attempt.tries)
    const isRefused = verdict.kind === 'refused'
    // After the deadline, nothing is split or sent again: the rest of the attempt is given up as a whole.
    if (this.#isAbandoned) {
      // A request that was cut off says nothing of the backend; how many spans that costs is said of all of them.
      if (attempt.isKept || failure.kind !== 'timeout') this.#parts.report.failed('traces', failure, 0)
      return
    }
    if (isRefused && sizeOf(attempt.next) > 1) return attempt.split()
    if (!attempt.isKept || (isRefused && attempt.isAtFault(failure, this.#hasTaken)))
      return this.#giveUp(attempt, failure)
    // A server that has come to its senses between the two requests is offered the span once more.
    if (isRefused && (await this.#provesItself(attempt))) return
    if (isRefused && attempt.defer()) return
    attempt.tries++
    attempt.isServerProven = false
    this.#parts.report.failed('traces', failure, 0)
    this.#backOff.failed(reasonOf(verdict, failure), retryAfterMillis)
    this.#outgoing.fallBehind()
  }

  /** Who takes an empty request can read ours. */
  async #provesItself(attempt: Attempt): Promise<boolean> {
    const { failure } = await this.#sink.export([])
    attempt.isServerProven = failure === undefined
    return attempt.isServerProven
  }

  #giveUp(attempt: Attempt, failure: DeliveryFailure): void {
    const lost = sizeOf(attempt.next)
    const isOne = attempt.isKept && failure.kind === 'status' && failure.status !== TOO_LARGE
    this.#tally.dropped(lost, lossReason(failure), attempt.origin)
    this.#parts.report.failed('traces', isOne ? { kind: 'refused', status: failure.status } : failure, lost)
    attempt.pass()
  }

  /** Lets go of the attempt in progress. Returns how many of its spans are in no log, and so lost. */
  #giveUpCurrent(): number {
    const attempt = this.#current
    this.#current = undefined
    this.#outgoing.letGo()
    if (attempt === undefined) return 0
    if (!attempt.isKept) {
      // The log may have dropped them meanwhile, for want of room: they count no longer as spooled.
      this.#tally.dropped(attempt.size, TOO_LATE, attempt.origin)
      return attempt.size
    }
    if (attempt.origin === 'live') this.#tally.spooled(attempt.size)
    return 0
  }

  /** @param current spans of the attempt in progress, which are counted already */
  #dropTooLate(waiting: number, current = 0): void {
    this.#tally.dropped(waiting, TOO_LATE)
    if (waiting + current > 0) this.#parts.report.tooLate(waiting + current)
  }
}

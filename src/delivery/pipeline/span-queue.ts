import type { BackendQueue, Batch, LogSegment, SpanLine } from '../trace-log/index.ts'
import { Cursor, isInLog, sizeOf } from '../trace-log/index.ts'
import { BackOff, classifyFailure } from './back-off.ts'
import type { DeliveryFailure, ExportResult, SpanSink } from './delivery.ts'
import { type DeliveryReport, lossReason } from './delivery-report.ts'
import { type Origin, SendRequest, TOO_LARGE } from './send-request.ts'
import type { BatchSettings, Reporter } from './settings.ts'

const REJECTED = lossReason({ kind: 'rejected' })
const TOO_LATE = 'the process ended'
const BROKEN: DeliveryFailure = { kind: 'internal', reason: 'the exporter broke' }
/** They disappeared from the log without being removed by this process. */
const MISSING = 'they are not in the trace log any more'
/** Time for an aborted sink to report its result. */
const LAST_WORD_MILLIS = 50

export interface SpanQueueOptions {
  readonly sink: SpanSink
  readonly batch: BatchSettings
  readonly report: DeliveryReport
  /** Receives the problems of reading the trace log. If absent, spans are only in memory. */
  readonly log?: Reporter
  readonly onLoss?: (spans: number, reason: string) => void
  readonly backOff?: BackOff
  /** Allowance for bursts without a log, in bytes of estimated JSON. It applies regardless of the number of spans. */
  readonly burstBytes?: number | undefined
}

/** Counts of spans by outcome. */
export interface SpanCounts {
  /** Spans of this process that were delivered. */
  readonly delivered: number
  /** Lost spans. */
  readonly dropped: number
  /** Waiting in memory, or in flight. */
  readonly queued: number
  /** Not delivered yet, but in the trace log for later delivery. */
  readonly spooled: number
  /** Total number of spans ever kept in the trace log for later. */
  readonly spooledEver: number
  /** Spans sent again, counted for each attempt. */
  readonly retried: number
  /** Delivered spans that other processes had left in the trace log. */
  readonly recovered: number
}

export const NO_SPANS: SpanCounts = {
  delivered: 0,
  dropped: 0,
  queued: 0,
  spooled: 0,
  spooledEver: 0,
  retried: 0,
  recovered: 0,
}

interface QueuedBatch extends Batch {
  readonly spans: number
  /** 0 if not needed, because weighing takes time. */
  readonly bytes: number
}

/**
 * The queue of spans for one backend: bounded, with one export in flight. It blocks neither the code that ends a span nor
 * other backends. Spans in the log that cannot be delivered now are read from there later, in order: the queue is behind.
 * Other undeliverable spans are counted as dropped. Spans of other processes come last.
 */
export class SpanQueue implements BackendQueue {
  readonly #parts: SpanQueueOptions
  readonly #backend: string
  readonly #backOff: BackOff
  readonly #own: Cursor | undefined
  readonly #adopted: Cursor | undefined
  isBehind = false
  #live: QueuedBatch[] = []
  /** Spans and bytes of `#live`. */
  #size = 0
  #bytes = 0
  #current: SendRequest | undefined
  #inFlight: AbortController | undefined
  #inFlightAt = 0
  /** Flush target: everything up to this count is sent, even if it does not fill a request. */
  #flushTarget = 0
  /** Resolved when the given number of spans has been delivered or dropped. */
  #waiters: { readonly until: number; readonly resolve: () => void }[] = []
  #timer: NodeJS.Timeout | undefined
  #isSending = false
  #isClosed = false
  #isStopping = false
  #isAbandoned = false
  #hasAccepted = false
  #accepted = 0
  readonly #counts: { -readonly [Count in keyof SpanCounts]: number } = { ...NO_SPANS }
  #othersDropped = 0

  constructor(parts: SpanQueueOptions) {
    this.#parts = parts
    this.#backend = parts.report.name
    this.#backOff = parts.backOff ?? new BackOff()
    const { log, sink } = parts
    const prepare = (line: SpanLine): void => sink.prepare?.(line)
    const open = (origin: Origin): Cursor | undefined =>
      log && new Cursor(this.#backend, log, spans => this.#countDropped(spans, MISSING, origin), prepare)
    this.#own = open('own')
    this.#adopted = open('adopted')
  }

  enqueueBatch(batch: Batch): void {
    const { batch: limits, burstBytes, report } = this.#parts
    const { lines } = batch
    const spans = sizeOf(lines)
    this.#accepted += spans
    const isKept = this.#own !== undefined && batch.position !== undefined
    const position = isKept && isInLog(batch) ? batch.position : undefined
    const isBurst = burstBytes !== undefined && this.#bytes <= burstBytes
    const isFull = this.#size + spans > limits.maxQueueSize && !isBurst
    if (this.#isAbandoned && isKept) this.#countSpooled(spans)
    else if (this.#isClosed && !isKept) this.#dropTooLate(spans)
    else if (position === undefined && isFull) {
      this.#countDropped(spans, 'the queue was full')
      report.overflowed(Math.max(limits.maxQueueSize, this.#size), spans)
    } else if (position === undefined || this.#isSentFromMemory(position.segment, spans, isFull)) {
      const bytes = burstBytes === undefined ? 0 : lines.reduce((sum, line) => sum + line.bytes, 0)
      this.#live.push({ lines, position, spans, bytes })
      this.#size += spans
      this.#bytes += bytes
    }
    if (this.#size >= limits.maxExportBatchSize) void this.#sendDue()
    else this.#scheduleSend()
  }

  enqueueSegment(segment: LogSegment): void {
    this.#adopted?.addSegment(segment)
    this.#scheduleSend()
  }

  /** Spans in memory are sent even if their segment is removed. */
  beforeRemoval(segment: LogSegment, reason: string): (pending: number) => void {
    const current = this.#current && this.#current.groups.length > 0 ? this.#current.batches : []
    const inMemory = [...current, ...this.#live].filter(({ position }) => position?.segment === segment)
    const spans = sizeOf(inMemory.flatMap(({ lines }) => lines))
    return pending => this.#countDropped(pending - spans, reason, segment.isRecovered ? 'adopted' : 'own')
  }

  countLost(spans: number, reason: string): void {
    this.#countDropped(spans, reason, 'adopted')
  }

  async drainRecovered(): Promise<void> {
    while (this.#adopted?.isCaughtUp === false && !this.#backOff.isActive && !this.#isStopping) {
      const waiter = this.#settled(Number.POSITIVE_INFINITY)
      void this.#sendDue()
      await waiter
    }
  }

  /** Waits for everything recorded until now, unless the backend is paused after a failure. Never rejects. */
  forceFlush(): Promise<void> {
    const until = this.#accepted
    const isPaused = this.#backOff.isActive && !this.#isSending
    if (this.#counts.delivered + this.#counts.dropped >= until || isPaused) return Promise.resolve()
    const flushed = this.#settled(until)
    this.#flushTarget = until
    void this.#sendDue()
    return flushed
  }

  startFlush(): void {
    this.#flushTarget = this.#accepted
    void this.#sendDue()
  }

  async shutdown(adopted: Promise<unknown> = Promise.resolve()): Promise<void> {
    this.#isClosed = true
    this.#backOff.tryOnceMore()
    await this.forceFlush()
    await adopted
    await this.drainRecovered()
    await this.stop()
    await this.#parts.sink.close()
  }

  /**
   * Starts no more sends for other processes. Resolves when those in flight have arrived or failed. There is always more of it,
   * so a request is always in flight. If aborted, it would be sent again by the next process.
   */
  async stop(): Promise<void> {
    this.#isStopping = true
    if (this.#isSending && this.#current?.origin === 'adopted') await this.#settled(Number.POSITIVE_INFINITY)
  }

  /** Gives up: spans stay in the log or count as dropped, and pending flushes resolve. Resolves within moments. */
  async abandon(): Promise<void> {
    const waiting = this.#endSending()
    this.#inFlight?.abort()
    if (this.#isSending) await this.#settled(Number.POSITIVE_INFINITY)
    this.#dropTooLate(waiting, this.#releaseCurrent())
    await Promise.all([this.#own?.close(), this.#adopted?.close()])
  }

  /** For a process that ends immediately. Drops and counts spans that are only in memory. */
  abandonNow(): void {
    this.#dropTooLate(this.#endSending(), this.#releaseCurrent())
  }

  /** Returns the number of spans that were only in memory. */
  #endSending(): number {
    this.#isClosed = true
    this.#isStopping = true
    this.#isAbandoned = true
    clearTimeout(this.#timer)
    this.#countSpooled(this.#dropLogged())
    const size = this.#size
    this.#replaceLive([])
    return size
  }

  counts(): SpanCounts {
    const { delivered, dropped, spooled } = this.#counts
    const queued = this.#accepted - delivered - dropped - spooled
    return { ...this.#counts, dropped: dropped + this.#othersDropped, queued }
  }

  waitedMillis(): number {
    return this.#inFlight ? performance.now() - this.#inFlightAt : 0
  }

  #isSentFromMemory(segment: LogSegment, spans: number, isFull: boolean): boolean {
    this.#own?.addSegment(segment)
    if (segment.unreadableFor.has(this.#backend)) {
      this.#countSpooled(spans)
      return false
    }
    if (isFull || this.isBehind) this.#fallBehind(spans)
    return !this.isBehind
  }

  /** Switches from memory to the log. `more` spans are only in the log. */
  #fallBehind(more = 0): void {
    this.isBehind = true
    for (const segment of new Set(this.#live.map(({ position }) => position?.segment))) segment?.lookUp()
    this.#countSpooled(this.#dropLogged() + more)
  }

  /** True if something must be sent without waiting for a full batch. */
  get #isDue(): boolean {
    const isWanted = this.#size > 0 && this.#counts.delivered + this.#counts.dropped < this.#flushTarget
    return this.isBehind || isWanted || this.#size >= this.#parts.batch.maxExportBatchSize
  }

  #scheduleSend(): void {
    if (this.#timer || this.#isSending || this.#isAbandoned) return
    if (!this.#current && this.#size === 0 && !this.isBehind && this.#adopted?.isCaughtUp !== false) return
    const { scheduleDelayMillis } = this.#parts.batch
    const millis = this.#backOff.isActive ? this.#backOff.remainingMillis() : scheduleDelayMillis
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.startFlush()
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
      isDue = !this.#isAbandoned && !this.#backOff.isActive && this.#isDue
      this.#resolveWaiters(isDue ? this.#counts.delivered + this.#counts.dropped : Number.POSITIVE_INFINITY)
    }
    this.#scheduleSend()
  }

  async #sendNext(): Promise<boolean> {
    try {
      if (this.#current === undefined) await this.#openRequest()
      const current = this.#current
      if (current === undefined || this.#isAbandoned) return false
      const [group] = current.groups
      if (group === undefined) this.#removeGroup(current)
      else {
        if (current.tries > 0) this.#counts.retried += sizeOf(group)
        const result = await this.#export(group)
        if (result.failure === undefined || result.failure.kind === 'rejected') this.#onAccepted(current, result)
        else await this.#onFailed(current, result.failure, result.retryAfterMillis)
        this.#resolveWaiters(this.#counts.delivered + this.#counts.dropped)
      }
    } catch {
      if (this.#current === undefined) {
        // The log cannot be read now.
        this.#backOff.failed('unwell')
        return false
      }
      this.#dropGroup(this.#current, { kind: 'internal', reason: 'delivering them broke' })
    }
    if (this.#current?.groups.length === 0) this.#current = undefined
    return true
  }

  /** Opens the next request if something is due. Spans of other processes must not delay the end of this one. */
  async #openRequest(): Promise<void> {
    const most = this.#parts.batch.maxExportBatchSize
    while (this.#current === undefined) {
      const hasAdopted = this.#adopted?.isCaughtUp === false && !this.#isStopping
      if (this.isBehind && this.#own) {
        const read = await this.#own.readBatch(most)
        if (read) this.#current = new SendRequest('own', [read], most)
        else if (this.#own.isCaughtUp) this.isBehind = false
      } else if (this.#isDue || (hasAdopted && this.#size > 0)) {
        this.#current = new SendRequest('live', this.#shiftBatches(most), most)
      } else {
        const read = hasAdopted ? await this.#adopted?.readBatch(most) : undefined
        if (read) this.#current = new SendRequest('adopted', [read], most)
        else if (!this.#isDue) return
      }
    }
  }

  /** Removes the first batches: at most this many spans, or one batch. Either all of them are in the log, or none. */
  #shiftBatches(most: number): readonly Batch[] {
    const [first] = this.#live
    let [count, size] = [0, 0]
    for (const batch of this.#live) {
      if (first && isInLog(batch) !== isInLog(first)) break
      if (count > 0 && size + batch.spans > most) break
      count++
      size += batch.spans
      this.#bytes -= batch.bytes
    }
    this.#size -= size
    return this.#live.splice(0, count)
  }

  /** Limits the duration of an export, so that a sink that never answers does not block its queue. */
  async #export(lines: readonly SpanLine[]): Promise<ExportResult> {
    const { sink, batch } = this.#parts
    const afterMillis = batch.exportTimeoutMillis
    const inFlight = new AbortController()
    this.#inFlight = inFlight
    this.#inFlightAt = performance.now()
    const lost = (failure: DeliveryFailure): ExportResult => ({ lost: sizeOf(lines), failure })
    const exported = sink.export(lines, inFlight.signal).catch(() => lost(BROKEN))
    const lastWord = new Promise<ExportResult>(resolve => {
      const giveUp = (): void => resolve(lost({ kind: 'timeout', afterMillis }))
      inFlight.signal.addEventListener('abort', () => setTimeout(giveUp, LAST_WORD_MILLIS).unref(), { once: true })
    })
    const guard = setTimeout(() => inFlight.abort(), afterMillis).unref()
    const result = await Promise.race([exported, lastWord])
    clearTimeout(guard)
    this.#inFlight = undefined
    return result
  }

  #onAccepted(current: SendRequest, { lost, failure }: ExportResult): void {
    const { report } = this.#parts
    this.#hasAccepted = true
    current.isServerProven = true
    this.#backOff.succeeded()
    const delivered = sizeOf(current.groups[0] ?? []) - lost
    if (current.origin === 'adopted') this.#counts.recovered += delivered
    else this.#counts.delivered += delivered
    if (current.origin === 'own') this.#counts.spooled -= delivered
    if (lost > 0) this.#countDropped(lost, REJECTED, current.origin)
    this.#removeGroup(current)
    if (failure) report.failed('traces', failure, lost)
    else report.delivered('traces')
    if (this.#size === 0) report.caughtUp()
  }

  async #onFailed(current: SendRequest, failure: DeliveryFailure, retryAfterMillis: number | undefined): Promise<void> {
    // The rejected line may be corrupt although it looks like ours. It is parsed before the next attempt.
    if (failure.kind === 'status') current.parseLines()
    const [group = []] = current.groups
    if (sizeOf(group) === 0) {
      this.#removeGroup(current)
      return
    }
    const { isRefused, reason } = classifyFailure(failure, current.tries)
    // After the deadline nothing is split or retried: the rest of the attempt is dropped as a whole.
    if (this.#isAbandoned) {
      // An aborted request is no evidence about the backend. `lostAtShutdown` reports the number of lost spans.
      if (current.isKept || failure.kind !== 'timeout') this.#parts.report.failed('traces', failure, 0)
      return
    }
    if (isRefused && sizeOf(group) > 1) return current.splitGroup()
    if (!current.isKept || (isRefused && current.isAtFault(failure, this.#hasAccepted)))
      return this.#dropGroup(current, failure)
    if (isRefused) {
      // If the server accepts an empty request, it can read ours. It may have recovered: the span is sent once more.
      current.isServerProven = (await this.#export([])).failure === undefined
      if (current.isServerProven || current.deferGroup()) return
    }
    current.tries++
    current.isServerProven = false
    this.#parts.report.failed('traces', failure, 0)
    this.#backOff.failed(reason, retryAfterMillis)
    this.#fallBehind()
  }

  #dropGroup(current: SendRequest, failure: DeliveryFailure): void {
    const lost = sizeOf(current.groups[0] ?? [])
    const isOne = current.isKept && failure.kind === 'status' && failure.status !== TOO_LARGE
    this.#countDropped(lost, lossReason(failure), current.origin)
    this.#parts.report.failed('traces', isOne ? { ...failure, kind: 'refused' } : failure, lost)
    this.#removeGroup(current)
  }

  /** Removes the first group. After the last group, acknowledges the batches. */
  #removeGroup(current: SendRequest): void {
    current.groups.shift()
    current.tries = 0
    if (current.groups.length > 0) return
    for (const { position, lines } of current.batches) {
      if (position === undefined) continue
      for (const line of lines) if (line.isDamaged) this.#own?.reportDamaged(position.segment)
      position.segment.acknowledge(this.#backend, position.end, sizeOf(lines))
    }
  }

  #releaseCurrent(): number {
    const current = this.#current
    this.#current = undefined
    if (current === undefined) return 0
    for (const { position } of current.batches) position?.segment.clearInFlight(this.#backend)
    if (!current.isKept) {
      // The log may have been pruned meanwhile, so these spans no longer count as spooled.
      this.#countDropped(current.size, TOO_LATE, current.origin)
      return current.size
    }
    if (current.origin === 'live') this.#countSpooled(current.size)
    return 0
  }

  #dropTooLate(waiting: number, current = 0): void {
    this.#countDropped(waiting, TOO_LATE)
    if (waiting + current > 0) this.#parts.report.lostAtShutdown(waiting + current)
  }

  #dropLogged(): number {
    const before = this.#size
    this.#replaceLive(this.#live.filter(batch => !isInLog(batch)))
    return before - this.#size
  }

  #replaceLive(live: QueuedBatch[]): void {
    this.#live = live
    this.#size = live.reduce((sum, { spans }) => sum + spans, 0)
    this.#bytes = live.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  #countDropped(spans: number, reason: string, origin: Origin = 'live'): void {
    if (spans === 0) return
    if (origin === 'adopted') this.#othersDropped += spans
    else this.#counts.dropped += spans
    if (origin === 'own') this.#counts.spooled -= spans
    this.#parts.onLoss?.(spans, reason)
  }

  #countSpooled(spans: number): void {
    this.#counts.spooled += spans
    this.#counts.spooledEver += spans
  }

  #settled(until: number): Promise<void> {
    return new Promise(resolve => this.#waiters.push({ until, resolve }))
  }

  #resolveWaiters(count: number): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const waiter of waiters) {
      if (waiter.until <= count) waiter.resolve()
      else this.#waiters.push(waiter)
    }
  }
}

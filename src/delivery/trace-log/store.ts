import { join } from 'node:path'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { BatchReceiver } from './batch.ts'
import type { RecoveredTrace } from './crashed-spans.ts'
import { SegmentManager } from './custody.ts'
import { undecidedSpans } from './held-back.ts'
import type { LossLog } from './losses.ts'
import { pruneSegments } from './prune.ts'
import { type RecoveryQueue, Recovery, type RecoveryOptions } from './recovery.ts'
import { Resend, type ResendRequest, type ResendQueue } from './resend.ts'
import type { LogSegment } from './segment.ts'
import type { BatchSettings, LocalLogSettings, LogReporter, Reporter } from './settings.ts'
import type { Destinations, SegmentMarks } from './stored-line.ts'
import { TraceLog } from './trace-log.ts'

/** Interval of recovery: other processes may die at any time and leave pending data. */
const LOOK_AGAIN_MILLIS = 300_000
const PRUNED = 'the trace log was full'
const REMOVED = 'the trace log was removed'

export interface StoreOptions {
  readonly settings: LocalLogSettings
  readonly batch: BatchSettings
  readonly marks: SegmentMarks
  /** Receivers of all spans, in order. */
  readonly receivers: readonly BatchReceiver[]
  /** Backends, by name, that can receive spans from the log later. */
  readonly queues: ReadonlyMap<string, RecoveryQueue & ResendQueue>
  readonly destinations: Destinations
  readonly deliveries: LogReporter
  readonly report: Reporter
  readonly losses: LossLog
  /** The log of kept traces, if traces are or were buffered for tail sampling. */
  readonly kept?: Store | undefined
}

/** The trace log of this process: the segments it writes, the data it still has to deliver, and recovered segments. */
export class Store {
  readonly log: TraceLog
  readonly #parts: StoreOptions
  readonly #segments: SegmentManager
  #recovery: Recovery | undefined
  #recoveryTimer: NodeJS.Timeout | undefined
  #pruning: Promise<void> = Promise.resolve()
  readonly #warnedPruned = new Set<string>()

  constructor(parts: StoreOptions) {
    this.#parts = parts
    const { settings, batch, marks, destinations, receivers: takers, deliveries } = parts
    this.#segments = new SegmentManager({
      settings,
      backends: [...parts.queues.keys()],
      onCreated: () => this.prune(),
      onRemoved: segment => this.#onRemoved(segment),
      warn: line => parts.report.warn(line),
    })
    const toTake = settings.heldBy === undefined ? takers : []
    this.log = new TraceLog({
      settings,
      batch,
      marks,
      destinations,
      receivers: toTake,
      segments: this.#segments,
      report: deliveries,
    })
  }

  /** Paths of the existing segments written by this process, oldest first. */
  get paths(): readonly string[] {
    return this.#segments.paths
  }

  pendingBytes(backend: string): number {
    return this.#segments.pendingBytes(backend)
  }

  /** Recovers segments of dead processes, now and periodically. Resolves after the first run. */
  recover(onCrashed: (crashed: readonly RecoveredTrace[]) => void): Promise<void> {
    const { settings, queues: adopters, destinations, report } = this.#parts
    this.#recovery ??= new Recovery({
      stateDirectory: settings.directory,
      segments: this.#segments,
      queues: adopters,
      destinations,
      report,
      continued: settings.continued,
      sendUndecided: this.#sendUndecided,
      onCrashed,
    })
    const recovery = this.#recovery
    this.#recoveryTimer ??= setInterval(() => void recovery.run(), LOOK_AGAIN_MILLIS).unref()
    return recovery.run()
  }

  /** Sends traces on request: see `Resend`. */
  resend(request: ResendRequest): Resend {
    const { settings, queues: takers, destinations } = this.#parts
    return new Resend({ stateDirectory: settings.directory, segments: this.#segments, queues: takers, destinations }, request)
  }

  /** Resolves when the current recovery, if any, has finished. */
  recovered(): Promise<void> {
    return this.#recovery?.idle() ?? Promise.resolve()
  }

  /** Stops recovery. Resolves when current work is done. */
  async stop(): Promise<void> {
    clearInterval(this.#recoveryTimer)
    await Promise.all([this.#recovery?.stop(), this.#pruning])
  }

  /** Stops delivery. Pending data is left to the next process. */
  release(): void {
    clearInterval(this.#recoveryTimer)
    this.#segments.releaseAll()
    this.#parts.losses.save()
  }

  get #sendUndecided(): RecoveryOptions['sendUndecided'] {
    const { kept, settings } = this.#parts
    if (kept === undefined) return undefined
    const keptTraces = join(kept.#parts.settings.directory, 'traces')
    const isContinuedHere = settings.continued?.isContinuedHere ?? (() => false)
    return async (path, heldBy) => {
      for await (const spans of undecidedSpans({ path, heldBy, keptTraces, isContinuedHere })) await kept.#writeRecovered(spans)
    }
  }

  /**
   * Writes recovered spans to this log. If they were only in memory, they would be lost with this process, and would not be
   * searched for again.
   *
   * @throws if they cannot be written: a later recovery, or the next process, finds the missing ones
   */
  async #writeRecovered(spans: readonly ReadableSpan[]): Promise<void> {
    const { log } = this
    if (log.isClosed) throw new Error('this process ends')
    // Checked first: spans sent from memory now would be sent again later. The log of kept traces has no notes of open
    // spans.
    const opened = this.#segments.current(() => undefined)
    if (!opened.ok) {
      this.#parts.deliveries.failed('traces', opened.failure, 0)
      throw new Error('what is kept cannot be written')
    }
    const { dropped } = log.counts()
    for (const span of spans) log.onEnd(span)
    await log.forceFlush()
    if (log.counts().dropped > dropped) throw new Error('not all of it was written')
  }

  /** Removes segments that are too old or too large, in the background. */
  prune(): void {
    const { settings, queues: adopters, losses } = this.#parts
    const listener = {
      beforeRemoval: (segment: LogSegment) => {
        const tells = new Map([...adopters].map(([backend, adopter]) => [backend, adopter.beforeRemoval(segment, PRUNED)]))
        return (backend: string, owed: number): void => {
          if (owed > 0) this.#warnPruned(backend, owed)
          tells.get(backend)?.(owed)
        }
      },
      onRemoved: (backend: string, owed: number) => {
        this.#warnPruned(backend, owed)
        const adopter = adopters.get(backend)
        if (adopter) adopter.countLost(owed, PRUNED)
        else losses.note(backend, owed, PRUNED)
      },
    }
    this.#pruning = this.#pruning.then(() => pruneSegments(settings, this.#segments, listener)).catch(() => undefined)
    // The log of kept traces may not be written for a long time, but must be pruned, too.
    this.#parts.kept?.prune()
  }

  /** Warns once: a long outage prunes the log repeatedly, and lost spans are counted anyway. */
  #warnPruned(backend: string, spans: number): void {
    const line = `trace log: ${spans} spans that backend ${backend} had not got are removed with the oldest part of the log, and more may follow; raise local_log_max_bytes or local_log_max_age_hours if that must not happen`
    if (this.#warnedPruned.has(backend)) this.#parts.report.debug(line)
    else this.#parts.report.warn(line)
    this.#warnedPruned.add(backend)
  }

  /** A segment of this process was deleted externally. */
  #onRemoved(segment: LogSegment): void {
    if (this.#parts.settings.heldBy !== undefined && !segment.isRecovered) return
    for (const [backend, adopter] of this.#parts.queues) {
      adopter.beforeRemoval(segment, REMOVED)(segment.pendingSpans(backend))
    }
  }
}

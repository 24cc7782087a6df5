import { join } from 'node:path'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { BatchTaker } from './batch.ts'
import type { CrashedTrace } from './crashed-spans.ts'
import { SegmentManager } from './custody.ts'
import { spansHeldBack } from './held-back.ts'
import type { LossLog } from './losses.ts'
import { pruneSegments } from './prune.ts'
import { type Adopter, Recovery, type RecoveryParts } from './recovery.ts'
import { Resend, type ResendRequest, type ResendTaker } from './resend.ts'
import type { Segment } from './segment.ts'
import type { BatchSettings, LocalLogSettings, LogReport, Report } from './settings.ts'
import type { Destinations, SegmentMarks } from './stored-line.ts'
import { TraceLog } from './trace-log.ts'

/** Interval of recovery: other processes may die at any time and leave pending data. */
const LOOK_AGAIN_MILLIS = 300_000
const PRUNED = 'the trace log was full'
const REMOVED = 'the trace log was removed'

export interface StoreParts {
  readonly settings: LocalLogSettings
  readonly batch: BatchSettings
  readonly marks: SegmentMarks
  /** Receivers of all spans, in order. */
  readonly takers: readonly BatchTaker[]
  /** Backends, by name, that can receive spans from the log later. */
  readonly adopters: ReadonlyMap<string, Adopter & ResendTaker>
  readonly destinations: Destinations
  readonly deliveries: LogReport
  readonly report: Report
  readonly losses: LossLog
  /** The log of kept traces, if traces are or were buffered for tail sampling. */
  readonly kept?: Store | undefined
}

/** The trace log of this process: the segments it writes, the data it still has to deliver, and recovered segments. */
export class Store {
  readonly log: TraceLog
  readonly #parts: StoreParts
  readonly #custody: SegmentManager
  #recovery: Recovery | undefined
  #lookAgain: NodeJS.Timeout | undefined
  #pruning: Promise<void> = Promise.resolve()
  readonly #saidPruned = new Set<string>()

  constructor(parts: StoreParts) {
    this.#parts = parts
    const { settings, batch, marks, destinations, takers, deliveries } = parts
    this.#custody = new SegmentManager({
      settings,
      backends: [...parts.adopters.keys()],
      onBegun: () => this.prune(),
      onGone: segment => this.#gone(segment),
      say: line => parts.report.warn(line),
    })
    const toTake = settings.heldBy === undefined ? takers : []
    this.log = new TraceLog({
      settings,
      batch,
      marks,
      destinations,
      takers: toTake,
      custody: this.#custody,
      report: deliveries,
    })
  }

  /** Paths of the existing segments written by this process, oldest first. */
  get paths(): readonly string[] {
    return this.#custody.paths
  }

  bytesOwed(backend: string): number {
    return this.#custody.bytesOwed(backend)
  }

  /** Recovers segments of dead processes, now and periodically. Resolves after the first run. */
  recover(onCrashed: (crashed: readonly CrashedTrace[]) => void): Promise<void> {
    const { settings, adopters, destinations, report } = this.#parts
    this.#recovery ??= new Recovery({
      stateDirectory: settings.directory,
      custody: this.#custody,
      adopters,
      destinations,
      report,
      continued: settings.continued,
      sendHeld: this.#sendHeld,
      onCrashed,
    })
    const recovery = this.#recovery
    this.#lookAgain ??= setInterval(() => void recovery.run(), LOOK_AGAIN_MILLIS).unref()
    return recovery.run()
  }

  /** Sends traces on request: see `Resend`. */
  resend(request: ResendRequest): Resend {
    const { settings, adopters: takers, destinations } = this.#parts
    return new Resend({ stateDirectory: settings.directory, custody: this.#custody, takers, destinations }, request)
  }

  /** Resolves when the current recovery, if any, has finished. */
  recovered(): Promise<void> {
    return this.#recovery?.idle() ?? Promise.resolve()
  }

  /** Stops recovery. Resolves when current work is done. */
  async stop(): Promise<void> {
    clearInterval(this.#lookAgain)
    await Promise.all([this.#recovery?.stop(), this.#pruning])
  }

  /** Stops delivery. Pending data is left to the next process. */
  release(): void {
    clearInterval(this.#lookAgain)
    this.#custody.release()
    this.#parts.losses.save()
  }

  get #sendHeld(): RecoveryParts['sendHeld'] {
    const { kept, settings } = this.#parts
    if (kept === undefined) return undefined
    const keptTraces = join(kept.#parts.settings.directory, 'traces')
    const isTakenUp = settings.continued?.isTakenUp ?? (() => false)
    return async (path, heldBy) => {
      for await (const spans of spansHeldBack({ path, heldBy, keptTraces, isTakenUp })) await kept.#write(spans)
    }
  }

  /**
   * Writes recovered spans to this log. If they were only in memory, they would be lost with this process, and would not be
   * searched for again.
   *
   * @throws if they cannot be written: a later recovery, or the next process, finds the missing ones
   */
  async #write(spans: readonly ReadableSpan[]): Promise<void> {
    const { log } = this
    if (log.isClosed) throw new Error('this process ends')
    // Checked first: spans sent from memory now would be sent again later. The log of kept traces has no notes of open
    // spans.
    const opened = this.#custody.current(() => undefined)
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
    const { settings, adopters, losses } = this.#parts
    const listener = {
      goes: (segment: Segment) => {
        const tells = new Map([...adopters].map(([backend, adopter]) => [backend, adopter.gone(segment, PRUNED)]))
        return (backend: string, owed: number): void => {
          if (owed > 0) this.#sayPruned(backend, owed)
          tells.get(backend)?.(owed)
        }
      },
      gone: (backend: string, owed: number) => {
        this.#sayPruned(backend, owed)
        const adopter = adopters.get(backend)
        if (adopter) adopter.lose(owed, PRUNED)
        else losses.note(backend, owed, PRUNED)
      },
    }
    this.#pruning = this.#pruning.then(() => pruneSegments(settings, this.#custody, listener)).catch(() => undefined)
    // The log of kept traces may not be written for a long time, but must be pruned, too.
    this.#parts.kept?.prune()
  }

  /** Warns once: a long outage prunes the log repeatedly, and lost spans are counted anyway. */
  #sayPruned(backend: string, spans: number): void {
    const line = `trace log: ${spans} spans that backend ${backend} had not got are removed with the oldest part of the log, and more may follow; raise local_log_max_bytes or local_log_max_age_hours if that must not happen`
    if (this.#saidPruned.has(backend)) this.#parts.report.debug(line)
    else this.#parts.report.warn(line)
    this.#saidPruned.add(backend)
  }

  /** A segment of this process was deleted externally. */
  #gone(segment: Segment): void {
    if (this.#parts.settings.heldBy !== undefined && !segment.isAdopted) return
    for (const [backend, adopter] of this.#parts.adopters) {
      adopter.gone(segment, REMOVED)(segment.spansOwedTo(backend))
    }
  }
}

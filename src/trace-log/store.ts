import { join } from 'node:path'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { BatchTaker } from './batch.ts'
import type { CrashedTrace } from './crashed-spans.ts'
import { SegmentCustody } from './custody.ts'
import { spansHeldBack } from './held-back.ts'
import type { LossLog } from './losses.ts'
import { pruneSegments } from './prune.ts'
import { type Adopter, Recovery, type RecoveryParts } from './recovery.ts'
import { Resend, type ResendRequest, type ResendTaker } from './resend.ts'
import type { Segment } from './segment.ts'
import type { BatchSettings, LocalLogSettings, LogReport, Report } from './settings.ts'
import type { Destinations, SegmentMarks } from './stored-line.ts'
import { TraceLog } from './trace-log.ts'

/** Processes die at any time, and others leave what they could not deliver. */
const LOOK_AGAIN_MILLIS = 300_000
const PRUNED = 'the trace log was full'
const REMOVED = 'the trace log was removed'

export interface StoreParts {
  readonly settings: LocalLogSettings
  readonly batch: BatchSettings
  readonly marks: SegmentMarks
  /** Everybody who gets spans, in order. */
  readonly takers: readonly BatchTaker[]
  /** Those, by name, who get later what they could not take at once. */
  readonly adopters: ReadonlyMap<string, Adopter & ResendTaker>
  /** Of those. */
  readonly destinations: Destinations
  readonly deliveries: LogReport
  readonly report: Report
  readonly losses: LossLog
  /** The log of what is kept, where this one has, or had, traces that are held until they are judged. */
  readonly kept?: Store | undefined
}

/** The trace log of this process: what it writes, what it has still to deliver, and what others have left to it. */
export class Store {
  readonly log: TraceLog
  readonly #parts: StoreParts
  readonly #custody: SegmentCustody
  #recovery: Recovery | undefined
  #lookAgain: NodeJS.Timeout | undefined
  #pruning: Promise<void> = Promise.resolve()
  readonly #saidPruned = new Set<string>()

  constructor(parts: StoreParts) {
    this.#parts = parts
    const { settings, batch, marks, destinations, takers, deliveries } = parts
    this.#custody = new SegmentCustody({
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

  /** The segments that this process has written and that are still there, oldest first. */
  get paths(): readonly string[] {
    return this.#custody.paths
  }

  bytesOwed(backend: string): number {
    return this.#custody.bytesOwed(backend)
  }

  /** Takes over what processes that have died left, now and from time to time. Resolves when that is done for now. */
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

  /** For who asks for it: see `Resend`. */
  resend(request: ResendRequest): Resend {
    const { settings, adopters: takers, destinations } = this.#parts
    return new Resend({ stateDirectory: settings.directory, custody: this.#custody, takers, destinations }, request)
  }

  /** Resolves when what other processes have left is taken over, if that was begun. */
  recovered(): Promise<void> {
    return this.#recovery?.idle() ?? Promise.resolve()
  }

  /** Takes nothing more over; resolves when what is being done is done. */
  async stop(): Promise<void> {
    clearInterval(this.#lookAgain)
    await Promise.all([this.#recovery?.stop(), this.#pruning])
  }

  /** Nothing is delivered any more: what is owed is left for who comes next. */
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
   * In memory alone they would be gone with this process, and nobody would look for them again.
   *
   * @throws when they cannot be written: they are left to a later look, or to the next process, which finds what is missing
   */
  async #write(spans: readonly ReadableSpan[]): Promise<void> {
    const { log } = this
    if (log.isClosed) throw new Error('this process ends')
    // Asked first: what goes from memory now would go again then. Nothing that is open is noted in the log of what is kept.
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

  /** Removes what is too old or too much, in the background. */
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
    // Nothing may be kept for a long time, and what was is removed all the same.
    this.#parts.kept?.prune()
  }

  /** Once: a long outage prunes the log again and again, and how much was lost is counted. */
  #sayPruned(backend: string, spans: number): void {
    const line = `trace log: ${spans} spans that backend ${backend} had not got are removed with the oldest part of the log, and more may follow; raise local_log_max_bytes or local_log_max_age_hours if that must not happen`
    if (this.#saidPruned.has(backend)) this.#parts.report.debug(line)
    else this.#parts.report.warn(line)
    this.#saidPruned.add(backend)
  }

  /** Somebody has removed a segment of ours. */
  #gone(segment: Segment): void {
    if (this.#parts.settings.heldBy !== undefined && !segment.isAdopted) return
    for (const [backend, adopter] of this.#parts.adopters) {
      adopter.gone(segment, REMOVED)(segment.spansOwedTo(backend))
    }
  }
}

import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { type Checkpoint, type CheckpointEntry, isOwned, listCheckpoints, takeOverCheckpoint } from './checkpoint.ts'
import { type RecoveredTrace, Recovery } from './recovery.ts'
import { Resend, type ResendRequest } from './resend.ts'
import { removeSentRecord } from './resend-progress.ts'
import { linesIn, listSegments, type SegmentListing } from './segment-file.ts'
import { type LogOptions, type LogSegment, SegmentManager } from './segments.ts'
import type { LocalLogSettings } from './settings.ts'
import { SpanLine } from './span-line.ts'
import { TraceLog } from './trace-log.ts'
import { countUndecided } from './undecided-spans.ts'

const HOUR_MILLIS = 3_600_000
/** Interval of recovery: other processes may die at any time and leave pending data. */
const LOOK_AGAIN_MILLIS = 300_000
const PRUNED = 'the trace log was full'

/** The trace log of this process: the segments it writes, the data it still has to deliver, and recovered segments. */
export class Store {
  readonly traceLog: TraceLog
  readonly #parts: LogOptions
  /** The log of kept traces, if there is one. */
  readonly #kept: Store | undefined
  readonly segments: SegmentManager
  #recovery: Recovery | undefined
  #recoveryTimer: NodeJS.Timeout | undefined
  #pruning: Promise<void> = Promise.resolve()
  readonly #warnedPruned = new Set<string>()

  constructor(parts: LogOptions, kept?: Store) {
    this.#parts = parts
    this.#kept = kept
    const onRemoved = (segment: LogSegment): void => this.#onRemoved(segment)
    this.segments = new SegmentManager(parts, () => this.prune(), onRemoved)
    this.traceLog = new TraceLog(parts, this.segments)
  }

  /** Recovers segments of dead processes, now and periodically. Resolves after the first run. */
  recover(onCrashed: (crashed: readonly RecoveredTrace[]) => void): Promise<void> {
    const kept = this.#kept
    const writeKept = kept && ((spans: readonly ReadableSpan[]) => kept.#writeRecovered(spans))
    this.#recovery ??= new Recovery(this.#parts, this.segments, onCrashed, writeKept)
    const recovery = this.#recovery
    this.#recoveryTimer ??= setInterval(() => void recovery.run(), LOOK_AGAIN_MILLIS).unref()
    return recovery.run()
  }

  resend(request: ResendRequest): Resend {
    return new Resend(this.#parts, this.segments, request)
  }

  async recovered(): Promise<void> {
    await this.#recovery?.running
  }

  async stop(): Promise<void> {
    clearInterval(this.#recoveryTimer)
    await Promise.all([this.#recovery?.stop(), this.#pruning])
  }

  release(): void {
    clearInterval(this.#recoveryTimer)
    this.segments.releaseAll()
    this.#parts.losses.save()
  }

  /**
   * Writes recovered spans to this log. Only in memory, they would be lost with this process, and not searched for again. The
   * segment is opened first: spans sent from memory now would be sent again later. The log of kept traces has no notes of open
   * spans.
   */
  async #writeRecovered(spans: readonly ReadableSpan[]): Promise<void> {
    const { traceLog: log } = this
    if (log.isClosed) throw new Error('this process ends')
    const opened = this.segments.current(() => undefined)
    if ('kind' in opened) {
      this.#parts.deliveries.failed('traces', opened, 0)
      throw new Error('what is kept cannot be written')
    }
    const { dropped } = log.counts()
    for (const span of spans) log.onEnd(span)
    await log.forceFlush()
    if (log.counts().dropped > dropped) throw new Error('not all of it was written')
  }

  prune(): void {
    this.#pruning = this.#pruning.then(() => this.#removeOldest()).catch(() => undefined)
    // The log of kept traces may not be written for a long time, but must be pruned, too.
    this.#kept?.prune()
  }

  /** Removes segments that are too old or too many, except those being written or pending for a living process. */
  async #removeOldest(): Promise<void> {
    const { directory, maxAgeHours, maxBytes } = this.#parts.settings
    const tooOldAt = Date.now() - maxAgeHours * HOUR_MILLIS
    const files = await listSegments(join(directory, 'traces'))
    // Read after the files: a segment's checkpoint is created before the segment.
    const checkpoints = new Map((await listCheckpoints(directory)).map(entry => [entry.segment, entry]))
    const held = new Map([...this.segments.owned].map(segment => [segment.checkpoint.segment, segment]))
    let bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    for (const file of files) {
      if (file.changedAt >= tooOldAt && bytes <= maxBytes) continue
      if (await this.#removeFile(file, held.get(file.name), checkpoints.get(file.name))) bytes -= file.bytes
    }
  }

  async #removeFile(file: SegmentListing, segment?: LogSegment, entry?: CheckpointEntry): Promise<boolean> {
    const { settings, queues, losses } = this.#parts
    const { directory } = settings
    if (segment?.isWritten) return false
    if (segment) {
      segment.isRemoved = true
      const counters = new Map([...queues].map(([backend, queue]) => [backend, queue.beforeRemoval(segment, PRUNED)]))
      const { checkpoint } = segment
      const ofOwn = checkpoint.backends.map(backend => [backend, segment.pendingSpans(backend)] as const)
      for (const [backend, pending] of segment.isRecovered ? await pendingSpans(checkpoint, file, settings) : ofOwn) {
        if (pending > 0) this.#warnPruned(backend, pending)
        counters.get(backend)?.(pending)
      }
      this.segments.removeSegment(segment)
    } else if (entry) {
      const checkpoint = isOwned(entry) ? undefined : takeOverCheckpoint(directory, entry)
      if (checkpoint === undefined) return false
      for (const [backend, pending] of await pendingSpans(checkpoint, file, settings)) {
        this.#warnPruned(backend, pending)
        const queue = queues.get(backend)
        if (queue) queue.countLost(pending, PRUNED)
        else losses.note(backend, pending, PRUNED)
      }
      checkpoint.remove()
    } else {
      // The segment may have been taken over while others were examined.
      const names = await readdir(join(directory, 'spool')).catch(() => [])
      if (names.some(name => name.startsWith(`${file.name}.`))) return false
    }
    await rm(file.path, { force: true }).catch(() => undefined)
    await removeSentRecord(directory, file.name)
    return true
  }

  /** Warns once: a long outage prunes the log repeatedly, and lost spans are counted anyway. */
  #warnPruned(backend: string, spans: number): void {
    const line = `trace log: ${spans} spans pending for backend ${backend} were removed with the oldest part of the log, and more may follow; raise local_log_max_bytes or local_log_max_age_hours to keep them`
    if (this.#warnedPruned.has(backend)) this.#parts.report.debug(line)
    else this.#parts.report.warn(line)
    this.#warnedPruned.add(backend)
  }

  #onRemoved(segment: LogSegment): void {
    if (this.#parts.settings.heldBy !== undefined && !segment.isRecovered) return
    for (const [backend, queue] of this.#parts.queues) {
      queue.beforeRemoval(segment, 'the trace log was removed')(segment.pendingSpans(backend))
    }
  }
}

async function pendingSpans(
  checkpoint: Checkpoint,
  { path, bytes }: SegmentListing,
  settings: LocalLogSettings,
): Promise<ReadonlyMap<string, number>> {
  const pending = new Map<string, number>()
  const offsets = checkpoint.backends.map(backend => [backend, checkpoint.offsetOf(backend) ?? bytes] as const)
  for (const [backend, offset] of offsets) {
    const spans = await countSpans(path, offset, bytes).catch(() => 0)
    if (spans > 0) pending.set(backend, spans)
  }
  // A buffered segment is pending for no backend, so only one of the two counts applies.
  if (pending.size > 0 || !checkpoint.open) return pending
  return countUndecided(path, settings).catch(() => pending)
}

async function countSpans(path: string, from: number, until: number): Promise<number> {
  let spans = 0
  for await (const line of linesIn(path, from, until)) if (line instanceof SpanLine) spans += line.spans.length
  return spans
}

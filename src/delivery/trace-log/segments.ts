import { Checkpoint } from './checkpoint.ts'
import type { Destinations, SegmentMarks } from './line-parser.ts'
import type { LossLog } from './losses.ts'
import { logDirectories, makePrivateDirectory } from './private-file.ts'
import { fileFailure, newSegmentName, SegmentFile } from './segment-file.ts'
import type { BatchSettings, LocalLogSettings, LogFailure, LogReporter, Reporter } from './settings.ts'
import type { SpanLine } from './span-line.ts'

const SEGMENT_AGE_MILLIS = 24 * 3_600_000
const MAX_SEGMENT_BYTES = 16_777_216
const MIN_SEGMENT_BYTES = 65_536
/** Fraction of the whole log per segment: the log is pruned in pieces of this size. */
const SEGMENT_SHARE = 16
const HEARTBEAT_MILLIS = 10_000
/**
 * The files are looked up again after this time, by the clock of the machine: it also counts the time that a computer
 * slept, in which another process may have considered this one dead.
 */
export const LOOK_UP_MILLIS = 1000
const NAME_TRIES = 10

export interface CurrentSegment {
  readonly segment: LogSegment
  readonly file: SegmentFile
  readonly openedAt: number
  /** True once all open spans are noted in it. Then the previous segment is no longer needed for that. */
  isNoted: boolean
  fullAt: number
}

export interface LogOptions {
  readonly settings: LocalLogSettings
  readonly batch: BatchSettings
  readonly marks: SegmentMarks
  /** All queues, and by name those whose spans are kept in the log. */
  readonly consumers: readonly BatchConsumer[]
  readonly queues: ReadonlyMap<string, BackendQueue>
  readonly destinations: Destinations
  readonly deliveries: LogReporter
  readonly report: Reporter
  readonly losses: LossLog
}

type SegmentOptions = Pick<LogOptions, 'settings' | 'queues' | 'report'>

export class SegmentManager {
  readonly #options: SegmentOptions
  readonly #onCreated: () => void
  readonly #onRemoved: (segment: LogSegment) => void
  readonly owned: Set<LogSegment> = new Set()
  /** Not written any more, but not closed: their open spans are not noted in the current segment yet. */
  #retiring: { readonly segment: LogSegment; readonly file: SegmentFile }[] = []
  #current: CurrentSegment | undefined
  #lookedUpAt = 0
  paths: readonly string[] = []
  #isReleased = false
  #heartbeat: NodeJS.Timeout | undefined

  constructor(options: SegmentOptions, onCreated: () => void, onRemoved: (segment: LogSegment) => void) {
    this.#options = options
    this.#onCreated = onCreated
    this.#onRemoved = onRemoved
  }

  /** @param maxAgeMillis a segment that was found in its place that recently is not looked up again */
  current(onNew: () => void, maxAgeMillis = 0): CurrentSegment | LogFailure {
    const now = Date.now()
    const isPresent = Math.abs(now - this.#lookedUpAt) < maxAgeMillis
    if (!isPresent) this.touchCurrent()
    const before = this.#current
    if (before !== undefined && !isFull(before, now) && before.file.isUsable(isPresent)) {
      if (!isPresent) this.#lookedUpAt = now
      return before
    }
    try {
      const next = this.#createSegment()
      this.#lookedUpAt = now
      if (before !== undefined) this.#retire(before)
      this.#current = next
      onNew()
      this.#onCreated()
      return next
    } catch (error) {
      const { path = this.#options.settings.directory } = error as NodeJS.ErrnoException
      return fileFailure(path, error)
    }
  }

  touchCurrent(): void {
    if (this.#current && !this.#current.segment.checkpoint.touch()) this.#onTakenOver(this.#current.segment)
  }

  markNoted(): void {
    const current = this.#current
    if (current === undefined || current.isNoted) return
    current.isNoted = true
    // Very many open spans can fill a segment by themselves. It must have room for other spans, too.
    const ofLog = Math.max(MIN_SEGMENT_BYTES, this.#options.settings.maxBytes / SEGMENT_SHARE)
    current.fullAt = Math.max(Math.min(MAX_SEGMENT_BYTES, ofLog), current.file.bytes * 2)
    for (const { segment, file } of this.#retiring.splice(0)) closeSegment(segment, file, true)
  }

  addRecovered(checkpoint: Checkpoint, bytes: number): LogSegment {
    const segment = this.#addSegment(checkpoint, bytes, true)
    if (this.#isReleased) this.releaseAll()
    return segment
  }

  removeSegment(segment: LogSegment): void {
    segment.isRemoved = true
    segment.checkpoint.remove()
    this.owned.delete(segment)
    this.paths = this.paths.filter(path => path !== segment.path)
  }

  pendingBytes(backend: string): number {
    let bytes = 0
    for (const segment of this.owned) bytes += segment.pendingBytes(backend)
    return bytes
  }

  endWriting(isEmpty: boolean): void {
    const current = this.#current
    this.#current = undefined
    const isNoted = isEmpty || current?.isNoted === true
    for (const { segment, file } of this.#retiring.splice(0)) closeSegment(segment, file, isNoted)
    if (current !== undefined) closeSegment(current.segment, current.file, isEmpty)
  }

  releaseAll(): void {
    this.#isReleased = true
    clearInterval(this.#heartbeat)
    for (const segment of this.owned) {
      segment.cancelResends()
      segment.checkpoint.release()
    }
    this.owned.clear()
  }

  #createSegment(): CurrentSegment {
    const { settings, queues, report } = this.#options
    for (const place of logDirectories(settings.directory)) makePrivateDirectory(place, line => report.warn(line))
    for (let tries = 1; ; tries++) {
      let checkpoint: Checkpoint | undefined
      try {
        const pending = settings.heldBy === undefined ? [...queues.keys()] : []
        checkpoint = Checkpoint.create(settings.directory, newSegmentName(), pending)
        const file = SegmentFile.create(checkpoint.segmentPath)
        const segment = this.#addSegment(checkpoint, 0, false)
        this.paths = [...this.paths, segment.path]
        return { segment, file, openedAt: Date.now(), isNoted: false, fullAt: Number.POSITIVE_INFINITY }
      } catch (error) {
        checkpoint?.remove()
        // A process in another container or thread with the same pid chose the same millisecond.
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || tries >= NAME_TRIES) throw error
      }
    }
  }

  /** Spans that are still in memory must not rely on a deleted file. */
  lookUp(segment: LogSegment): void {
    const current = this.#current
    if (current?.segment !== segment || !current.file.isDeleted()) return
    this.#current = undefined
    this.#retire(current)
  }

  #retire({ segment, file }: CurrentSegment): void {
    if (file.isDeleted()) {
      file.close()
      this.#onRemoved(segment)
      this.removeSegment(segment)
    } else this.#retiring.push({ segment, file })
  }

  #addSegment(checkpoint: Checkpoint, bytes: number, isRecovered: boolean): LogSegment {
    const segment = new LogSegment(checkpoint, bytes, isRecovered, [...this.#options.queues.keys()], this)
    this.owned.add(segment)
    this.#heartbeat ??= setInterval(() => this.#touchAll(), HEARTBEAT_MILLIS).unref()
    return segment
  }

  #touchAll(): void {
    for (const segment of this.owned) if (!segment.checkpoint.touch()) this.#onTakenOver(segment)
  }

  /** Another process considered this one dead, for example after a long sleep, and owns the segment now. */
  #onTakenOver(segment: LogSegment): void {
    segment.isRemoved = true
    this.owned.delete(segment)
    if (this.#current?.segment !== segment) return
    this.#current.file.close()
    this.#current = undefined
  }
}

function isFull({ segment, file, fullAt, openedAt, isNoted }: CurrentSegment, now: number): boolean {
  const isOld = Math.abs(now - openedAt) > SEGMENT_AGE_MILLIS
  return file.bytes >= fullAt || (isNoted && (isOld || segment.unreadableFor.size > 0))
}

/** @param isNoted its open spans are noted elsewhere, so that its checkpoint can be closed, too */
function closeSegment(segment: LogSegment, file: SegmentFile, isNoted: boolean): void {
  file.close()
  if (!isNoted) return
  segment.isWritten = false
  segment.checkpoint.close()
  segment.releaseIfDone()
}

/** A file of the trace log owned by this process: the current one, earlier ones, and those taken over from dead processes. */
export class LogSegment {
  readonly checkpoint: Checkpoint
  readonly isRecovered: boolean
  bytes: number
  spans = 0
  isWritten: boolean
  /** Removed by pruning or externally. It cannot be read any more. */
  isRemoved = false
  isDamageReported = false
  /** Number of those spans that each backend has acknowledged or dropped. */
  readonly #acknowledged = new Map<string, number>()
  /**
   * Backends that could not read it. Their cursors stay for the next process, also for later spans: sent from memory, they
   * would arrive twice. A new segment is then started, whose spans reach all backends at once.
   */
  readonly unreadableFor: Set<string> = new Set()
  readonly #inFlightTo = new Set<string>()
  #isReleasing = false
  readonly #backends: readonly string[]
  readonly #manager: SegmentManager | undefined

  /** @param manager absent for a file that is only read */
  constructor(
    checkpoint: Checkpoint,
    bytes: number,
    isRecovered: boolean,
    backends: readonly string[],
    manager?: SegmentManager,
  ) {
    this.checkpoint = checkpoint
    this.bytes = bytes
    this.isRecovered = isRecovered
    this.isWritten = !isRecovered
    this.#backends = backends
    this.#manager = manager
  }

  /** Notices if the file was deleted. It is removed then. */
  lookUp(): void {
    this.#manager?.lookUp(this)
  }

  get path(): string {
    return this.checkpoint.segmentPath
  }

  pendingBytes(backend: string): number {
    const offset = this.checkpoint.offsetOf(backend)
    return offset === undefined || this.isRemoved ? 0 : Math.max(0, this.bytes - offset)
  }

  /** Spans written by this process that are pending for a backend, in memory or not. */
  pendingSpans(backend: string): number {
    return this.spans - (this.#acknowledged.get(backend) ?? 0)
  }

  cancelResends(): void {
    this.checkpoint.resends.clear()
    this.releaseIfDone()
  }

  /** Releases the segment once none of its spans is in flight: a process that took it over would send them again. */
  releaseWhenIdle(): void {
    this.#isReleasing = true
    this.releaseIfDone()
  }

  isReadableFor(backend: string): boolean {
    return !this.isRemoved && !this.#isReleasing && !this.unreadableFor.has(backend)
  }

  markInFlight(backend: string): void {
    this.#inFlightTo.add(backend)
  }

  clearInFlight(backend: string): void {
    if (this.#inFlightTo.delete(backend) && this.#isReleasing) this.releaseIfDone()
  }

  acknowledge(backend: string, end: number, spans: number): void {
    this.#inFlightTo.delete(backend)
    this.#acknowledged.set(backend, (this.#acknowledged.get(backend) ?? 0) + spans)
    this.checkpoint.advance(backend, end)
    this.releaseIfDone()
  }

  /** Releases a segment that is neither written nor deliverable here. Another process may have the backend of pending data. */
  releaseIfDone(): void {
    if (this.isWritten) return
    const isDone = this.checkpoint.removeIfDone(this.bytes)
    if (!isDone && this.#isNeeded()) return
    if (!isDone) this.checkpoint.release()
    this.isRemoved ||= this.#isReleasing
    this.#manager?.owned.delete(this)
  }

  #isNeeded(): boolean {
    return this.#isReleasing
      ? this.#inFlightTo.size > 0
      : this.#backends.some(backend => this.pendingBytes(backend) > 0)
  }
}

export interface Position {
  readonly segment: LogSegment
  readonly end: number
}

export interface Batch {
  readonly lines: readonly SpanLine[]
  /** If absent, the spans are only in memory, because there is no log or it could not be written. */
  readonly position?: Position | undefined
}

export interface StoredBatch extends Batch {
  readonly position: Position
}

export function isInLog({ position }: Batch): boolean {
  return position !== undefined && !position.segment.isRemoved
}

export interface BatchConsumer {
  /** True if some of its spans are in the log and not in memory. */
  readonly isBehind?: boolean
  enqueueBatch(batch: Batch): void
}

/** The queue of a backend whose spans are kept in the log until they are delivered. */
export interface BackendQueue extends BatchConsumer {
  /** Called before a segment is removed. The result receives the pending spans, of which those in memory are still sent. */
  beforeRemoval(segment: LogSegment, reason: string): (pending: number) => void
  countLost(spans: number, reason: string): void
  /** Delivers a segment of another process. */
  enqueueSegment(segment: LogSegment): void
  drainRecovered(): Promise<void>
}

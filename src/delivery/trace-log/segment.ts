import type { Checkpoint } from './checkpoint.ts'

/** A file of the trace log owned by this process: the current one, earlier ones, and those taken over from dead processes. */
export class LogSegment {
  readonly checkpoint: Checkpoint
  readonly isRecovered: boolean
  /** Offset of the end of the last spans, in complete lines. */
  bytes: number
  /** Number of spans written by this process. */
  spans = 0
  isWritten: boolean
  /** Removed by pruning or externally. It cannot be read any more. */
  isRemoved = false
  isDamageReported = false
  /** Number of those spans that each backend has acknowledged or dropped. */
  readonly #acknowledged = new Map<string, number>()
  readonly #unreadableFor = new Set<string>()
  /** Backends with spans of this segment in flight. */
  readonly #inFlightTo = new Set<string>()
  #isReleasing = false
  /** Backends of this process. */
  readonly #backends: readonly string[]
  readonly #onSettled: (segment: LogSegment) => void

  constructor(
    checkpoint: Checkpoint,
    state: { readonly bytes: number; readonly isAdopted: boolean; readonly backends: readonly string[] },
    onSettled: (segment: LogSegment) => void,
  ) {
    this.checkpoint = checkpoint
    this.bytes = state.bytes
    this.isRecovered = state.isAdopted
    this.isWritten = !state.isAdopted
    this.#backends = state.backends
    this.#onSettled = onSettled
  }

  get path(): string {
    return this.checkpoint.segmentPath
  }

  /** Pending bytes of a backend. */
  pendingBytes(backend: string): number {
    const offset = this.checkpoint.offsetOf(backend)
    return offset === undefined || this.isRemoved ? 0 : Math.max(0, this.bytes - offset)
  }

  /** Spans written by this process that are pending for a backend, in memory or not. */
  pendingSpans(backend: string): number {
    return this.spans - (this.#acknowledged.get(backend) ?? 0)
  }

  /**
   * Marks the segment as unreadable for this backend. Its cursor stays where it is, for the next process. Spans written
   * later are left to that process, too: sent from memory, they would arrive twice.
   */
  markUnreadable(backend: string): void {
    this.#unreadableFor.add(backend)
  }

  isUnreadableFor(backend: string): boolean {
    return this.#unreadableFor.has(backend)
  }

  /** A new segment is then started, whose spans reach all backends at once. */
  get isUnreadableForAny(): boolean {
    return this.#unreadableFor.size > 0
  }

  /** Stops sending on request. Delivery of pending data continues. */
  cancelResends(): void {
    for (const backend of this.#backends) this.checkpoint.setResend(backend, undefined)
    this.releaseIfDone()
  }

  /**
   * Releases the segment to another process, or for a later attempt. Waits until none of its spans is in flight: a process
   * that took it over earlier would send them again.
   */
  releaseWhenIdle(): void {
    this.#isReleasing = true
    this.releaseIfDone()
  }

  /** True if the segment may be read for this backend. */
  isReadableFor(backend: string): boolean {
    return !this.isRemoved && !this.#isReleasing && !this.#unreadableFor.has(backend)
  }

  /** Marks spans as in flight to a backend, until `passed` or `putBack`. */
  markInFlight(backend: string): void {
    this.#inFlightTo.add(backend)
  }

  /** Marks spans as no longer in flight to a backend. */
  clearInFlight(backend: string): void {
    if (this.#inFlightTo.delete(backend) && this.#isReleasing) this.releaseIfDone()
  }

  /**
   * Advances the offset of a backend.
   * @param spans number of additional spans dealt with
   */
  acknowledge(backend: string, end: number, spans: number): void {
    this.#inFlightTo.delete(backend)
    this.#acknowledged.set(backend, (this.#acknowledged.get(backend) ?? 0) + spans)
    this.checkpoint.advance(backend, end)
    this.releaseIfDone()
  }

  /** Releases the segment if it is not written any more and this process cannot deliver anything of it. */
  releaseIfDone(): void {
    if (this.isWritten) return
    const isDone = this.checkpoint.removeIfDone(this.bytes)
    if (!isDone && this.#isNeeded()) return
    // Another process may have the backend for which data is pending.
    if (!isDone) this.checkpoint.release()
    this.isRemoved ||= this.#isReleasing
    this.#onSettled(this)
  }

  #isNeeded(): boolean {
    return this.#isReleasing ? this.#inFlightTo.size > 0 : this.#backends.some(backend => this.pendingBytes(backend) > 0)
  }
}

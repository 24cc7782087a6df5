import type { Checkpoint } from './checkpoint.ts'

/** A file of the trace log owned by this process: the current one, earlier ones, and those taken over from dead processes. */
export class Segment {
  readonly checkpoint: Checkpoint
  readonly isAdopted: boolean
  /** Offset of the end of the last spans, in complete lines. */
  bytes: number
  /** Number of spans written by this process. */
  spans = 0
  isWritten: boolean
  /** Removed by pruning or externally. It cannot be read any more. */
  isGone = false
  isDamageSaid = false
  /** Number of those spans that each backend has acknowledged or dropped. */
  readonly #passed = new Map<string, number>()
  readonly #stuck = new Set<string>()
  /** Backends with spans of this segment in flight. */
  readonly #lentTo = new Set<string>()
  #isLeaving = false
  /** Backends of this process. */
  readonly #backends: readonly string[]
  readonly #onSettled: (segment: Segment) => void

  constructor(
    checkpoint: Checkpoint,
    state: { readonly bytes: number; readonly isAdopted: boolean; readonly backends: readonly string[] },
    onSettled: (segment: Segment) => void,
  ) {
    this.checkpoint = checkpoint
    this.bytes = state.bytes
    this.isAdopted = state.isAdopted
    this.isWritten = !state.isAdopted
    this.#backends = state.backends
    this.#onSettled = onSettled
  }

  get path(): string {
    return this.checkpoint.segmentPath
  }

  /** Pending bytes of a backend. */
  owedTo(backend: string): number {
    const offset = this.checkpoint.offsetOf(backend)
    return offset === undefined || this.isGone ? 0 : Math.max(0, this.bytes - offset)
  }

  /** Spans written by this process that are pending for a backend, in memory or not. */
  spansOwedTo(backend: string): number {
    return this.spans - (this.#passed.get(backend) ?? 0)
  }

  /**
   * Marks the segment as unreadable for this backend. Its cursor stays where it is, for the next process. Spans written
   * later are left to that process, too: sent from memory, they would arrive twice.
   */
  stick(backend: string): void {
    this.#stuck.add(backend)
  }

  isStuck(backend: string): boolean {
    return this.#stuck.has(backend)
  }

  /** A new segment is then started, whose spans reach all backends at once. */
  get isStuckForAny(): boolean {
    return this.#stuck.size > 0
  }

  /** Stops sending on request. Delivery of pending data continues. */
  stopSending(): void {
    for (const backend of this.#backends) this.checkpoint.send(backend, undefined)
    this.settle()
  }

  /**
   * Releases the segment to another process, or for a later attempt. Waits until none of its spans is in flight: a process
   * that took it over earlier would send them again.
   */
  giveBack(): void {
    this.#isLeaving = true
    this.settle()
  }

  /** True if the segment may be read for this backend. */
  isReadableFor(backend: string): boolean {
    return !this.isGone && !this.#isLeaving && !this.#stuck.has(backend)
  }

  /** Marks spans as in flight to a backend, until `passed` or `putBack`. */
  lend(backend: string): void {
    this.#lentTo.add(backend)
  }

  /** Marks spans as no longer in flight to a backend. */
  putBack(backend: string): void {
    if (this.#lentTo.delete(backend) && this.#isLeaving) this.settle()
  }

  /**
   * Advances the offset of a backend.
   * @param spans number of additional spans dealt with
   */
  passed(backend: string, end: number, spans: number): void {
    this.#lentTo.delete(backend)
    this.#passed.set(backend, (this.#passed.get(backend) ?? 0) + spans)
    this.checkpoint.advance(backend, end)
    this.settle()
  }

  /** Releases the segment if it is not written any more and this process cannot deliver anything of it. */
  settle(): void {
    if (this.isWritten) return
    const isDone = this.checkpoint.settle(this.bytes)
    if (!isDone && this.#isNeeded()) return
    // Another process may have the backend for which data is pending.
    if (!isDone) this.checkpoint.release()
    this.isGone ||= this.#isLeaving
    this.#onSettled(this)
  }

  #isNeeded(): boolean {
    return this.#isLeaving ? this.#lentTo.size > 0 : this.#backends.some(backend => this.owedTo(backend) > 0)
  }
}

import type { Checkpoint } from './checkpoint.ts'

/**
 * A file of the trace log that is in this process' custody: the one that it writes, those that it has written, and those
 * that it has taken over from processes that have died.
 */
export class Segment {
  readonly checkpoint: Checkpoint
  readonly isAdopted: boolean
  /** Up to here there are spans, in whole lines. */
  bytes: number
  /** Spans that this process has written to it. */
  spans = 0
  isWritten: boolean
  /** Removed, to make room or by somebody else: nothing can be read from it any more. */
  isGone = false
  isDamageSaid = false
  /** Of those spans, how many each backend is done with. */
  readonly #passed = new Map<string, number>()
  readonly #stuck = new Set<string>()
  /** Backends to which something that was read from it is on its way. */
  readonly #lentTo = new Set<string>()
  #isLeaving = false
  /** Backends that this process delivers to. */
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

  /** Bytes that a backend has still to get. */
  owedTo(backend: string): number {
    const offset = this.checkpoint.offsetOf(backend)
    return offset === undefined || this.isGone ? 0 : Math.max(0, this.bytes - offset)
  }

  /** Spans of this process that a backend has still to get, in memory or not. */
  spansOwedTo(backend: string): number {
    return this.spans - (this.#passed.get(backend) ?? 0)
  }

  /**
   * This process cannot read on for this backend, whose cursor stays where it is, for the next process. What is still written
   * here is that one's, too: sent from memory, it would arrive twice.
   */
  stick(backend: string): void {
    this.#stuck.add(backend)
  }

  isStuck(backend: string): boolean {
    return this.#stuck.has(backend)
  }

  /** What is written to another segment reaches all backends at once. */
  get isStuckForAny(): boolean {
    return this.#stuck.size > 0
  }

  /** Nothing more is sent of it that is not owed; what is owed goes on. */
  stopSending(): void {
    for (const backend of this.#backends) this.checkpoint.send(backend, undefined)
    this.settle()
  }

  /**
   * Another process may have better luck with it, or this one later. It goes when nothing of it is on its way any more:
   * who took it over before would send that again.
   */
  giveBack(): void {
    this.#isLeaving = true
    this.settle()
  }

  /** Whether something may be read from it for this backend. */
  isReadableFor(backend: string): boolean {
    return !this.isGone && !this.#isLeaving && !this.#stuck.has(backend)
  }

  /** What was read is on its way to a backend, until it is `passed` or `putBack`. */
  lend(backend: string): void {
    this.#lentTo.add(backend)
  }

  /** What was on its way to a backend is not any more. */
  putBack(backend: string): void {
    if (this.#lentTo.delete(backend) && this.#isLeaving) this.settle()
  }

  /** A backend is done with everything up to here, which is so many spans more. */
  passed(backend: string, end: number, spans: number): void {
    this.#lentTo.delete(backend)
    this.#passed.set(backend, (this.#passed.get(backend) ?? 0) + spans)
    this.checkpoint.advance(backend, end)
    this.settle()
  }

  /** Lets go of the segment if nobody writes to it and this process can do nothing more for it. */
  settle(): void {
    if (this.isWritten) return
    const isDone = this.checkpoint.settle(this.bytes)
    if (!isDone && this.#isNeeded()) return
    // Another process may know the backend that is still owed something.
    if (!isDone) this.checkpoint.release()
    this.isGone ||= this.#isLeaving
    this.#onSettled(this)
  }

  #isNeeded(): boolean {
    return this.#isLeaving ? this.#lentTo.size > 0 : this.#backends.some(backend => this.owedTo(backend) > 0)
  }
}

import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'

/** The open spans, and those not yet noted in the segment. A span that ends before its start was written is never noted. */
export class OpenSpans {
  readonly #unnoted = new Set<ReadableSpan>()
  readonly #noted = new Set<ReadableSpan>()
  #hasMissed = false

  addSpan(span: ReadableSpan): void {
    this.#unnoted.add(span)
  }

  removeSpan(span: ReadableSpan): void {
    if (!this.#unnoted.delete(span)) this.#noted.delete(span)
  }

  get isEmpty(): boolean {
    return this.#unnoted.size === 0 && this.#noted.size === 0
  }

  get isAnyNoted(): boolean {
    return this.#noted.size > 0
  }

  get hasNotes(): boolean {
    return this.#unnoted.size > 0
  }

  /** True if the segment notes all open spans. */
  get isComplete(): boolean {
    return !this.hasNotes && !this.#hasMissed
  }

  shiftUnnoted(most: number): ReadableSpan[] {
    const notes: ReadableSpan[] = []
    for (const span of this.#unnoted) {
      if (notes.length >= most) break
      notes.push(span)
    }
    for (const span of notes) {
      this.#unnoted.delete(span)
      this.#noted.add(span)
    }
    return notes
  }

  /** Returns true if the span was noted before, and so is queued to be noted again. */
  renewNote(span: ReadableSpan): boolean {
    if (!this.#noted.delete(span)) return false
    this.#unnoted.add(span)
    return true
  }

  /** A new segment must note all open spans. */
  repeatAll(): void {
    for (const span of this.#noted) this.#unnoted.add(span)
    this.#noted.clear()
    this.#hasMissed = false
  }

  /** Marks that notes could not be written. They are not retried at once: a full disk stays full for a while. */
  markIncomplete(): void {
    this.#hasMissed = true
  }

  repeatMissing(): void {
    if (this.#hasMissed) this.repeatAll()
  }
}

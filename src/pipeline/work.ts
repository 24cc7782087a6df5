import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'

/** Where the spans of a request come from: straight from memory, or from the log, of this process or of one that has died. */
export type WorkOrigin = 'live' | 'own' | 'adopted'

const MOST_DEFERRED = 3

/** Spans that are being delivered, in requests of their own where a server does not take them together. */
export class Work {
  readonly origin: WorkOrigin
  /** How often the first group has been sent in vain. */
  tries = 0
  /** The server has been seen to read what we send, and has not failed since: a span that it refuses is at fault itself. */
  isServerProven = false
  #deferred = 0
  readonly #groups: (readonly ReadableSpan[])[]
  readonly #isKept: () => boolean
  readonly #onDone: () => void

  constructor(
    groups: readonly (readonly ReadableSpan[])[],
    { origin, isKept, onDone }: { origin: WorkOrigin; isKept: () => boolean; onDone: () => void },
  ) {
    this.#groups = [...groups]
    this.origin = origin
    this.#isKept = isKept
    this.#onDone = onDone
  }

  /** They are in the log, too, and stay there until they are delivered; if the log is not pruned. */
  get isKept(): boolean {
    return this.#isKept()
  }

  /** Spans that are not dealt with. */
  get size(): number {
    return this.#groups.reduce((sum, group) => sum + group.length, 0)
  }

  get isDone(): boolean {
    return this.#groups.length === 0
  }

  /** What is to be sent next, in one request. */
  get next(): readonly ReadableSpan[] {
    return this.#groups[0] ?? []
  }

  /** The first group has been dealt with, well or not. */
  pass(): void {
    this.#groups.shift()
    this.tries = 0
    if (this.isDone) this.#onDone()
  }

  /**
   * Others are tried first. Returns false when enough have been: a server that takes none of several spans takes none at
   * all, and is not to be asked about each.
   */
  defer(): boolean {
    if (this.#groups.length <= this.#deferred + 1 || this.#deferred >= MOST_DEFERRED) {
      // In order again, for later.
      const deferred = this.#groups.splice(this.#groups.length - this.#deferred, this.#deferred)
      this.#groups.unshift(...deferred)
      this.#deferred = 0
      return false
    }
    this.#deferred++
    const [group = []] = this.#groups.splice(0, 1)
    this.#groups.push(group)
    return true
  }

  /** The first group goes in two halves. It must have more than one span. */
  split(): void {
    const [group = []] = this.#groups.splice(0, 1)
    const half = Math.ceil(group.length / 2)
    this.#groups.unshift(group.slice(0, half), group.slice(half))
    this.tries = 0
  }
}

/** Groups of at most so many spans and so many bytes, or of one span. */
export function grouped(
  spans: readonly ReadableSpan[],
  most: { readonly spans: number; readonly bytes: number },
  bytesOf: (span: ReadableSpan) => number,
): ReadableSpan[][] {
  const groups: ReadableSpan[][] = []
  let [group, bytes] = [[] as ReadableSpan[], 0]
  for (const span of spans) {
    const size = bytesOf(span)
    if (group.length > 0 && (group.length >= most.spans || bytes + size > most.bytes)) {
      groups.push(group)
      group = []
      bytes = 0
    }
    group.push(span)
    bytes += size
  }
  if (group.length > 0) groups.push(group)
  return groups
}

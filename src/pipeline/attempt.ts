import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { estimatedBytes, SpanLine, sizeOf } from '../trace-log/index.ts'
import type { DeliveryFailure } from './delivery.ts'

/** Where the spans of a request come from: straight from memory, or from the log, of this process or of one that has died. */
export type Origin = 'live' | 'own' | 'adopted'

const MOST_DEFERRED = 3
/** So often, with long pauses, a span is offered again that a server refuses which has taken others before. */
const PATIENT_TRIES = 3
export const TOO_LARGE = 413

/** Lines that go in one request. */
type Group = readonly SpanLine[]

/** An attempt to deliver spans, which goes on until each is dealt with: in requests of their own where a server does not take them together. */
export class Attempt {
  readonly origin: Origin
  /** How often the first group has been sent in vain. */
  tries = 0
  /** The server has been seen to read what we send, and has not failed since: a span that it refuses is at fault itself. */
  isServerProven = false
  #deferred = 0
  readonly #groups: Group[]
  readonly #isKept: () => boolean
  readonly #onDone: () => void

  constructor(
    groups: readonly Group[],
    { origin, isKept, onDone }: { origin: Origin; isKept: () => boolean; onDone: () => void },
  ) {
    this.#groups = [...groups]
    this.origin = origin
    this.#isKept = isKept
    this.#onDone = onDone
    if (this.isDone) onDone()
  }

  /** They are in the log, too, and stay there until they are delivered; if the log is not pruned. */
  get isKept(): boolean {
    return this.#isKept()
  }

  /** Spans that are not dealt with. */
  get size(): number {
    return this.#groups.reduce((sum, group) => sum + sizeOf(group), 0)
  }

  get isDone(): boolean {
    return this.#groups.length === 0
  }

  /** What is to be sent next, in one request. */
  get next(): Group {
    return this.#groups[0] ?? []
  }

  /** Reads closely what was to be sent as it stands in the log, and leaves out what is damaged. */
  look(): void {
    const [group = []] = this.#groups
    this.#groups[0] = group.filter(line => line.spans.length > 0)
  }

  /** Whether a refused span is at fault itself. If not, the server would refuse any. `hasTaken`: it has taken others. */
  isAtFault(failure: DeliveryFailure, hasTaken: boolean): boolean {
    if (failure.kind !== 'status' || failure.status === TOO_LARGE || this.isServerProven) return true
    // Some servers refuse empty requests, too. Then their refusal counts in the end, or the span would hold up all others.
    return hasTaken && failure.status < 500 && this.tries >= PATIENT_TRIES
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

  /** The first group goes in two halves: of its lines, or of the spans of its only line. It must have more than one span. */
  split(): void {
    const [group = []] = this.#groups.splice(0, 1)
    const [line] = group
    const [one, other] =
      line && group.length === 1 ? halves(line.spans).map(spans => [SpanLine.of(spans)]) : halves(group)
    this.#groups.unshift(one ?? [], other ?? [])
    this.tries = 0
  }
}

function halves<Element>(list: readonly Element[]): readonly (readonly Element[])[] {
  const half = Math.ceil(list.length / 2)
  return [list.slice(0, half), list.slice(half)]
}

interface Most {
  readonly spans: number
  readonly bytes: number
}

/** Groups of at most so many spans and so many bytes, or of one span. */
export function grouped(lines: readonly SpanLine[], most: Most): Group[] {
  const groups: SpanLine[][] = []
  let [group, spans, bytes] = [[] as SpanLine[], 0, 0]
  for (const line of lines.flatMap(line => fitting(line, most))) {
    if (group.length > 0 && (spans + line.size > most.spans || bytes + line.bytes > most.bytes)) {
      groups.push(group)
      group = []
      spans = 0
      bytes = 0
    }
    group.push(line)
    spans += line.size
    bytes += line.bytes
  }
  if (group.length > 0) groups.push(group)
  return groups
}

/** A line that is too long is taken apart. */
function fitting(line: SpanLine, most: Most): readonly SpanLine[] {
  if (line.size <= 1 || (line.size <= most.spans && line.bytes <= most.bytes)) return [line]
  const parts: ReadableSpan[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const span of line.spans) {
    const size = estimatedBytes(span)
    const part = parts.at(-1)
    if (part !== undefined && part.length < most.spans && bytes + size <= most.bytes) {
      part.push(span)
      bytes += size
    } else {
      parts.push([span])
      bytes = size
    }
  }
  return parts.map(spans => SpanLine.of(spans))
}

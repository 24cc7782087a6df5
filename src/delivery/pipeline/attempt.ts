import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { estimatedBytes, SpanLine, sizeOf } from '../trace-log/index.ts'
import type { DeliveryFailure } from './delivery.ts'

/** The source of the spans of a request: memory (`live`), or the log of this process (`own`) or of a dead one (`adopted`). */
export type Origin = 'live' | 'own' | 'adopted'

const MAX_DEFERRED = 3
/** A server that has accepted other spans gets a refused span this many times, with long pauses. */
const PATIENT_TRIES = 3
export const TOO_LARGE = 413

/** Lines that are sent in one request. */
type LineGroup = readonly SpanLine[]

/**
 * An attempt to deliver spans. If a server does not accept them together, they are split into separate requests until each
 * is delivered or dropped.
 */
export class ExportBatch {
  readonly origin: Origin
  /** Number of failed sends of the first group. */
  tries = 0
  /** The server has accepted a request and has not failed since. A span that it refuses now is at fault itself. */
  isServerProven = false
  #deferred = 0
  readonly #groups: LineGroup[]
  readonly #isInLog: () => boolean
  readonly #onDone: () => void

  constructor(
    groups: readonly LineGroup[],
    { origin, isInLog: isKept, onDone }: { origin: Origin; isInLog: () => boolean; onDone: () => void },
  ) {
    this.#groups = [...groups]
    this.origin = origin
    this.#isInLog = isKept
    this.#onDone = onDone
    if (this.isDone) onDone()
  }

  /** True if the spans are also in the log. They stay there until they are delivered, unless the log is pruned. */
  get isKept(): boolean {
    return this.#isInLog()
  }

  /** Number of pending spans. */
  get size(): number {
    return this.#groups.reduce((sum, group) => sum + sizeOf(group), 0)
  }

  get isDone(): boolean {
    return this.#groups.length === 0
  }

  get group(): LineGroup {
    return this.#groups[0] ?? []
  }

  /** Parses lines that would be sent as they stand in the log, and drops damaged ones. */
  parseLines(): void {
    const [group = []] = this.#groups
    this.#groups[0] = group.filter(line => line.spans.length > 0)
  }

  /**
   * Returns true if the refused span itself is at fault, and false if the server would refuse any span.
   * @param hasTaken the server has accepted other spans
   */
  isAtFault(failure: DeliveryFailure, hasTaken: boolean): boolean {
    if (failure.kind !== 'status' || failure.status === TOO_LARGE || this.isServerProven) return true
    // Some servers refuse empty requests, too, so the server cannot be proven. After enough tries the refusal counts:
    // otherwise the span would block all others.
    return hasTaken && failure.status < 500 && this.tries >= PATIENT_TRIES
  }

  /** Removes the first group, delivered or dropped. */
  removeGroup(): void {
    this.#groups.shift()
    this.tries = 0
    if (this.isDone) this.#onDone()
  }

  /**
   * Moves the first group to the end, so that the others are tried first. Returns false if enough groups have been
   * deferred: a server that accepts none of several groups accepts none at all, and is not asked about each.
   */
  deferGroup(): boolean {
    if (this.#groups.length <= this.#deferred + 1 || this.#deferred >= MAX_DEFERRED) {
      // Restores the order for the next attempt.
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

  /** Splits the first group in two: by lines, or by the spans of its only line. It must have more than one span. */
  splitGroup(): void {
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

interface GroupLimits {
  readonly spans: number
  readonly bytes: number
}

/** Groups of at most this many spans and bytes. A single span may be larger. */
export function groupLines(lines: readonly SpanLine[], most: GroupLimits): LineGroup[] {
  const groups: SpanLine[][] = []
  let [group, spans, bytes] = [[] as SpanLine[], 0, 0]
  for (const line of lines.flatMap(line => splitLine(line, most))) {
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

function splitLine(line: SpanLine, most: GroupLimits): readonly SpanLine[] {
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

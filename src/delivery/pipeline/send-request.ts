import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { type Batch, estimatedBytes, isInLog, SpanLine, sizeOf, spansOf } from '../trace-log/index.ts'
import type { DeliveryFailure } from './delivery.ts'

/** Approximate size of one request. Serialising more at a time would block the event loop for too long. */
const REQUEST_BYTES = 1_048_576
const MAX_DEFERRED = 3
/** A server that has accepted other spans gets a refused span this many times, with long pauses. */
const PATIENT_TRIES = 3
export const TOO_LARGE = 413

/** The source of the spans: memory (`live`), the log of this process (`own`) or of a dead one (`adopted`). */
export type Origin = 'live' | 'own' | 'adopted'

/** Spans to be delivered. If a server does not accept them together, they are split into several requests. */
export class SendRequest {
  readonly origin: Origin
  tries = 0
  /** The server has accepted a request and has not failed since. A span that it refuses now is at fault itself. */
  isServerProven = false
  #deferred = 0
  readonly batches: readonly Batch[]
  /** What has to be sent, one request each. The first one is being sent. */
  readonly groups: (readonly SpanLine[])[]

  constructor(origin: Origin, batches: readonly Batch[], maxSpans: number) {
    this.origin = origin
    this.batches = batches
    this.groups = groupLines(batches, maxSpans)
  }

  /** True if the spans are also in the log. They stay there until they are delivered, unless the log is pruned. */
  get isKept(): boolean {
    return this.batches.every(isInLog)
  }

  get size(): number {
    return this.groups.reduce((sum, group) => sum + sizeOf(group), 0)
  }

  /** Parses lines that would be sent as they stand in the log, and drops damaged ones. */
  parseLines(): void {
    const [group = []] = this.groups
    this.groups[0] = group.filter(line => line.spans.length > 0)
  }

  /**
   * True if the refused span itself is at fault. False if the server would refuse any span. A server that refuses empty
   * requests cannot be proven: after enough tries the refusal counts, or it would block all spans.
   */
  isAtFault(failure: DeliveryFailure, hasTaken: boolean): boolean {
    if (failure.kind !== 'status' || failure.status === TOO_LARGE || this.isServerProven) return true
    return hasTaken && failure.status < 500 && this.tries >= PATIENT_TRIES
  }

  /**
   * Moves the first group to the end, so that the others are tried first. Returns false if enough groups have been
   * deferred: a server that accepts none of several groups accepts none at all, and is not asked about each.
   */
  deferGroup(): boolean {
    if (this.groups.length <= this.#deferred + 1 || this.#deferred >= MAX_DEFERRED) {
      const deferred = this.groups.splice(this.groups.length - this.#deferred, this.#deferred)
      this.groups.unshift(...deferred)
      this.#deferred = 0
      return false
    }
    this.#deferred++
    const [group = []] = this.groups.splice(0, 1)
    this.groups.push(group)
    return true
  }

  /** Splits the first group in two: by lines, or by the spans of its only line. It must have more than one span. */
  splitGroup(): void {
    const [group = []] = this.groups.splice(0, 1)
    const [line] = group
    const [one, other] =
      line && group.length === 1 ? halves(line.spans).map(spans => [new SpanLine(spans)]) : halves(group)
    this.groups.unshift(one ?? [], other ?? [])
    this.tries = 0
  }
}

function halves<Element>(list: readonly Element[]): readonly (readonly Element[])[] {
  const half = Math.ceil(list.length / 2)
  return [list.slice(0, half), list.slice(half)]
}

/** Divides the lines into requests. Spans that were never in the log came one by one, and are merged into one line. */
function groupLines(batches: readonly Batch[], maxSpans: number): SpanLine[][] {
  let lines: SpanLine[] = []
  let isStored = false
  for (const batch of batches) {
    lines.push(...batch.lines)
    isStored ||= batch.position !== undefined
  }
  if (!isStored) lines = [new SpanLine(spansOf(lines))]
  const groups: SpanLine[][] = []
  let [spans, bytes] = [Number.POSITIVE_INFINITY, 0]
  for (const whole of lines) {
    const isTooLarge = whole.size > 1 && (whole.size > maxSpans || whole.bytes > REQUEST_BYTES)
    for (const line of isTooLarge ? splitLine(whole, maxSpans) : [whole]) {
      if (spans + line.size > maxSpans || bytes + line.bytes > REQUEST_BYTES) {
        groups.push([])
        spans = 0
        bytes = 0
      }
      groups.at(-1)?.push(line)
      spans += line.size
      bytes += line.bytes
    }
  }
  return groups
}

function splitLine(line: SpanLine, maxSpans: number): readonly SpanLine[] {
  const parts: ReadableSpan[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const span of line.spans) {
    const size = estimatedBytes(span)
    const part = parts.at(-1)
    if (part !== undefined && part.length < maxSpans && bytes + size <= REQUEST_BYTES) {
      part.push(span)
      bytes += size
    } else {
      parts.push([span])
      bytes = size
    }
  }
  return parts.map(spans => new SpanLine(spans))
}

import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { SentState } from './sent-record.ts'

const NANOS_PER_MILLI = 1_000_000

/** What has arrived of one file at one backend. */
export interface SentTally {
  readonly traceIds: ReadonlySet<string>
  readonly spans: number
  /** Start of the first span and end of the last one, epoch milliseconds; infinite for none. */
  readonly from: number
  readonly to: number
}

export interface SendingParts {
  readonly pass: SentState
  /** When a trace began, epoch milliseconds. Absent = every trace is wanted. */
  readonly begunAt: ((traceId: string) => number) | undefined
  /** Called after each acknowledgement. */
  readonly onSent: (state: SentState) => void
}

/** How far the sending of one file to one backend, for which somebody asks, has got. */
export class Sending {
  readonly #parts: SendingParts
  readonly #traceIds = new Set<string>()
  #offset: number
  #spans = 0
  #from: number = Number.POSITIVE_INFINITY
  #to: number = Number.NEGATIVE_INFINITY
  /** On their way. */
  #reading: readonly ReadableSpan[] = []

  constructor(parts: SendingParts) {
    this.#parts = parts
    this.#offset = parts.pass.offset
  }

  /** Bytes. */
  get offset(): number {
    return this.#offset
  }

  get tally(): SentTally {
    return { traceIds: this.#traceIds, spans: this.#spans, from: this.#from, to: this.#to }
  }

  /** Those of the spans that are read next that are to be sent. */
  wanted(spans: readonly ReadableSpan[]): readonly ReadableSpan[] {
    this.#reading = spans.filter(span => this.#isWanted(span))
    return this.#reading
  }

  /** The backend is done with what was read. */
  advance(offset: number): void {
    if (offset <= this.#offset) return
    this.#offset = offset
    for (const span of this.#reading) this.#count(span)
    this.#reading = []
    this.#parts.onSent({ ...this.#parts.pass, offset })
  }

  #isWanted(span: ReadableSpan): boolean {
    const { pass, begunAt } = this.#parts
    if (begunAt === undefined) return true
    const at = begunAt(span.spanContext().traceId)
    return at >= pass.since && (pass.before === null || at < pass.before)
  }

  #count(span: ReadableSpan): void {
    this.#spans++
    this.#traceIds.add(span.spanContext().traceId)
    this.#from = Math.min(this.#from, millisOf(span.startTime))
    this.#to = Math.max(this.#to, millisOf(span.endTime))
  }
}

/** Whole ones: `--since` takes no finer ones. */
export function millisOf([seconds, nanos]: ReadableSpan['startTime']): number {
  return seconds * 1000 + Math.floor(nanos / NANOS_PER_MILLI)
}

import { createHash, randomFillSync } from 'node:crypto'
import type { IdGenerator } from '@opentelemetry/sdk-trace-base'

const TRACE_ID_DIGITS = 32
const SPAN_ID_DIGITS = 16
const POOL_BYTES = 4096

function digest(digits: number, ...parts: string[]): string {
  const hash = createHash('sha256')
  // The length keeps ('a', 'bc') and ('ab', 'c') apart.
  for (const part of parts) hash.update(`${part.length}:${part};`)
  return valid(hash.digest('hex').slice(0, digits))
}

/** Random bytes are generated in advance: one call costs as much as a hundred ids. */
const pool = Buffer.alloc(POOL_BYTES)
let used = POOL_BYTES

function random(digits: number): string {
  const bytes = digits / 2
  if (used + bytes > POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  used += bytes
  return valid(pool.toString('hex', used - bytes, used))
}

export const randomIds: IdGenerator = {
  generateSpanId: () => random(SPAN_ID_DIGITS),
  generateTraceId: () => random(TRACE_ID_DIGITS),
}

/** Random ids, except for a span whose ids have already been given out. */
export class ReservableIds implements IdGenerator {
  #next: { readonly traceId: string; readonly spanId: string } | undefined
  #traceId: string | undefined

  reserve(traceId: string, spanId: string): void {
    this.#next = { traceId, spanId }
  }

  generateSpanId(): string {
    const reserved = this.#next
    this.#next = undefined
    this.#traceId = reserved?.traceId
    return reserved === undefined ? random(SPAN_ID_DIGITS) : reserved.spanId
  }

  generateTraceId(): string {
    const reserved = this.#traceId
    this.#traceId = undefined
    return reserved ?? random(TRACE_ID_DIGITS)
  }
}

/** An id of only zeros is invalid in OpenTelemetry. */
function valid(id: string): string {
  return /[^0]/.test(id) ? id : `${id.slice(1)}1`
}

/** Derives ids from the identity of a span, so that a replay yields the same ids. A seed applies to the next span. */
export class DeterministicIds implements IdGenerator {
  #next: { readonly trace: string; readonly span: string } | undefined
  #trace: string | undefined

  seed(traceIdentity: string, spanIdentity: string): void {
    this.#next = { trace: traceIdentity, span: spanIdentity }
  }

  /** The tracer requests the span id first, for every span, and then the trace id if the span is a root. */
  generateSpanId(): string {
    const seed = this.#next
    this.#next = undefined
    this.#trace = seed?.trace
    return seed ? digest(SPAN_ID_DIGITS, 'span', seed.trace, seed.span) : random(SPAN_ID_DIGITS)
  }

  generateTraceId(): string {
    const identity = this.#trace
    this.#trace = undefined
    return identity === undefined ? random(TRACE_ID_DIGITS) : digest(TRACE_ID_DIGITS, 'trace', identity)
  }
}

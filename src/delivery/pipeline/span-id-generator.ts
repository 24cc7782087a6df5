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

/** An id of only zeros is invalid in OpenTelemetry. */
function valid(id: string): string {
  return /[^0]/.test(id) ? id : `${id.slice(1)}1`
}

/** Random ids, except for a span whose ids have already been given out, or are derived from its identity. */
export class SpanIdGenerator implements IdGenerator {
  #spanId: string | undefined
  #traceId: string | undefined
  #traceIdentity: string | undefined

  /** Sets the ids of the next span; the trace id only if it is a root. */
  readonly reserve = (traceId: string, spanId: string): void => {
    this.#traceId = traceId
    this.#traceIdentity = undefined
    this.#spanId = spanId
  }

  /** Derives the ids of the next span from its identity, so that a replay yields the same ids. */
  readonly seed = (traceIdentity: string, spanIdentity: string): void => {
    this.#traceId = undefined
    this.#traceIdentity = traceIdentity
    this.#spanId = digest(SPAN_ID_DIGITS, 'span', traceIdentity, spanIdentity)
  }

  /** The tracer requests the span id first, for every span, and then the trace id if the span is a root. */
  generateSpanId(): string {
    const reserved = this.#spanId
    this.#spanId = undefined
    if (reserved === undefined) this.#traceId = this.#traceIdentity = undefined
    return reserved ?? random(SPAN_ID_DIGITS)
  }

  generateTraceId(): string {
    const [reserved, identity] = [this.#traceId, this.#traceIdentity]
    this.#traceId = this.#traceIdentity = undefined
    return reserved ?? (identity === undefined ? random(TRACE_ID_DIGITS) : digest(TRACE_ID_DIGITS, 'trace', identity))
  }
}

/** Its functions need no `this`: the plugin passes them on by themselves. */
export const randomIds: IdGenerator = {
  generateSpanId: () => random(SPAN_ID_DIGITS),
  generateTraceId: () => random(TRACE_ID_DIGITS),
}

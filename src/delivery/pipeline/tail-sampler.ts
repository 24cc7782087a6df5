import type { ReadableSpan, Span } from '@opentelemetry/sdk-trace-base'
import { attributeOf, estimatedBytes, isSampled, NOT_KEPT } from '../trace-log/index.ts'
import { api } from './sdk.ts'
import type { TailSamplingSettings } from './settings.ts'
import type { SpanListener } from './span-processors.ts'

/** Decisions remembered for late spans. A forgotten trace is sent: too much is better than too little. */
const MAX_DECISIONS = 20_000
/** OpenTelemetry's key in `tracestate`, and the threshold of a trace that represents itself only. */
const OT = 'ot'
const NO_THRESHOLD = '0'
/** Decision for a trace without a turn. It is sent. */
const UNDECIDED = ''

/** Samples an open turn by what is known. Returns the reason to keep it, `NOT_KEPT`, or undefined without a turn. */
export type EarlyDecision = (traceId: string) => string | undefined

interface BufferedTrace {
  open: number
  spans: ReadableSpan[]
  bytes: number
  decision: string | undefined
  /** A turn of the trace was not kept. Another one may be. */
  hasDroppedTurn: boolean
}

/**
 * Buffers the spans of a trace until it is sampled. The root of a turn carries, when it ends, the reason why its trace is
 * kept. Then the whole trace is sent, and later spans are sent at once. If no span of the trace is open any more and no
 * root had a reason to keep it, the trace is dropped. If no root had a verdict at all, for example in a trace without a
 * turn, it is sent.
 */
export class TailSampler implements SpanListener {
  readonly #next: SpanListener
  readonly #settings: TailSamplingSettings
  readonly #traces = new Map<string, BufferedTrace>()
  readonly #decisions = new Map<string, string>()
  #bytes = 0
  decideEarly: EarlyDecision = () => undefined

  constructor(next: SpanListener, settings: TailSamplingSettings) {
    this.#next = next
    this.#settings = settings
  }

  onStart(span: Span): void {
    if (isSampled(span)) this.#traceOf(span).open++
  }

  onEnd(span: ReadableSpan): void {
    if (!isSampled(span)) return
    const trace = this.#traceOf(span)
    trace.open = Math.max(0, trace.open - 1)
    const reason = attributeOf(span, this.#settings.reasonName)
    if (reason === NOT_KEPT) trace.hasDroppedTurn = true
    // A trace dropped for lack of room may get another turn, which is kept.
    else if (typeof reason === 'string' && (trace.decision ?? NOT_KEPT) === NOT_KEPT) trace.decision = reason
    const bytes = estimatedBytes(span)
    trace.spans.push(span)
    trace.bytes += bytes
    this.#bytes += bytes
    if (trace.decision !== undefined) this.#applyDecision(trace, trace.decision)
    if (trace.open === 0) this.#endTrace(span.spanContext().traceId, trace)
    if (this.#bytes > this.#settings.maxBytes) this.#makeRoom()
  }

  /** Sends undecided spans if the process ends without a log. A trace whose ended turns are not kept is dropped. */
  releaseUndecided(): void {
    for (const [traceId, trace] of this.#traces) {
      const hasOpenTurn = this.decideEarly(traceId) !== undefined
      this.#applyDecision(trace, trace.decision ?? (hasOpenTurn ? UNDECIDED : this.#decisionOf(traceId, trace)))
    }
    this.#traces.clear()
  }

  #traceOf(span: ReadableSpan): BufferedTrace {
    const { traceId } = span.spanContext()
    let trace = this.#traces.get(traceId)
    if (trace === undefined) {
      trace = { open: 0, spans: [], bytes: 0, decision: undefined, hasDroppedTurn: false }
      this.#traces.set(traceId, trace)
    }
    return trace
  }

  #endTrace(traceId: string, trace: BufferedTrace): void {
    this.#applyDecision(trace, trace.decision ?? this.#decisionOf(traceId, trace))
    this.#traces.delete(traceId)
    this.#decisions.delete(traceId)
    this.#decisions.set(traceId, trace.decision ?? UNDECIDED)
    const [oldest] = this.#decisions.size > MAX_DECISIONS ? this.#decisions.keys() : []
    if (oldest !== undefined) this.#decisions.delete(oldest)
  }

  #decisionOf(traceId: string, { hasDroppedTurn: isPassedOver }: BufferedTrace): string {
    return isPassedOver ? NOT_KEPT : (this.#decisions.get(traceId) ?? UNDECIDED)
  }

  #applyDecision(trace: BufferedTrace, decision: string): void {
    trace.decision = decision
    this.#bytes -= trace.bytes
    trace.bytes = 0
    for (const span of trace.spans.splice(0))
      if (decision !== NOT_KEPT) this.#next.onEnd(this.#withSamplingState(span, decision))
  }

  #makeRoom(): void {
    while (this.#bytes > this.#settings.maxBytes) {
      const [traceId, largest] = [...this.#traces].reduce((one, other) => (other[1].bytes > one[1].bytes ? other : one))
      this.#applyDecision(largest, this.decideEarly(traceId) ?? this.#decisionOf(traceId, largest))
    }
  }

  /** Adds the threshold of consistent probability sampling to `tracestate`. The span is the prototype: its getters still work. */
  #withSamplingState(span: ReadableSpan, decision: string): ReadableSpan {
    const context = span.spanContext()
    const state = context.traceState ?? api().createTraceState()
    const digits = decision === 'rate' ? this.#settings.threshold?.replace(/0+$/, '') : undefined
    const traceState = state.set(OT, withThreshold(state.get(OT) ?? '', digits || NO_THRESHOLD))
    return Object.create(span, { spanContext: { value: () => ({ ...context, traceState }) } }) as ReadableSpan
  }
}

/** Keeps the caller's fields. Of two thresholds the higher one wins. */
function withThreshold(ot: string, threshold: string): string {
  const fields = ot.split(';').filter(field => field !== '')
  const given = fields.find(field => field.startsWith('th:'))?.slice('th:'.length) ?? NO_THRESHOLD
  const rest = fields.filter(field => !field.startsWith('th:'))
  return [`th:${given > threshold ? given : threshold}`, ...rest].join(';')
}

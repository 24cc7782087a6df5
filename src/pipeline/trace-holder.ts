import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { estimatedBytes, NOT_KEPT } from '../trace-log/index.ts'
import { api } from './sdk.ts'
import type { HoldingSettings } from './settings.ts'

const SAMPLED = 1
/** Traces whose verdict is remembered for what comes late. One that is forgotten is sent: more rather than less. */
const VERDICTS_LIMIT = 20_000
/** OpenTelemetry's key in `tracestate`, and what says there for how many a trace stands: for itself alone. */
const OT = 'ot'
const FOR_ITSELF = '0'
const RATE = 'rate'
/** Of what nobody has judged, because it is no turn's: it is sent. */
const UNJUDGED = ''

/** Judges a turn that is not over by what is known of it: why its trace is kept, or `NOT_KEPT`; undefined = there is no such turn. */
export type JudgeEarly = (traceId: string) => string | undefined

interface HeldTrace {
  open: number
  spans: ReadableSpan[]
  bytes: number
  /** Why it is kept, or that it is not; undefined until that is known. */
  verdict: string | undefined
  /** Some turn in it is not worth keeping. Another one may be. */
  isPassedOver: boolean
}

/**
 * Holds the spans of a trace until it is known whether they are to be sent. The root of a turn says when it ends why its trace
 * is kept: then all of it goes, and what follows goes at once. When nothing of a trace is open any more and no root has said
 * so, it is let go; where no root has said anything, as with what is no turn's, it is sent.
 */
export class TraceHolder implements SpanProcessor {
  readonly #next: SpanProcessor
  readonly #settings: HoldingSettings
  readonly #traces = new Map<string, HeldTrace>()
  readonly #verdicts = new Map<string, string>()
  #bytes = 0
  judgeEarly: JudgeEarly = () => undefined

  constructor(next: SpanProcessor, settings: HoldingSettings) {
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
    const reason = span.attributes[this.#settings.reasonName]
    if (reason === NOT_KEPT) trace.isPassedOver = true
    // A trace that was let go for want of room may get another turn, which is worth it.
    else if (typeof reason === 'string' && (trace.verdict ?? NOT_KEPT) === NOT_KEPT) trace.verdict = reason
    this.#hold(trace, span)
    if (trace.open === 0) this.#close(span.spanContext().traceId, trace)
    if (this.#bytes > this.#settings.maxBytes) this.#makeRoom()
  }

  /**
   * Sends what is held and not judged, for a process that ends and has no log where it could be found. A trace whose turns are
   * over and not worth it is judged, whatever else is open in it.
   */
  release(): void {
    for (const [traceId, trace] of this.#traces) {
      const hasOpenTurn = this.judgeEarly(traceId) !== undefined
      this.#judge(trace, trace.verdict ?? (hasOpenTurn ? UNJUDGED : this.#saidOf(traceId, trace)))
    }
    this.#traces.clear()
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#next.shutdown()
  }

  #traceOf(span: ReadableSpan): HeldTrace {
    const { traceId } = span.spanContext()
    let trace = this.#traces.get(traceId)
    if (trace === undefined) {
      trace = { open: 0, spans: [], bytes: 0, verdict: undefined, isPassedOver: false }
      this.#traces.set(traceId, trace)
    }
    return trace
  }

  #hold(trace: HeldTrace, span: ReadableSpan): void {
    const bytes = estimatedBytes(span)
    trace.spans.push(span)
    trace.bytes += bytes
    this.#bytes += bytes
    if (trace.verdict !== undefined) this.#judge(trace, trace.verdict)
  }

  #close(traceId: string, trace: HeldTrace): void {
    this.#judge(trace, trace.verdict ?? this.#saidOf(traceId, trace))
    this.#traces.delete(traceId)
    this.#verdicts.delete(traceId)
    this.#verdicts.set(traceId, trace.verdict ?? UNJUDGED)
    const [oldest] = this.#verdicts.size > VERDICTS_LIMIT ? this.#verdicts.keys() : []
    if (oldest !== undefined) this.#verdicts.delete(oldest)
  }

  /** What follows from its roots that have ended, where none is worth it. */
  #saidOf(traceId: string, { isPassedOver }: HeldTrace): string {
    return isPassedOver ? NOT_KEPT : (this.#verdicts.get(traceId) ?? UNJUDGED)
  }

  #judge(trace: HeldTrace, verdict: string): void {
    trace.verdict = verdict
    this.#bytes -= trace.bytes
    trace.bytes = 0
    for (const span of trace.spans.splice(0)) if (verdict !== NOT_KEPT) this.#next.onEnd(this.#stating(span, verdict))
  }

  /** What fills the most room is judged by what is known of it: by the turns that are open, else by those that are over. */
  #makeRoom(): void {
    while (this.#bytes > this.#settings.maxBytes) {
      const [traceId, largest] = [...this.#traces].reduce((one, other) => (other[1].bytes > one[1].bytes ? other : one))
      this.#judge(largest, this.judgeEarly(traceId) ?? this.#saidOf(traceId, largest))
    }
  }

  /** With how many traces it stands for, as consistent probability sampling says it. */
  #stating(span: ReadableSpan, verdict: string): ReadableSpan {
    const context = span.spanContext()
    const state = context.traceState ?? api().createTraceState()
    const traceState = state.set(OT, withThreshold(state.get(OT) ?? '', this.#thresholdOf(verdict)))
    // Everything else is the span's own, also what it computes when it is asked.
    return Object.create(span, { spanContext: { value: () => ({ ...context, traceState }) } }) as ReadableSpan
  }

  #thresholdOf(verdict: string): string {
    const digits = verdict === RATE ? this.#settings.threshold?.replace(/0+$/, '') : undefined
    return digits || FOR_ITSELF
  }
}

/** What a caller has said there stays; of two thresholds the higher one holds. */
function withThreshold(ot: string, threshold: string): string {
  const fields = ot.split(';').filter(field => field !== '')
  const told = fields.find(field => field.startsWith('th:'))?.slice('th:'.length) ?? FOR_ITSELF
  const rest = fields.filter(field => !field.startsWith('th:'))
  return [`th:${told > threshold ? told : threshold}`, ...rest].join(';')
}

function isSampled(span: ReadableSpan): boolean {
  return (span.spanContext().traceFlags & SAMPLED) !== 0
}

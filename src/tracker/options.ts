import type { Meter, Span, SpanContext, Tracer } from '@opentelemetry/api'
import type { MetricKey } from '../contract/semconv/index.ts'
import type { Enrich } from './enrichment.ts'
import type { FlusherOptions } from './flush.ts'
import type { Report } from './guard.ts'
import type { Gauge } from './instruments.ts'
import type { TakeLog } from './log-events.ts'
import type { AttributeOptions } from './spans/span-definition.ts'

export interface CoreConfig {
  readonly namespace: string
  /** Relation of a turn to a caller outside of the agent. For `active`, see also `activeSpan`. */
  readonly parent: 'link' | 'nest' | 'active'
  /** Lower-case names of tools that start a child agent. */
  readonly delegatingTools: ReadonlySet<string>
  readonly emitGenAiMetrics: boolean
  /** A turn that is silent for longer is ended. */
  readonly rootSpanTtlMillis: number
  /** The same limit while a tool, an approval, a request or a child is open in the turn. Not less than `rootSpanTtlMillis`. */
  readonly openWorkTtlMillis: number
  /** A parent in another process, from the environment of this one. */
  readonly remoteParent: SpanContext | undefined
  readonly flushOnSessionEnd: boolean
  readonly flushWaitMillis: number
}

export interface CoreOptions extends CoreConfig, FlusherOptions {
  readonly tracer: Tracer
  readonly meter: Meter
  readonly draw: AttributeOptions
  /** Returns the known name closest to an unknown one, if any is close. */
  readonly nearestName: (unknown: string, known: readonly string[]) => string | undefined
  readonly report: Report
  /** Host of records that name none. */
  readonly host: string
  /** Returns the host's active span, if `parent` is `active`. */
  readonly activeSpan: () => SpanContext | undefined
  /** Sends everything that is queued; never rejects. Undefined if hookspan sends nothing itself. */
  readonly flush: (() => Promise<void>) | undefined
  /** Called at the end of each hook, to make its data safe before the host continues. */
  readonly settle: (() => void) | undefined
  /** Called when an open span gets attributes that the trace log should contain before it ends. */
  readonly noteAgain?: ((span: Span) => void) | undefined
  /** Called before reading values that a pending record could change. */
  readonly catchUp?: (() => void) | undefined
  readonly enrich?: Enrich | undefined
  /** Receives log events; undefined if no backend wants any. */
  readonly log?: TakeLog | undefined
  /** Returns true while records are read again that another process has already measured and sent. */
  readonly isReadAgain?: (() => boolean) | undefined
  readonly seedIds: ((traceIdentity: string, spanIdentity: string) => void) | undefined
  /** Ends idle turns by the clock, too. Off in a replay, where only the records' time counts. */
  readonly sweepByClock: boolean
  /** Values that other modules count and the core's instruments report. */
  readonly gauges: Partial<Record<MetricKey, Gauge>>
  /** Epoch milliseconds. */
  readonly now: () => number
}

import type { Meter, ObservableResult, Span, SpanContext, Tracer } from '@opentelemetry/api'
import type { HookName } from '../contract/index.ts'
import type { MetricKey } from '../contract/semconv/index.ts'
import type { Enrich } from './enrichment.ts'
import type { FlusherOptions } from './flush.ts'
import type { Diagnostics } from './guard.ts'
import type { EmitLog } from './log-events.ts'
import type { AttributeOptions } from './spans/span-definition.ts'

export interface CoreConfig {
  readonly namespace: string
  /** Relation of a turn to a caller outside of the agent. For `active`, see also `activeSpan`. */
  readonly parent: 'link' | 'nest' | 'active'
  /** Lower-case names of tools that start a child agent. */
  readonly delegatingTools: ReadonlySet<string>
  readonly emitGenAiMetrics: boolean
  readonly rootSpanTtlMillis: number
  /** The same limit while a tool, an approval, a request or a child is open in the turn. Not less than `rootSpanTtlMillis`. */
  readonly openWorkTtlMillis: number
  /** A parent in another process, from the environment of this one. */
  readonly remoteParent: SpanContext | undefined
  readonly flushOnSessionEnd: boolean
  readonly flushWaitMillis: number
}

export type Gauge = (result: ObservableResult) => void

/** The type that a field must have to be readable; `any` accepts every value. */
export type FieldKind = 'text' | 'number' | 'boolean' | 'list' | 'any'

export interface CoreOptions extends CoreConfig, FlusherOptions {
  readonly tracer: Pick<Tracer, 'startSpan'>
  /** Undefined if `Core.attachMeter` follows. */
  readonly meter: Meter | undefined
  /** Calls `Core.attachMeter` before it returns. Called if too many points are waiting for a meter. */
  readonly openMeter?: (() => unknown) | undefined
  readonly attributeOptions: AttributeOptions
  readonly nearestName: (unknown: string, known: readonly string[]) => string | undefined
  readonly payloadFields: Readonly<Record<HookName, Readonly<Record<string, FieldKind>>>>
  readonly report: Diagnostics
  readonly host: string
  readonly activeSpan: (() => SpanContext | undefined) | undefined
  /** Sends everything that is queued; never rejects. Undefined if hookspan sends nothing itself. */
  readonly flush: (() => Promise<void>) | undefined
  /** Called at the end of each hook, to make its data safe before the host continues. */
  readonly flushLogSync: (() => void) | undefined
  /** Called when an open span gets attributes that the trace log should contain before it ends. */
  readonly noteAgain?: ((span: Span) => void) | undefined
  readonly catchUp?: (() => void) | undefined
  readonly enrich?: Enrich | undefined
  readonly log?: EmitLog | undefined
  /** Returns true while records are read again that another process has already measured and sent. */
  readonly isReadAgain?: (() => boolean) | undefined
  readonly seedIds: ((traceIdentity: string, spanIdentity: string) => void) | undefined
  readonly reserveIds: ((traceId: string, spanId: string) => void) | undefined
  /** Ends idle turns by the clock, too. Off in a replay, where only the records' time counts. */
  readonly sweepByClock: boolean
  readonly gauges: Partial<Record<MetricKey, Gauge>>
  readonly now: () => number
}

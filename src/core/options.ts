import type { Meter, Span, SpanContext, Tracer } from '@opentelemetry/api'
import type { MetricKey } from '../semconv/index.ts'
import type { Draw } from '../spans/span-definition.ts'
import type { Enrich } from './enrichment.ts'
import type { FlusherOptions } from './flush.ts'
import type { Report } from './guard.ts'
import type { Gauge } from './instruments.ts'
import type { TakeLog } from './log-events.ts'

/** The slice of the configuration that the core sees, resolved. */
export interface CoreConfig {
  readonly namespace: string
  readonly statusOk: boolean
  /** One trace per turn, or later turns of a session under its first. */
  readonly traceScope: 'turn' | 'session'
  /** What a caller outside of the agent is to a turn; what `active` adds is in `activeSpan`. */
  readonly parent: 'link' | 'nest' | 'active'
  /** Lower-case names of tools that start a child agent. */
  readonly delegatingTools: ReadonlySet<string>
  readonly skillSpans: boolean
  readonly emitGenAiMetrics: boolean
  readonly metricsLabelLimit: number
  /** A turn that is silent for longer is over. */
  readonly rootSpanTtlMillis: number
  /** The same while a tool, an approval, a request or a child is open in it. Not less than `rootSpanTtlMillis`. */
  readonly openWorkTtlMillis: number
  /** A parent in another process, from the environment of this one. */
  readonly remoteParent: SpanContext | undefined
  readonly flushOnSessionEnd: boolean
  readonly flushWaitMillis: number
}

/** That, and the outside that the core needs. */
export interface CoreOptions extends CoreConfig, FlusherOptions {
  readonly tracer: Tracer
  readonly meter: Meter
  readonly draw: Draw
  /** The known name that an unknown one is probably meant to be. */
  readonly nearestName: (unknown: string, known: readonly string[]) => string | undefined
  readonly report: Report
  /** Host of records that name none. */
  readonly host: string
  /** The host's span that is active now, where it is to be asked for. */
  readonly activeSpan: () => SpanContext | undefined
  /** Sends everything that is queued; never rejects. Undefined: nothing is sent by us. */
  readonly flush: (() => Promise<void>) | undefined
  /** Called at the end of each hook: what it recorded is to be safe before the host goes on. */
  readonly settle: (() => void) | undefined
  /** Called when an open span has got attributes that the trace log should show before it ends. */
  readonly noteAgain?: ((span: Span) => void) | undefined
  /** Called before something is read that a record could change which is still to come in. */
  readonly catchUp?: (() => void) | undefined
  /** Asked what else is to be said of each span. */
  readonly enrich?: Enrich | undefined
  /** Takes log events; undefined where no backend wants any. */
  readonly log?: TakeLog | undefined
  /** What is told now has been told to another process before, which has measured it and sent it. */
  readonly isReadAgain?: (() => boolean) | undefined
  readonly seedIds: ((traceIdentity: string, spanIdentity: string) => void) | undefined
  /** Sweep idle turns by the clock too. Off in a replay, where only the records' time counts. */
  readonly sweepByClock: boolean
  /** Numbers that others know and our instruments show. */
  readonly gauges: Partial<Record<MetricKey, Gauge>>
  /** Epoch milliseconds. */
  readonly now: () => number
}

import type { SpanKind } from '@opentelemetry/api'
import type { Capture } from '../../content/capture-policy.ts'
import type { SafeText } from '../../content/safe-text.ts'
import type { HookMeta, HookName, SpanKindName } from '../../contract/index.ts'
import type { FactNames, LogEventKey, MetricKey, NextMetricKey } from '../../contract/semconv/index.ts'
import type { AttributeList } from './attribute-list.ts'

/**
 * Values derived from a record that attributes, metrics and the turn summary share and that are expensive, such as a
 * parsed tool result. Each is computed once and dropped with the record; null if there is none. Kept on the record
 * itself: a WeakMap would cost more than most computations.
 */
export interface RecordFacts {
  toolEnd?: ToolEndFacts
  /** A guard blocked the ended tool call. A host may report it as an error, or as a result with the reason. */
  wasBlocked?: boolean
  toolTarget?: SafeText | null
  toolCommand?: SafeText | null
  usage?: TokenUsage | null
  cost?: Cost | null
}

/** One hook as the definitions see it. The payload's fields follow the contract, or may be anything. */
export interface HookEvent<Payload> {
  readonly hook: HookName
  readonly at: number
  readonly payload: Payload
  /** The host's own fields, if hookspan adds others to the payload. */
  readonly reported?: Readonly<Record<string, unknown>>
  readonly correlation?: HookMeta['correlation'] | undefined
  readonly facts: RecordFacts
}

export type AnyHookEvent = HookEvent<Readonly<Record<string, unknown>>>

export interface SpanError {
  readonly type: SafeText
  readonly message?: SafeText | undefined
}

export interface SpanEnd {
  readonly attributes: AttributeList
  /** Present = status ERROR, and `error.type`. */
  readonly error?: SpanError | undefined
  readonly exception?: boolean
}

/** A span at its end, or an end that gets no span. Times are epoch milliseconds. */
export interface EndedSpan<Kept> {
  readonly startAt: number
  readonly endAt: number
  /** The fields kept from the payload that started it (`kept-start.ts`); undefined if its start was never seen. */
  readonly start: Kept | undefined
  /** Also true if the span with the start has been ended before. */
  readonly startSeen: boolean
  /** Milliseconds; undefined if neither a start nor a duration is known. */
  readonly durationMillis: number | undefined
  readonly isSubagent: boolean
  readonly agentName: SafeText | undefined
}

export interface MetricPoint {
  readonly instrument: MetricKey | NextMetricKey
  /** Without a finite value of at least 0, no point is recorded. */
  readonly value: number | undefined
  /** Low-cardinality by construction: never an id, a path or a command. */
  readonly labels: Readonly<Record<string, string>>
}

export interface SpanLogEvent {
  readonly event: LogEventKey
  readonly attributes: AttributeList
}

export interface AttributeOptions {
  readonly facts: FactNames
  /** Returns true for a name that hookspan writes or might write. Custom attributes must not use it. */
  readonly isOurs: (name: string) => boolean
  readonly capture: Capture
  readonly warnOnce: (line: string) => void
  readonly workspaceCapture: 'off' | 'name' | 'path'
  readonly nextMetrics: boolean
  readonly spanNames: 'hermes' | 'semconv'
  readonly agentName: SafeText | undefined
  readonly projectName: SafeText | undefined
  readonly pricing: Pricing | undefined
  readonly keep: KeepRules | undefined
}

/**
 * Builds one kind of span from hook records: nine pure members, none of which touches a span. `Start` and `End` are the
 * payloads of its hooks, `Kept` is what is kept of the former (`kept-start.ts`).
 */
export interface SpanDefinition<Start = never, End = never, Kept = Start> {
  readonly kind: SpanKindName
  readonly spanKind: SpanKind
  /** Parent kinds, best first. The parent is the innermost open span of the first kind found in the span's own turn. */
  readonly parents: readonly SpanKindName[]
  /** The key that pairs an end with its start inside the turn, from explicit ids only. Undefined: the record gets no span. */
  key(payload: Start | End): string | undefined
  name(payload: Start | End, options: AttributeOptions): SafeText
  start(event: HookEvent<Start>, options: AttributeOptions): AttributeList
  end(event: HookEvent<End>, options: AttributeOptions, ended: EndedSpan<Kept>): SpanEnd
  measure(event: HookEvent<End>, options: AttributeOptions, ended: EndedSpan<Kept>): readonly MetricPoint[]
  /** The log event for an end, if logs are enabled. Absent: no end of this kind has one. */
  logEvent?(event: HookEvent<End>, options: AttributeOptions, ended: EndedSpan<Kept>): SpanLogEvent | undefined
}

export interface SkillEvidence {
  readonly name: string
  readonly source: 'skill_view' | 'path_match'
  readonly path: string | undefined
}

export interface ToolEndFacts {
  /** `completed`, `error`, `timeout`, `blocked`, `cancelled`, or a result's own status in lower case. */
  readonly outcome: string
  readonly error: SpanError | undefined
  readonly skill: SkillEvidence | undefined
}

/** Tokens of one model request. Cache and reasoning are subsets of input and output, and are never added to a total. */
export interface TokenUsage {
  readonly promptTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  /** The part of the cache writes that is kept for an hour. */
  readonly cacheWriteLongTokens: number
  readonly reasoningTokens: number
  readonly totalTokens: number
}

export interface Cost {
  readonly dollars: number
  readonly source: 'provider' | 'agent' | 'configured' | 'list'
  /** `list` only: the model whose prices were used, if the request names it differently, and the version of the price list. */
  readonly pricedAs?: string | undefined
  readonly prices?: string | undefined
}

export interface PricedRequest {
  readonly provider: string | undefined
  readonly model: string
  readonly baseUrl: string | undefined
  /** The provider's own spelling. */
  readonly serviceTier: string | undefined
  /** Start time in epoch milliseconds. */
  readonly at: number
  readonly usage: TokenUsage
}

export type Pricing = (request: PricedRequest) => Cost | undefined

/** Rules of tail sampling. Undefined, false or empty disables a rule. */
export interface KeepRules {
  readonly errors: boolean
  readonly denied: boolean
  readonly slowerThanMillis: number | undefined
  readonly waitsCount: boolean
  /** US dollars. */
  readonly costOver: number | undefined
  readonly tokensOver: number | undefined
  readonly tools: ReadonlySet<string>
  /** Format of `thresholdOf`. */
  readonly threshold: string | undefined
}

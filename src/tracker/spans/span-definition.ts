import type { SpanKind } from '@opentelemetry/api'
import type { Capture, SafeText } from '../../content/capture.ts'
import type { HookMeta, HookName, SpanKindName } from '../../contract/index.ts'
import type { LogEventKey, MetricKey, Names, NextMetricKey } from '../../contract/semconv/index.ts'
import type { AttributeList } from './attribute-list.ts'
import type { KeepRules } from './keep-rules.ts'
import type { Pricing } from './pricing.ts'

/** Values derived from a record that several definitions use. Each is computed once and dropped with the record. */
export type RecordFacts = Record<string, unknown>

/** One hook as the definitions see it. The payload's fields follow the contract, or may be anything. */
export interface HookEvent<Payload> {
  readonly hook: HookName
  readonly at: number
  readonly payload: Payload
  readonly correlation?: HookMeta['correlation'] | undefined
  readonly facts: RecordFacts
}

export interface SpanError {
  /** Value of `error.type`, written with the status. */
  readonly type: SafeText
  /** The status description. */
  readonly message?: SafeText | undefined
}

export interface SpanEnd {
  readonly attributes: AttributeList
  /** Present = status ERROR, and `error.type`. */
  readonly error?: SpanError | undefined
  /** Also write the error as a span event `exception`. */
  readonly exception?: boolean
}

/** Facts about the span that a definition ends. */
export interface OpenedSpan<Kept> {
  /** Epoch milliseconds. */
  readonly startAt: number
  /** The fields kept from the payload that started it (`kept-start.ts`); undefined if its start was never seen. */
  readonly start: Kept | undefined
}

export interface EndedSpan<Kept> extends OpenedSpan<Kept> {
  /** Milliseconds; undefined if neither a start nor a duration is known. */
  readonly durationMillis: number | undefined
  /** The turn belongs to a child agent. */
  readonly isSubagent: boolean
  /** Agent of the turn; undefined if unknown. */
  readonly agentName: SafeText | undefined
}

export interface MetricPoint {
  readonly instrument: MetricKey | NextMetricKey
  readonly value: number
  /** Low-cardinality by construction: never an id, a path or a command. */
  readonly labels: Readonly<Record<string, string>>
}

/** A log event beside a span, for alerts and searches. */
export interface ToldEvent {
  readonly event: LogEventKey
  /** Added to the turn's attributes. */
  readonly attributes: AttributeList
}

/** Options for building spans, fixed at construction. */
export interface AttributeOptions {
  readonly names: Names
  readonly capture: Capture
  /** True if metric points of `gen_ai_next` are recorded, too. */
  readonly nextMetrics: boolean
  readonly spanNames: 'hermes' | 'semconv'
  readonly agentName: SafeText | undefined
  readonly projectName: SafeText | undefined
  /** Computes the cost of a request; undefined if costs are not computed. */
  readonly pricing: Pricing | undefined
  /** The rules of tail sampling; undefined without tail sampling. */
  readonly keep: KeepRules | undefined
}

/**
 * Builds one kind of span from hook records: nine pure members, none of which touches a span. `Start` and `End` are the
 * payloads of its hooks, `Kept` is what is kept of the former (`kept-start.ts`).
 */
export interface SpanDefinition<Start = never, End = never, Kept = Start> {
  /** The value of `{ns}.span.kind`. */
  readonly kind: SpanKindName
  readonly spanKind: SpanKind
  /** Parent kinds, best first. The parent is the innermost open span of the first kind found in the span's own turn. */
  readonly parents: readonly SpanKindName[]
  /** The key that pairs an end with its start inside the turn, from explicit ids only. Undefined: the record gets no span. */
  key(payload: Start | End): string | undefined
  name(payload: Start | End, draw: AttributeOptions): SafeText
  start(fired: HookEvent<Start>, draw: AttributeOptions): AttributeList
  end(fired: HookEvent<End>, draw: AttributeOptions, ended: EndedSpan<Kept>): SpanEnd
  measure(fired: HookEvent<End>, draw: AttributeOptions, ended: EndedSpan<Kept>): readonly MetricPoint[]
  /** The log event for an end, if logs are enabled. Absent: no end of this kind has one. */
  tell?(fired: HookEvent<End>, draw: AttributeOptions, ended: EndedSpan<Kept>): ToldEvent | undefined
}

/** Stands for an undefined value, so that it is not computed again. */
const NOTHING = Symbol('nothing')

/**
 * Caches a derived value that attributes, metrics and the turn summary share and that is expensive, such as a parsed
 * tool result. Kept on the record itself: a WeakMap would cost more than most computations.
 */
export function perRecord<Fired extends { readonly facts: RecordFacts }, Reading>(
  name: string,
  read: (fired: Fired, draw: AttributeOptions) => Reading,
): (fired: Fired, draw: AttributeOptions) => Reading {
  return (fired, draw) => {
    const known = fired.facts[name]
    if (known !== undefined) return (known === NOTHING ? undefined : known) as Reading
    const reading = read(fired, draw)
    fired.facts[name] = reading === undefined ? NOTHING : reading
    return reading
  }
}

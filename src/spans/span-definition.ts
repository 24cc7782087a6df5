import type { SpanKind } from '@opentelemetry/api'
import type { Capture, SafeText } from '../content/capture.ts'
import type { HookMeta, HookName, SpanKindName } from '../contract/index.ts'
import type { LogEventKey, MetricKey, Names, NextMetricKey } from '../semconv/index.ts'
import type { AttributeList } from './attribute-list.ts'
import type { KeepRules } from './keep-rules.ts'
import type { Pricing } from './pricing.ts'

/** Readings of a record that several rows want; each is made once and forgotten with the record. */
export type RecordFacts = Record<string, unknown>

/** One hook as the definitions see it: the payload's fields are what the contract says, or anything at all. */
export interface Fired<Payload> {
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

/** What a row may ask about the span that it ends. */
export interface OpenedSpan<Kept> {
  /** Epoch milliseconds. */
  readonly startAt: number
  /** What is kept of the payload that started it (`kept-start.ts`); undefined when its start was never seen. */
  readonly start: Kept | undefined
}

export interface EndedSpan<Kept> extends OpenedSpan<Kept> {
  /** Milliseconds; undefined when neither a start nor a duration is known. */
  readonly durationMillis: number | undefined
  /** Its turn is that of a child agent. */
  readonly isSubagent: boolean
  /** Whose turn it is; undefined where nobody knows. */
  readonly agentName: SafeText | undefined
}

export interface MetricPoint {
  readonly instrument: MetricKey | NextMetricKey
  readonly value: number
  /** Low-cardinality by construction: never an id, a path or a command. */
  readonly labels: Readonly<Record<string, string>>
}

/** What somebody would be told of, or search for, beside the span that it is about. */
export interface ToldEvent {
  readonly event: LogEventKey
  /** Beside those of the turn. */
  readonly attributes: AttributeList
}

/** Everything that is decided once, at construction, about how spans are drawn. */
export interface Draw {
  readonly names: Names
  readonly capture: Capture
  /** Whether metric points of `gen_ai_next` are recorded, too. */
  readonly nextMetrics: boolean
  readonly spanNames: 'hermes' | 'semconv'
  /** What stands behind the names of roots. */
  readonly rootLabel: 'none' | 'agent' | 'session'
  readonly agentName: SafeText | undefined
  readonly projectName: SafeText | undefined
  /** Write the turn's usage on the root too. */
  readonly usageOnRoot: boolean
  /** What a request cost; undefined where nobody asks. */
  readonly pricing: Pricing | undefined
  /** Which turns are worth keeping; undefined where nobody asks. */
  readonly keep: KeepRules | undefined
}

/**
 * How one kind of span comes out of hook records: nine pure members, none of which touches a span.
 * `Start` and `End` are the payloads of its hooks, `Kept` is what is kept of the former (`kept-start.ts`).
 */
export interface SpanDefinition<Start = never, End = never, Kept = Start> {
  /** Our word for it: `{ns}.span.kind`. */
  readonly kind: SpanKindName
  readonly spanKind: SpanKind
  /** Kinds to nest under, best first; the innermost open span of the first kind found in the own turn is the parent. */
  readonly parents: readonly SpanKindName[]
  /** Pairs an end with its start, inside the turn. From explicit ids only; undefined = this record draws nothing. */
  key(payload: Start | End): string | undefined
  name(payload: Start | End, draw: Draw): SafeText
  start(fired: Fired<Start>, draw: Draw): AttributeList
  end(fired: Fired<End>, draw: Draw, ended: EndedSpan<Kept>): SpanEnd
  measure(fired: Fired<End>, draw: Draw, ended: EndedSpan<Kept>): readonly MetricPoint[]
  /** Which event this end is, where logs are wanted; absent = none of its ends is. */
  tell?(fired: Fired<End>, draw: Draw, ended: EndedSpan<Kept>): ToldEvent | undefined
}

/** Undefined is a reading, too: it must not be made anew each time. */
const NOTHING = Symbol('nothing')

/**
 * A reading that attributes, metrics and the turn summary share and that costs something, such as parsing a tool's
 * result. Kept on the record itself: a WeakMap would cost more than most readings.
 */
export function perRecord<Fired extends { readonly facts: RecordFacts }, Reading>(
  name: string,
  read: (fired: Fired, draw: Draw) => Reading,
): (fired: Fired, draw: Draw) => Reading {
  return (fired, draw) => {
    const known = fired.facts[name]
    if (known !== undefined) return (known === NOTHING ? undefined : known) as Reading
    const reading = read(fired, draw)
    fired.facts[name] = reading === undefined ? NOTHING : reading
    return reading
  }
}

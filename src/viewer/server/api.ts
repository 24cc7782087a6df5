import type { DiffLine } from '../../reading/argument-lines.ts'
import type { ComparedSide, Difference } from '../../reading/compare-traces.ts'
import type { PathSection } from '../../reading/critical-path.ts'
import type { DisplayKind, TextSegment } from '../../reading/segments.ts'
import type { TurnStep } from '../../reading/turn-steps.ts'
import type { OpenTraceRow, SourceStatus, TurnRow } from '../trace-index/answers.ts'

/**
 * The wire format between the viewer's server and its page. Times are epoch milliseconds, durations milliseconds, costs US
 * dollars. All text comes from traces and is untrusted. Single-line fields are printable, values are as stored. Results of the
 * index are passed on unchanged.
 */

export type * from '../trace-index/answers.ts'

/**
 * `/api/live`: one of these per line. The first is complete; later ones contain changes. A line with only `now` is a heartbeat.
 */
export interface LiveLine {
  readonly now: number
  readonly open?: readonly OpenTraceRow[]
  /** Traces that have changed; empty if too many have changed to list them. */
  readonly changed?: readonly string[]
  readonly source?: SourceStatus
}

export type SpanState = 'ended' | 'open' | 'owner-dead'

/** The fields that a row of the waterfall and a step of a transcript have in common. Absent means zero, none or false. */
export interface SpanFields {
  readonly id: string
  readonly kind: DisplayKind
  readonly name: string
  readonly attempt?: string
  readonly startAt: number
  /** For an open span, the latest known time. */
  readonly endAt: number
  readonly state: SpanState
  readonly outcome?: TextSegment
  readonly isError?: true
  readonly input?: number
  readonly output?: number
  /** The part of `input` that a cache served. */
  readonly cached?: number
  readonly cost?: number
  readonly childTraces?: readonly string[]
}

export interface SpanRow extends SpanFields {
  /** Index of the parent row; -1 for a root. Parents come before their children. */
  readonly parent: number
  readonly depth: number
  readonly hint?: string
  readonly marks?: readonly TextSegment[]
  readonly isPersonWait?: true
  readonly sum?: RowSum
}

export type RowSum = Readonly<Record<'input' | 'output' | 'cached' | 'cost' | 'errorCount', number>>

export type PathSectionRow = PathSection & Readonly<{ row: number }>

export type Fold = Readonly<{ rows: readonly number[]; totalMillis: number }>

export interface TraceView {
  readonly turn: TurnRow
  readonly now: number
  readonly startAt: number
  readonly rows: readonly SpanRow[]
  readonly cutCount?: number
  /** Sorted by time. Provisional while a span is open. */
  readonly path: readonly PathSectionRow[]
  readonly folds: readonly Fold[]
  readonly previous?: string
  readonly next?: string
}

export type TranscriptText = LongValue & Readonly<{ id: string }>

/** One line of a transcript. Absent means zero, none or false. */
export interface TranscriptStep extends SpanFields {
  readonly hint: string
  readonly text?: LongValue
  readonly reasoning?: LongValue
  /** The message of a failure and the last lines of its output. */
  readonly failure?: LongValue
  readonly decidedBy?: string
  readonly agent?: Transcript
  /** The tools and child agents that ran at the same time; stands at the first of them. */
  readonly parallel?: ParallelTimes
  readonly isParallel?: true
}

export interface ParallelTimes {
  readonly count: number
  /** From the first start to the last end. */
  readonly millis: number
  readonly sumMillis: number
}

/** `/api/traces/:traceId/transcript`: a turn as a conversation. */
export interface Transcript {
  readonly question?: TranscriptText
  readonly steps: readonly TranscriptStep[]
  readonly answer?: TranscriptText
  /** False if no prompt and no result was captured anywhere in the trace. */
  readonly hasContent: boolean
  readonly cutCount?: number
}

/** `/api/traces/:traceId/find?text=`: spans that contain the text, in tree order. */
export type FoundSpans = Readonly<{ spanIds: readonly string[] }>

export type LongValue = Readonly<{ value: unknown; length?: number }>

export type LongValues = Readonly<Record<string, LongValue>>

type SpanEvent = Readonly<{ name: string; at: number; attributes: LongValues }>
type SpanLink = Readonly<{ traceId: string; spanId: string; attributes: LongValues; isHere: boolean }>

type Labelled<Name extends string> = Readonly<Record<'label' | Name, string>>

export interface SpanStory {
  /** Attributes with long values, in the order in which they are read. */
  readonly contents: readonly Labelled<'attribute'>[]
  readonly groups: readonly { readonly title: string; readonly facts: readonly Labelled<'text'>[] }[]
  readonly notices: readonly string[]
}

export interface SpanDetail extends SpanStory {
  readonly id: string
  readonly traceId: string
  readonly parentId?: string
  readonly kind: DisplayKind
  readonly otelKind: string
  readonly name: string
  readonly startAt: number
  readonly endAt: number
  readonly state: SpanState
  readonly status: 'unset' | 'ok' | 'error'
  readonly failure?: string
  readonly prompt?: PromptView
  readonly outcome?: TextSegment
  readonly namespace: string
  readonly attributes: LongValues
  readonly events: readonly SpanEvent[]
  readonly links: readonly SpanLink[]
  readonly resource: LongValues
  readonly scope: string
}

/** The messages of a model request. Instructions are not among them if the span has them as an attribute. */
export interface PromptView {
  readonly previousId?: string
  /** The number of messages at the beginning that the previous request had as well. `fresh`: the others, as JSON. */
  readonly sameCount: number
  readonly freshCount: number
  readonly fresh: LongValue
}

/** `/api/traces/:traceId/spans/:spanId/prompt`: the prompt compared with that of the previous request. */
export type PromptDiff = Readonly<{ lines: readonly DiffLine[]; cutCount?: number }>

export type ValuePart = Readonly<{ text: string; from: number; length: number }>

type StepFigure = 'attempts' | 'millis' | 'inputTokens' | 'outputTokens'
type StepField = 'kind' | 'name' | 'hint' | 'model' | 'outcome' | 'traceId' | 'spanId' | StepFigure
export type ComparedPart = Pick<TurnStep, StepField>

export interface ComparedRow {
  readonly depth: number
  readonly a?: ComparedPart
  readonly b?: ComparedPart
  readonly differences: readonly Difference[]
  readonly lines: readonly DiffLine[]
  readonly cutCount?: number
}

export type ComparedTotals = Omit<ComparedSide, 'summary'> & Readonly<{ title: string; agent: string; startAt: number }>

/** `/api/compare?a=&b=`: two turns by trace id, or two sessions by session id. */
export interface Compared extends Readonly<Record<'a' | 'b', ComparedTotals>> {
  readonly rows: readonly ComparedRow[]
  readonly cutCount?: number
  readonly firstDifference?: number
}

/** `/api/export?of=`: a turn by trace id, or a session by session id. `/api/export/html?of=` is the page to share. */
export type Shared = Readonly<{ lines: readonly string[]; commands: readonly string[] }>

export type Problem = Readonly<{ problem: string }>

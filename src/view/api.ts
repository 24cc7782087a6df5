import type { OpenTrace, SourceStatus, TurnRow } from '../trace-index/answers.ts'
import type { Difference } from '../viewer/compare-traces.ts'
import type { DrawnKind, Segment } from '../viewer/segments.ts'
import type { StepKind } from '../viewer/turn-steps.ts'

/**
 * What goes over the wire between the viewer's server and its page. Times are epoch milliseconds, durations milliseconds, costs
 * US dollars. All text comes out of traces and is nobody's to trust; what is one line here has been made printable, values are
 * as stored. What the index answers goes over it as it is.
 */

export type {
  ModelFigures,
  Numbers,
  OpenSpan,
  OpenTrace,
  SessionDetail,
  SessionPage,
  SessionRow,
  SourceStatus,
  ToolFigures,
  TurnRow,
} from '../trace-index/answers.ts'

/** `/api/status` */
export interface Status {
  /** Of hookspan. */
  readonly version: string
  /** The server's clock, by which ages are told. */
  readonly now: number
  readonly source: SourceStatus
}

/** `/api/live`: one of these a line. The first is whole; later ones have what has changed. One with the time alone says "still here". */
export interface LiveLine {
  readonly now: number
  readonly open?: readonly OpenTrace[]
  /** Traces that have changed; empty when so many have that they are not named. */
  readonly changed?: readonly string[]
  readonly source?: SourceStatus
}

/** `owner-dead`: the process that it ran in is gone, and nobody has ended it yet. */
export type SpanState = 'ended' | 'open' | 'owner-dead'

/** One span of a trace, as a row of the waterfall. Absent is zero, none or no. */
export interface SpanRow {
  readonly id: string
  /** Index in the rows of what it hangs below; -1 for a root. Parents come before their children. */
  readonly parent: number
  /** 0 for a root. */
  readonly depth: number
  readonly kind: DrawnKind
  readonly name: string
  /** `attempt 2`; the first has none. */
  readonly attempt?: string
  readonly hint?: string
  readonly startAt: number
  /** Of what is open: what is known of it so far. */
  readonly endAt: number
  readonly state: SpanState
  readonly outcome?: Segment
  /** What must be known before the row is trusted. */
  readonly marks?: readonly Segment[]
  readonly isError?: true
  /** Nothing but a person is waited for in it. */
  readonly isPersonWait?: true
  readonly input?: number
  readonly output?: number
  readonly cost?: number
  /** Of what hangs below it, with itself: what it says when that is hidden. */
  readonly sum?: RowSum
  /** Traces of child sessions that it has begun and that are not in this one. */
  readonly childTraces?: readonly string[]
}

export interface RowSum {
  readonly input: number
  readonly output: number
  readonly errorCount: number
}

/** A stretch of a span during which the turn waited for it. */
export interface PathSection {
  /** Index in the rows. */
  readonly row: number
  readonly startAt: number
  readonly endAt: number
  /** `person`: somebody was asked; `gap`: nothing is traced there. */
  readonly part: 'work' | 'person' | 'gap'
}

/** Siblings that are one row until somebody wants to see them: the same again and again, and none of them failed. */
export interface Fold {
  /** Indexes in the rows, in order; each with what hangs below it. */
  readonly rows: readonly number[]
  readonly totalMillis: number
  readonly longestMillis: number
}

/** `/api/traces/:traceId` */
export interface TraceView {
  readonly turn: TurnRow
  /** The server's clock when this was made. */
  readonly now: number
  /** Of its spans: the first start, and the last start or end that is known of. */
  readonly startAt: number
  readonly lastAt: number
  readonly rows: readonly SpanRow[]
  /** So many spans more than `rows` has. */
  readonly cutCount?: number
  /** By time. Provisional while something is open. */
  readonly path: readonly PathSection[]
  readonly folds: readonly Fold[]
  /** Of the same session. */
  readonly previous?: string
  readonly next?: string
}

/** `/api/traces/:traceId/find?text=`: spans that hold it, in the order of the tree. */
export interface Found {
  readonly spanIds: readonly string[]
}

/** A value as stored; a long one is cut. */
export interface LongValue {
  readonly value: unknown
  /** Characters of all of it, where it was cut: as text, or as JSON. */
  readonly length?: number
}

export interface SpanEvent {
  readonly name: string
  readonly at: number
  readonly attributes: Readonly<Record<string, LongValue>>
}

export interface SpanLink {
  readonly traceId: string
  readonly spanId: string
  readonly attributes: Readonly<Record<string, LongValue>>
  /** It can be gone to. */
  readonly isHere: boolean
}

/** `/api/traces/:traceId/spans/:spanId` */
export interface SpanDetail {
  readonly id: string
  readonly traceId: string
  readonly parentId?: string
  readonly kind: DrawnKind
  readonly otelKind: string
  readonly name: string
  readonly startAt: number
  readonly endAt: number
  readonly state: SpanState
  readonly status: 'unset' | 'ok' | 'error'
  readonly statusMessage?: string
  readonly outcome?: Segment
  readonly hint: string
  /** In which own names are written: `hermes`. */
  readonly namespace: string
  readonly attributes: Readonly<Record<string, LongValue>>
  readonly events: readonly SpanEvent[]
  readonly links: readonly SpanLink[]
  readonly resource: Readonly<Record<string, LongValue>>
  readonly scope: string
}

/** `…/spans/:spanId?attribute=&from=` */
export interface ValuePart {
  readonly text: string
  readonly from: number
  /** Of all of it. */
  readonly length: number
}

/** A line of two texts: in both, only in the first, only in the second. As stored. */
export interface ComparedLine {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}

/** What an agent did, on one side. */
export interface ComparedPart {
  readonly kind: StepKind
  readonly name: string
  readonly hint: string
  readonly model: string
  readonly outcome?: Segment
  readonly attempts: number
  readonly millis: number
  readonly personMillis: number
  readonly input: number
  readonly output: number
  readonly traceId: string
  readonly spanId: string
}

/** A step of one side beside that of the other which stands for it. */
export interface ComparedRow {
  /** 0 for a turn. */
  readonly depth: number
  readonly a?: ComparedPart
  readonly b?: ComparedPart
  readonly differences: readonly Difference[]
  readonly lines: readonly ComparedLine[]
  /** So many lines more. */
  readonly cutCount?: number
}

export interface ComparedTotals {
  readonly title: string
  readonly agent: string
  readonly models: readonly string[]
  readonly startAt: number
  readonly traceIds: readonly string[]
  readonly millis: number
  readonly personMillis: number
  readonly input: number
  readonly output: number
  readonly cost?: number
  /** Requests that are not in `cost`. */
  readonly requestsOfUnknownCost: number
  readonly turns: number
  readonly requests: number
  readonly retries: number
  readonly tools: number
  readonly subagents: number
  readonly errors: number
}

/** `/api/compare?a=&b=`: of two turns by their trace ids, or two sessions by theirs. */
export interface Compared {
  readonly a: ComparedTotals
  readonly b: ComparedTotals
  readonly rows: readonly ComparedRow[]
  /** So many rows more. */
  readonly cutCount?: number
  /** Index of the first row that is not the same on both sides. */
  readonly firstDifference?: number
}

/** `/api/export?of=`: of a turn by its trace id, or a session by its own. `/api/export/html?of=` is the page to share. */
export interface Shared {
  /** What is in it, and what was masked or cut: printable, a line each. */
  readonly lines: readonly string[]
  /** To be run by the person, for a file, and for a backend. */
  readonly commands: readonly string[]
}

/** What a refused question is answered with: one clear line. */
export interface Problem {
  readonly problem: string
}

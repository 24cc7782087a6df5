import type { DrawnKind, Segment } from '../viewer/segments.ts'
import type { Tokens } from '../viewer/span-facts.ts'
import type { KnownCost } from '../viewer/trace-summary.ts'

/**
 * What is asked of an index of traces, and what it answers: plain data. Times are epoch milliseconds, costs US dollars. No text
 * in it is to be trusted; what is said to be printable has been through `displayText`.
 */

/** Which SQLite there is: Node's own, or the one that is compiled to WebAssembly. */
export type EngineName = 'native' | 'wasm'

export interface SourceStatus {
  /** What the traces are of. */
  readonly path: string
  readonly engine: EngineName
  /** Another process writes this index, and this one reads it. */
  readonly isReader: boolean
  /** Of all files. */
  readonly bytes: number
  /** Of these, so many are in the lists and figures, the newest first. */
  readonly indexedBytes: number
  /** Of these, so many are searched for text, the newest first. */
  readonly searchableBytes: number
  readonly traceCount: number
  readonly spanCount: number
  /** Lines that are no OTLP/JSON. */
  readonly unreadableCount: number
  /** Since when all that began is in, as far as is known; undefined when there is nothing, or all is in. */
  readonly indexedSince: number | undefined
  /** Why there is no index, or none that grows; in one line. */
  readonly failure: string | undefined
}

/** Of several conditions all must hold of some turn of a session. */
export interface SessionQuery {
  /** Its name. */
  readonly agent?: string
  /** The beginning of the name of a model that was asked. */
  readonly model?: string
  /** The beginning of the name of a tool that was used. */
  readonly tool?: string
  /** The word of a turn's end (`completed`), `error` where something in it has failed, or `running`. */
  readonly outcome?: string
  /** Words that stand in one span of it. */
  readonly text?: string
  /** Something in it ended then or later, or is running. */
  readonly sinceAt?: number
  /** It began then or earlier. */
  readonly untilAt?: number
  /** The cursor of the last row that is known: those after it. */
  readonly before?: string
  /** Rows at most, 50 unless said. */
  readonly limit?: number
}

/** Sums, each of the turns that there are. */
export interface Sums {
  readonly startAt: number
  /** The last start or end that is known of. */
  readonly lastAt: number
  readonly spanCount: number
  readonly errorCount: number
  /** Spans that have not ended. */
  readonly runningCount: number
  /** As `summarize` counts them: never twice. */
  readonly tokens: Tokens | undefined
  /** Of the input, what came from a cache. */
  readonly cachedTokens: number
  readonly cost: KnownCost
  /** How long a person was waited for, milliseconds. */
  readonly waitedMillis: number
}

/** What is open in a turn or session: see `OpenTrace`. */
export interface Openness {
  readonly state: 'open' | 'owner-dead' | 'ended'
  readonly isOwnerAlive: boolean
  readonly isWaitingForPerson: boolean
}

export interface SessionRow extends Sums, Openness {
  /** The session's id; of a trace that names none `trace:` and the trace's id. */
  readonly id: string
  /** Printable. */
  readonly agent: string
  /** Printable; of its last turn. */
  readonly model: string
  readonly turnCount: number
  /** What its last turn was asked, or does: one line, printable. */
  readonly title: string
  /** How its last turn ended; printable. */
  readonly outcome: Segment | undefined
  /** Where the text of the query stands. */
  readonly match: TextMatch | undefined
}

export interface TextMatch {
  readonly traceId: string
  readonly spanId: string
  /** Printable, with an ellipsis where it was cut. */
  readonly excerpt: string
}

export interface SessionPage {
  readonly rows: readonly SessionRow[]
  /** The cursor for the next rows; undefined at the end. */
  readonly next: string | undefined
  /** The search for text has not come to its end, and looked no further back than this. */
  readonly searchedSince: number | undefined
}

export interface TurnRow extends Sums, Openness {
  readonly traceId: string
  /** As in `SessionRow`. */
  readonly sessionId: string
  readonly agent: string
  readonly model: string
  readonly turnNumber: number | undefined
  readonly isBackground: boolean
  readonly durationMillis: number
  readonly outcome: Segment | undefined
  readonly title: string
  readonly subagentTokens: number
  readonly auxiliaryTokens: number
  readonly requestCount: number
  readonly toolCount: number
  /** Of the input tokens, the share that came from a cache, 0 to 1. */
  readonly cacheHitRate: number | undefined
}

export interface SessionDetail {
  readonly session: SessionRow
  /** By start. */
  readonly turns: readonly TurnRow[]
}

/** A session that was begun by a span of a trace, and those of its traces that belong there, by start. */
export interface ChildTraces {
  /** The span that delegated. */
  readonly spanId: string
  readonly sessionId: string
  readonly traceIds: readonly string[]
}

export interface NumbersQuery {
  readonly sinceAt?: number
  readonly untilAt?: number
  readonly agent?: string
  /** Whole days in UTC, that of `sinceAt` and that of `untilAt` included. */
  readonly model?: string
}

/** Milliseconds, to within a tenth; without the time that a person was waited for. */
export interface Percentiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

/** Of all that began on one day in UTC, or on all days. */
export interface ModelFigures {
  /** `2026-11-22`; empty for all days. */
  readonly day: string
  /** Empty where none is named. */
  readonly model: string
  readonly requestCount: number
  readonly errorCount: number
  readonly tokens: { readonly input: number; readonly output: number }
  readonly cachedTokens: number
  readonly dollars: number
  /** Undefined where there was no request. */
  readonly latency: Percentiles | undefined
}

export interface ToolFigures {
  readonly tool: string
  readonly callCount: number
  readonly errorCount: number
  /** Outcome → calls, most first. */
  readonly outcomes: readonly (readonly [string, number])[]
  readonly latency: Percentiles
}

export interface Numbers {
  /** By day, then model. */
  readonly days: readonly ModelFigures[]
  /** Of all days, the one with most tokens first. */
  readonly models: readonly ModelFigures[]
  /** The one that was called most first. */
  readonly tools: readonly ToolFigures[]
  /** Outcome → turns that ended so, most first. */
  readonly turns: readonly (readonly [string, number])[]
  readonly agents: readonly string[]
}

/** A trace in which something has not ended. */
export interface OpenTrace {
  readonly traceId: string
  readonly sessionId: string
  readonly agent: string
  readonly model: string
  readonly title: string
  /** `owner-dead`: the process that had it open is gone, so it will be ended as crashed, or gone on with by another one. */
  readonly state: 'open' | 'owner-dead'
  /** The process is known to live. Always false for a file, which does not say who writes it. */
  readonly isOwnerAlive: boolean
  readonly startAt: number
  /** When the first began of what is open. */
  readonly openSince: number
  /** The last start or end that is known of. */
  readonly silentSince: number
  /** Start of the oldest open question to the user, whatever runs beside it; undefined if there is none. */
  readonly waitingSince: number | undefined
  readonly tokens: Tokens | undefined
  /** What it is at: open spans below which nothing is open, by start. */
  readonly doing: readonly OpenSpan[]
}

/** Texts are printable. */
export interface OpenSpan {
  readonly spanId: string
  readonly kind: DrawnKind
  readonly name: string
  /** The command, the file, the goal. */
  readonly hint: string
  readonly startAt: number
}

/** What is new since the last one. */
export interface Change {
  /** Traces of which there is more, or less; none when older ones have become known. */
  readonly traceIds: readonly string[]
  /** There were more than are named here. */
  readonly isMore: boolean
}

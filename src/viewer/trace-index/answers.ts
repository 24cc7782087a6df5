import type { DisplayKind } from '../../reading/segments.ts'
import type { Tokens } from '../../reading/span-facts.ts'
import type { KnownCost, TraceSummary } from '../../reading/trace-summary.ts'
import type { UsageSums } from '../../reading/usage-text.ts'

export type { UsageSums }

/**
 * Queries of a trace index and their results, as plain data. Times are epoch milliseconds, costs US dollars. All text is
 * untrusted. Agents, models, titles, excerpts and outcomes of rows have been through `displayText`.
 */

export interface SourceStatus {
  readonly path: string
  readonly bytes: number
  /** Bytes that lists, figures and searches cover, newest first. */
  readonly indexedBytes: number
  readonly traceCount: number
  readonly spanCount: number
  readonly unreadableCount: number
  /** The index is complete from this time on, as far as is known. Undefined if it is empty or fully complete. */
  readonly indexedSince: number | undefined
  readonly failure: string | undefined
}

/** All conditions must hold for some turn of a session. */
export interface SessionQuery extends Readonly<Partial<Record<FacetName | 'text', string>>> {
  /** A span ended then or later, or is running. */
  readonly sinceAt?: number
  readonly untilAt?: number
  /** A request, tool or turn started in this hour of the week: 0 is Monday, 0 h, in `timeZone` or the zone of this process. */
  readonly weekHour?: number
  readonly timeZone?: string
  /** Without it: the time of the last activity. */
  readonly sort?: SessionSort
  readonly isAscending?: boolean
  readonly hasFacets?: boolean
  /** Maximum number of rows, 50 by default. */
  readonly limit?: number
}

export const SESSION_SORTS = ['turns', 'tokens', 'cost', 'waiting', 'errors', 'last'] as const
export type SessionSort = (typeof SESSION_SORTS)[number]

/** `outcome`: that of a turn (`completed`), `error` if a span in it failed, or `running`. */
export type FacetName = 'project' | 'branch' | 'agent' | 'model' | 'tool' | 'outcome'

/** Value → sessions with it that meet the other conditions, most frequent first. */
export type Facets = Readonly<Record<FacetName, readonly (readonly [string, number])[]>>

type SumName = 'startAt' | 'lastAt' | 'spanCount' | 'errorCount' | 'runningCount' | 'cachedTokens' | 'waitedMillis'

/** Tokens are counted as in `summarize`, never twice. */
export interface Sums extends Readonly<Record<SumName, number>> {
  readonly tokens: Tokens | undefined
  readonly cost: KnownCost
}

export interface Openness {
  readonly state: 'open' | 'owner-dead' | 'ended'
  readonly isOwnerAlive: boolean
  readonly isWaitingForPerson: boolean
}

type TurnLabels = Pick<TraceSummary, 'agent' | 'model' | 'project' | 'branch' | 'outcome'>
type TurnFigures = Pick<TraceSummary, 'turnNumber' | 'durationMillis' | 'subagentTokens' | 'auxiliaryTokens'>

export interface SessionRow extends Sums, Openness, TurnLabels {
  /** The session's id, or `trace:` and the trace id if the trace names no session. */
  readonly id: string
  readonly turnCount: number
  /** The first prompt, or else the first activity: one line, printable. `latestTitle`: of the last turn, if there are more. */
  readonly title: string
  readonly latestTitle?: string
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
  readonly hasMore: boolean
  readonly facets?: Facets | undefined
  /** The text search was incomplete and reached back only to this time. */
  readonly searchedSince: number | undefined
}

export interface TurnRow extends Sums, Openness, TurnLabels, TurnFigures {
  readonly traceId: string
  readonly sessionId: string
  readonly isBackground: boolean
  readonly title: string
  readonly requestCount: number
  readonly toolCount: number
  /** Share of the input tokens that came from a cache, 0 to 1. */
  readonly cacheHitRate: number | undefined
}

export type SessionDetail = Readonly<{ session: SessionRow; turns: readonly TurnRow[] }>

/** Span id → the traces that the span started, by start. */
export type ChildTraces = ReadonlyMap<string, readonly string[]>

export type UsageGroup = 'agent' | 'model' | 'project' | 'session' | 'day'

/**
 * Times are rounded down to quarters of an hour; `sinceAt` is included, `untilAt` is not. Groups are by `model` by default, days
 * and hours in the zone of this process; `timeZone` is an IANA name.
 */
export type UsageQuery = Readonly<{ sinceAt?: number; untilAt?: number; by?: UsageGroup; timeZone?: string }>

/** Milliseconds, of all durations at once, without waiting for the user. */
export type Percentiles = Readonly<{ p50: number; p90: number; p99: number }>

export interface UsageGroupRow extends UsageSums {
  /**
   * Name of the agent, model or project, id of the session, or local day (`2026-11-22`). Empty if it is not recorded.
   * `title`: the first prompt of a session; empty for other groups, and for all but the heaviest ten sessions.
   */
  readonly name: string
  readonly title: string
  readonly latency: Percentiles | undefined
}

type UsageCell = UsageSums & Readonly<{ day: string; name: string }>

export type ToolFigures = Readonly<{ tool: string; callCount: number; errorCount: number; latency: Percentiles }>

export interface Usage {
  readonly total: UsageSums
  /** The period of the same length before `sinceAt`; undefined without `sinceAt`. */
  readonly before: UsageSums | undefined
  /**
   * Heaviest first: by cost, then by tokens. Days in their order. `cells`: by day, then in the order of `groups`; empty for
   * groups `day` and `session`.
   */
  readonly groups: readonly UsageGroupRow[]
  readonly cells: readonly UsageCell[]
  /** The heaviest ten. `hours`: 7 × 24, from Monday, 0 h. `tools`: most calls first. */
  readonly sessions: readonly UsageGroupRow[]
  readonly hours: readonly UsageSums[]
  readonly tools: readonly ToolFigures[]
}

type OpenTraceText = 'traceId' | 'sessionId' | 'agent' | 'model' | 'title' | 'sessionTitle'

export interface OpenTraceRow extends Readonly<Record<OpenTraceText, string>> {
  /** `owner-dead`: the process that had it open is gone. It will be ended as crashed, or continued by another process. */
  readonly state: 'open' | 'owner-dead'
  /** The process is known to live. Always false for a plain file, which does not record its writer. */
  readonly isOwnerAlive: boolean
  readonly startAt: number
  readonly openSince: number
  readonly silentSince: number
  /** Start of the oldest open question to the user, whatever runs beside it; undefined if there is none. */
  readonly waitingSince: number | undefined
  readonly tokens: Tokens | undefined
  readonly cost: KnownCost
  /** Share of the context that the last request's input took, from 0. */
  readonly contextUsed: number | undefined
  /** Minutes since the epoch in which requests ended, ascending, with their tokens: at most the last sixteen. */
  readonly minutes: readonly (readonly [minute: number, tokens: number])[]
  readonly doing: readonly OpenSpanRow[]
}

/** An open span. All text but `command` is printable. */
export interface OpenSpanRow {
  readonly spanId: string
  readonly kind: DisplayKind
  readonly name: string
  readonly hint: string
  /** The command that an approval is about, as stored, cut after 2 000 characters. Not printable as it is. */
  readonly command?: string
  readonly startAt: number
}

export interface TraceChange {
  /** Traces that grew or shrank. Empty if only older traces have been indexed. `isMore`: not all are listed. */
  readonly traceIds: readonly string[]
  readonly isMore: boolean
}

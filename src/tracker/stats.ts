import type { HookResult } from '../contract/index.ts'

/** Counts of hook records and of open work. */
export interface CoreStats {
  /** Hook records received, by result. */
  readonly hooks: Readonly<Record<HookResult, number>>
  /** Spans that have started and not ended. */
  readonly spansOpen: number
  /** Running turns. Excludes a turn that failed for good, and one that has its answer if its host reports no end. */
  readonly turnsOpen: number
  /** Start of the oldest turn with something open: epoch ms, by the records' time. Undefined if nothing is open. */
  readonly openSince: number | undefined
  /** Parts of records that could not be read, such as a misspelt name. */
  readonly unread: UnreadStats
}

/**
 * Input that could not be read, most likely because of a typo. Checks the first hundred records of each hook and then
 * every sixteenth; in a replay and in tests all of them.
 */
export interface UnreadStats {
  /** Records of an unknown hook; they are also counted as `ignored`. */
  readonly hooks: number
  /** Unknown fields whose name is close to that of a missing field. */
  readonly fields: number
  /** Unreadable values: of a wrong type, usage without tokens, an unknown status of a tool. */
  readonly types: number
}

export interface CrashedSpanCount {
  readonly traceId: string
  readonly spanId: string
  readonly spans: number
}

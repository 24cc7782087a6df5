import type { HookResult } from '../contract/index.ts'

/** What has become of the hooks. */
export interface CoreStats {
  /** Hook records received, by what became of them. */
  readonly hooks: Readonly<Record<HookResult, number>>
  /** Spans that have started and not ended. */
  readonly spansOpen: number
  /** Turns that are under way. One that failed for good, or that has its answer where no end is reported, is not. */
  readonly turnsOpen: number
  /** When the oldest turn began in which something is open: epoch ms, by the records' time. Undefined when nothing is. */
  readonly openSince: number | undefined
  /** What was told and could not be read, such as a misspelt name. */
  readonly unread: UnreadStats
}

/**
 * What was told and could not be read: slips of the pen, most likely. Of each hook the first hundred records are looked at, and
 * from then on each sixteenth; in a replay and in tests all of them.
 */
export interface UnreadStats {
  /** Records of a hook of unknown name; they are `ignored`, too. */
  readonly hooks: number
  /** Fields of unknown name, near that of a field which was not told. */
  readonly fields: number
  /** Values that nothing can be read out of: of a wrong type, usage without tokens, a status of a tool that is unknown. */
  readonly types: number
}

/** What a process that was killed had left open of one trace. */
export interface CrashedTrace {
  readonly traceId: string
  /** Of the outermost span that was open */
  readonly spanId: string
  readonly spans: number
}

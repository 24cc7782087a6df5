/** Settings of the trace log. No default is chosen and no variable is read in this module. */

export interface LocalLogSettings {
  readonly directory: string
  readonly maxBytes: number
  readonly maxAgeHours: number
  /** Maximum time that recorded data stays in memory only. */
  readonly flushMillis: number
  readonly continued?: ContinuationSettings | undefined
  /** With tail sampling: the attribute of roots with the reason to keep their trace. Kept traces have a log of their own. */
  readonly heldBy?: string | undefined
}

/** Value of that attribute if the trace is not kept. */
export const NOT_KEPT = 'none'

export interface ContinuationSettings {
  /** Time after the end of this process within which another one may continue it. */
  readonly withinMillis: number
  readonly isContinuedHere: (key: string) => boolean
}

export interface BatchSettings {
  /** Maximum number of spans waiting for one backend. Further ones are dropped and counted. */
  readonly maxQueueSize: number
  readonly scheduleDelayMillis: number
  readonly maxExportBatchSize: number
  readonly exportTimeoutMillis: number
}

/** Receives messages for the user. They have no prefix and never contain a secret. */
export interface Reporter {
  warn(line: string): void
  error(line: string): void
  debug(line: string): void
}

export type LogFailure =
  | { readonly kind: 'file'; readonly code: string; readonly path: string }
  | { readonly kind: 'internal'; readonly reason: string }

export const UNSERIALISABLE: LogFailure & { readonly kind: 'internal' } = {
  kind: 'internal',
  reason: 'they cannot be serialised',
}

export interface LogReporter {
  failed(signal: 'traces', failure: LogFailure, lost: number): void
  delivered(signal: 'traces'): void
}

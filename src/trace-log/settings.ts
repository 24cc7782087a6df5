/** What the trace log is told, and what it tells. No default is decided here, no variable is read. */

export interface LocalLogSettings {
  readonly directory: string
  readonly maxBytes: number
  readonly maxAgeHours: number
  /** Longest time that something recorded stays in memory only. */
  readonly flushMillis: number
  /** Absent: no process goes on with what this one leaves open. */
  readonly continued?: Continued | undefined
  /**
   * The attribute by which roots say why their trace is kept, where traces are held until they are judged: then what is written
   * here is owed to nobody, and what is kept is written to a log of its own.
   */
  readonly heldBy?: string | undefined
}

/** What such an attribute says of a trace that is not kept. */
export const NOT_KEPT = 'none'

export interface Continued {
  /** For so long after the end of this process another one may go on with what it has left open. */
  readonly withinMillis: number
  /** Whether this process has gone on with a span that another one had left open: trace id and span id. */
  readonly isTakenUp: (key: string) => boolean
}

export interface BatchSettings {
  /** Spans that may wait for one backend; further ones are dropped and counted. */
  readonly maxQueueSize: number
  readonly scheduleDelayMillis: number
  readonly maxExportBatchSize: number
  readonly exportTimeoutMillis: number
}

/** Where the lines for the person go. They carry no prefix and never a secret. */
export interface Report {
  warn(line: string): void
  error(line: string): void
  debug(line: string): void
}

/** Why something could not be written. */
export type LogFailure =
  | { readonly kind: 'file'; readonly code: string; readonly path: string }
  /** Of our own making. */
  | { readonly kind: 'internal'; readonly reason: string }

export const UNSERIALISABLE: LogFailure & { readonly kind: 'internal' } = {
  kind: 'internal',
  reason: 'they cannot be serialised',
}

/** Told what became of spans that were to be written. */
export interface LogReport {
  failed(signal: 'traces', failure: LogFailure, lost: number): void
  delivered(signal: 'traces'): void
}

import type { ProbeProblem } from './probe-line.ts'
import type { ReadBackOutcome } from './read-back.ts'

/** What became of the probe of one backend. Null: it was not tried. */
export interface ProbeResult {
  readonly name: string
  readonly type: string
  /** Where it was sent, or the path of a file; absent for the terminal, and where it cannot be told. */
  readonly url?: string
  readonly delivered: boolean | null
  readonly metrics: boolean | null
  readonly readBack: ReadBackOutcome | null
  /** Where it was asked for. */
  readonly readBackUrl?: string
  /** Until it was read back; else until it was delivered. */
  readonly millis: number | null
  /** Why it did not arrive. */
  readonly problems: readonly ProbeProblem[]
  /** What else the pipeline had to say, such as a setting that is ignored. */
  readonly warnings: readonly ProbeProblem[]
}

export interface ProbeOptions {
  /** How long a server may take to show what it has taken. */
  readonly waitMillis: number
  /** Send nothing: only look whether it could be sent. */
  readonly isOffline: boolean
}
